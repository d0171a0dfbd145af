"""The Kubernetes version that a planned upgrade of the cluster ends at: whether it reaches a minor, and evidence and
remedy where the release of the last hop does not support it."""

from migrations_app.checks.base import CheckContext, Evidence, Remedy
from migrations_app.checks.changes import PersonTask
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.karpenter.table_types import SupportedKubernetes
from migrations_app.karpenter.versions import kubernetes_minor, minor_order


def reaches_kubernetes(case: CheckContext, minor: str) -> bool | None:
    """Whether the cluster runs that minor or a later one, has to at this hop, or is planned to. None if only the
    server's version could tell and it is not known."""
    if case.planned_kubernetes and minor_order(case.planned_kubernetes) >= minor_order(minor):
        return True
    if minor_order(case.hop.kubernetes.min) >= minor_order(minor):
        return True
    server = next((kubernetes_minor(version.git_version) for version in case.inventory.version.items), None)
    return None if server is None else minor_order(server) >= minor_order(minor)


def planned_evidence(cluster: str, *, minor: str, window: SupportedKubernetes) -> Evidence:
    """Evidence at the cluster with that name."""
    return Evidence(kind="Cluster", name=cluster, path="gitVersion", seen=f"{minor} (planned)", wanted=str(window))


def stay_inside(window: SupportedKubernetes, release: str) -> Remedy:
    """The remedy: stay within the supported versions."""
    return in_cluster(PersonTask(what=f"leave Kubernetes inside {window}", why=f"Karpenter {release} runs then"))
