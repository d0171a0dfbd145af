"""What is said of a planned Kubernetes that the release of the last hop does not support."""

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.checks.remedies.commands import kubectl
from migrations_app.karpenter.table_types import SupportedKubernetes


def as_planned(cluster: str, *, minor: str, window: SupportedKubernetes) -> Evidence:
    """The cause, at the cluster of that name."""
    return Evidence(kind="Cluster", name=cluster, path="gitVersion", seen=f"{minor} (planned)", wanted=str(window))


def stay_inside(window: SupportedKubernetes, release: str) -> Remedy:
    """What to do about it."""
    return kubectl(f"# Leave Kubernetes inside {window} while Karpenter {release} runs")
