"""Fails for each workload placed by the label karpenter.sh/provisioner-name, which new nodes do not have."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, Remedy, SeverityCap
from migrations_app.checks.changes import group
from migrations_app.checks.remedies.commands import remedies_of, workload_manager
from migrations_app.checks.remedies.placement import select_node_pool
from migrations_app.checks.shared.node_pools import names_old_label_alone
from migrations_app.checks.shared.placement_effects import LOST_PREFERENCE, SOURCES, effect_without_label
from migrations_app.checks.tools import OBJECT_TOOLS
from migrations_app.inventory.facts.workloads import POD_PARTS, Mention, placement_mentions
from migrations_app.karpenter import labels
from migrations_app.karpenter.hops import ALPHA_LEFT, hops_from

AVOIDS = "DoesNotExist"
"""The operator of a pod that wants no node of Karpenter, which ignores pods that name the key from 0.33 on anyway."""
check = Check(
    __name__,
    title="No workload selects karpenter.sh/provisioner-name",
    phase="workloads",
    severity="warning",
    why=(
        "New nodes lack the label. From 0.33 on Karpenter launches no node for a pod that selects it, requires it, or "
        "up to 1.4 prefers nodes with it: the pod stays pending, and a DaemonSet has no pod on new nodes. Preferences "
        "between pods and ScheduleAnyway have no effect. A pod that avoids the label is scheduled to Karpenter nodes."
    ),
    how="Searches selectors, affinities and spread keys of pods and templates for karpenter.sh/provisioner-name.",
    reads=(*POD_PARTS, "controller"),
    says=(
        "{count} pod selects the removed label karpenter.sh/provisioner-name",
        "{count} pods select the removed label karpenter.sh/provisioner-name",
    ),
    hops=hops_from(ALPHA_LEFT),
    severity_at={ALPHA_LEFT: "blocker"},
    resolved_by=("rename_markers",),
    sources=("aws/karpenter-provider-aws@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md", *SOURCES),
    remedy_tools=OBJECT_TOOLS,
)


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    mentions = placement_mentions(case.inventory, {labels.PROVISIONER_NAME, labels.NODEPOOL})
    avoid_both = {
        _place(mention) for mention in mentions if mention.key == labels.NODEPOOL and mention.value.startswith(AVOIDS)
    }
    controllers = case.inventory.controller.items if names_old_label_alone(case) else ()
    charts = {(workload.namespace, workload.name) for workload in controllers}
    effects = set()
    for mention in mentions:
        avoids = mention.value.startswith(AVOIDS) and "Affinity" in mention.path
        # The next chart replaces the rule that the chart wrote; until then, avoiding both labels is right.
        harmless = avoids and (_place(mention) in avoid_both or (mention.namespace, mention.name) in charts)
        effect = "none" if harmless else effect_without_label(mention, case.hop.release)
        if mention.key == labels.PROVISIONER_NAME and effect != "none":
            effects.add(effect)
            yield Evidence(
                kind=mention.kind,
                namespace=mention.namespace,
                name=mention.name,
                path=mention.path,
                seen=f"{mention.key} {mention.value}".rstrip(),
                wanted=f"{labels.NODEPOOL} {mention.value.partition(' ')[0]}, beside it" if avoids else labels.NODEPOOL,
                count=mention.count,
            ).with_data(provisioner=mention.value)
    if effects == {"preference_lost"}:
        yield SeverityCap(LOST_PREFERENCE)


def _place(mention: Mention) -> tuple[str, str, str, str]:
    return mention.kind, mention.namespace, mention.name, mention.path


@check.advise
def advise(case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    steps = dict.fromkeys(select_node_pool(case.inventory, row) for row in evidence)
    task = f"put {labels.NODEPOOL} in the place of {labels.PROVISIONER_NAME}"
    yield from remedies_of(group(*steps, what=task), workload_manager(case.inventory, evidence[0]))
