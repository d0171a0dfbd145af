"""A planned Kubernetes outside of the window of a release: the cause, and what to do."""

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.checks.remedies.commands import kubectl
from migrations_app.karpenter.table_types import SupportedKubernetes


def as_planned(cluster: str, *, minor: str, window: SupportedKubernetes) -> Evidence:
    """The cause where a planned Kubernetes is outside of the window."""
    return Evidence(kind="Cluster", name=cluster, path="gitVersion", seen=f"{minor} (planned)", wanted=str(window))


def stay_inside(window: SupportedKubernetes, release: str) -> Remedy:
    """What to do about a planned Kubernetes."""
    return kubectl(f"# Leave Kubernetes inside {window} while Karpenter {release} runs")
