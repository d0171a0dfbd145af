"""Evidence and remedy for a planned Kubernetes version that the release of the last hop does not support."""

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.karpenter.table_types import SupportedKubernetes


def planned_evidence(cluster: str, *, minor: str, window: SupportedKubernetes) -> Evidence:
    """Evidence at the cluster with that name."""
    return Evidence(kind="Cluster", name=cluster, path="gitVersion", seen=f"{minor} (planned)", wanted=str(window))


def stay_inside(window: SupportedKubernetes, release: str) -> Remedy:
    """The remedy: stay within the supported versions."""
    return in_cluster(PersonTask(what=f"leave Kubernetes inside {window}", why=f"Karpenter {release} runs then"))
