"""What becomes of a pod on nodes without a label that its placement names.

Karpenter relaxes preferences between pods, of nodes, and spreads with ScheduleAnyway one after the other until a pod
fits, but up to 1.4 it ignores a pod whose node preference names a restricted label. It launches no node for pods of
DaemonSets; Kubernetes gives them no pod on nodes that their selector or required node affinity excludes.
"""

from typing import Final, Literal

from migrations_app.checks.base import Severity
from migrations_app.inventory.facts.workloads import Mention
from migrations_app.inventory.pod_groups import ANYWAY
from migrations_app.karpenter.release_facts import DAEMON_PREFERENCES_RELAXED_SINCE, NODE_PREFERENCES_RELAXED_SINCE
from migrations_app.karpenter.versions import Release

PlacementEffect = Literal["none", "preference_lost", "not_placed"]
"""`none`: the placement is the same; `preference_lost`: the pod is placed, but not as preferred; `not_placed`: no pod
comes to new nodes."""
LOST_PREFERENCE: Final[Severity] = "warning"
"""The highest severity where only preferences are lost."""
SOURCES: Final = (
    "aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
    "kubernetes-sigs/karpenter@v0.33.0:pkg/controllers/provisioning/provisioner.go",
    "kubernetes-sigs/karpenter@v0.33.0:pkg/controllers/provisioning/scheduling/preferences.go",
    "kubernetes-sigs/karpenter@v0.33.0:pkg/controllers/provisioning/scheduling/topologygroup.go",
    "kubernetes-sigs/karpenter@v1.2.0:pkg/controllers/provisioning/scheduling/scheduler.go",
)


def effect_without_label(mention: Mention, target: Release) -> PlacementEffect:
    """What that mention does on nodes without its label, once the release `target` runs."""
    of_daemons = mention.kind == "DaemonSet"
    if mention.path.endswith("nodeAffinity.preferred"):
        if of_daemons:  # their requests are not counted, so that a node may be too small for them
            return "none" if target >= DAEMON_PREFERENCES_RELAXED_SINCE else "preference_lost"
        return "preference_lost" if target >= NODE_PREFERENCES_RELAXED_SINCE else "not_placed"
    if mention.path.endswith(".preferred") or mention.value == ANYWAY:
        return "none" if of_daemons else "preference_lost"
    return "not_placed"
