"""A rollout from draft to its end on the real API server, and its rollback through the action roll_back itself."""

from typing import Any

from migrations_app.models.cluster import Cluster
from migrations_app.models.rollout import Attempt, Rollout
from migrations_app.use_cases.rollouts import preview
from migrations_app.use_cases.rollouts.drafts import RolloutRequest, draft
from tests.actions.on_server import ADA, carried_out, previewed

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
VOLATILE = ("resourceVersion", "generation", "managedFields", "uid", "creationTimestamp")


def done(cluster: Cluster, action: str, **parameters: Any) -> Rollout:
    """The action from draft to its end; every dry run has to pass, and it has to succeed."""
    return _succeeded(previewed(cluster, action, **parameters))


def rollback_preview(cluster: Cluster, row: Rollout) -> Rollout:
    """The preview of the rollout that takes this one back."""
    found = Rollout.objects.get(pk=draft(cluster.pk, RolloutRequest(action="roll_back", rolls_back=row.pk), by=ADA))
    preview.prepare(found.pk)
    found.refresh_from_db()
    return found


def roll_back(cluster: Cluster, row: Rollout) -> Rollout:
    """The rollback of it, to its end; it has to succeed."""
    return _succeeded(rollback_preview(cluster, row))


def _succeeded(row: Rollout) -> Rollout:
    assert (row.state, row.cause) == ("previewed", "")
    carried_out(row)
    assert (row.state, row.cause) == ("succeeded", "")
    return row


def sent(row: Rollout) -> list[tuple[str, str]]:
    """What took effect, in order: verb and the end of the path, without what was passed over."""
    lines = Attempt.objects.filter(rollout=row, outcome="applied").order_by("pk")
    return [(one.verb, one.path.rpartition("/")[2]) for one in lines]


def lasting(found: dict[str, Any]) -> dict[str, Any]:
    """An object without its status and what every write changes, to compare before and after."""
    metadata = {key: value for key, value in found["metadata"].items() if key not in VOLATILE and value}
    return {key: value for key, value in found.items() if key != "status"} | {"metadata": metadata}
