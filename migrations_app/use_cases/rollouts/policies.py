"""Changes policies: approvals, allowed actions, change windows. Plans made under an old policy cannot start."""

import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import time
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max

from migrations_app.access import Person, may_administer
from migrations_app.actions import registry
from migrations_app.actions.changes import RISKS
from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.models.policy import Policy
from migrations_app.models.rollout import Rollout
from migrations_app.queries.rollouts.policies import NEVER_ALONE, policy_of
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import Actor, Event, record

MAX_APPROVALS = 9
MAX_WINDOWS = 20
FIELDS = ("approvals", "actions", "windows", "frozen", "frozen_why", "batch", "per_hour", "pool_percent", "rehearsals",
          "campaigns_destroy")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The new content of a policy."""

    approvals: Mapping[str, int]
    actions: tuple[str, ...] = ("*",)
    windows: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)
    frozen: bool = False
    frozen_why: str = ""
    batch: int = 1
    per_hour: int = 60
    pool_percent: int = 10
    rehearsals: tuple[str, ...] = ()
    """Risks whose plans need a rehearsal."""
    campaigns_destroy: bool = False


def change_policy(cluster_id: uuid.UUID | None, rules: Rules, *, person: Person, version: int, by: Actor) -> int:
    """Stores the policy of a cluster, or the general one if `cluster_id` is None, and returns its version.

    Plans made before can no longer start. Raises PermissionDenied, NotFound, InvalidInput, and Conflict `stale` if the
    policy is no longer at that version.
    """
    refuse_person(may_administer(person_over_cluster(person, cluster_id)))
    values = _checked(rules)
    try:
        with transaction.atomic():
            number = _next_version()
            before = _unchanged_policy(cluster_id, version)
            row = before if before.pk and before.cluster_id == cluster_id else Policy(cluster_id=cluster_id)
            before_values = {name: getattr(before, name) for name in FIELDS}
            for name, value in values.items():
                setattr(row, name, value)
            row.version = number
            row.save()
            _record(cluster_id, by=by, version=number, detail={"before": before_values, "after": values})
    except IntegrityError:
        raise Conflict("the policy was changed meanwhile", code="stale") from None
    return number


def remove_policy(cluster_id: uuid.UUID, person: Person, *, version: int, by: Actor) -> None:
    """Deletes the cluster's own policy, so that the general one applies.

    Raises as `change_policy`, and Conflict if the cluster has no policy of its own.
    """
    refuse_person(may_administer(person_over_cluster(person, cluster_id)))
    with transaction.atomic():
        row = _unchanged_policy(cluster_id, version)
        if row.cluster_id != cluster_id:
            raise Conflict("the cluster has no policy of its own", code="stale")
        before_values = {name: getattr(row, name) for name in FIELDS}
        row.delete()
        _record(cluster_id, by=by, version=version, detail={"before": before_values, "after": "the policy of all"})


def _next_version() -> int:
    """A version higher than that of any policy or plan: a plan refers to its policy by this number alone."""
    versions = list(Policy.objects.select_for_update().order_by("pk").values_list("version", flat=True))
    planned = Rollout.objects.aggregate(newest=Max("policy_version"))["newest"]
    return max(1, *versions, planned or 1) + 1


def _unchanged_policy(cluster_id: uuid.UUID | None, version: int) -> Policy:
    if cluster_id is not None and not Cluster.objects.filter(pk=cluster_id).exists():
        raise NotFound("no such cluster")
    row = policy_of(cluster_id)
    if row.version != version:
        raise Conflict("the policy was changed meanwhile", code="stale")
    return row


def _checked(rules: Rules) -> dict[str, Any]:
    values = asdict(rules)
    values["approvals"] = _approvals(rules.approvals)
    values["actions"] = _actions(rules.actions)
    values["rehearsals"] = _rehearsals(rules.rehearsals)
    values["windows"] = [checked_window(dict(window)) for window in rules.windows[: MAX_WINDOWS + 1]]
    if len(values["windows"]) > MAX_WINDOWS:
        raise InvalidInput(f"at most {MAX_WINDOWS} windows", where="windows", code="too_many")
    if rules.frozen and not rules.frozen_why.strip():
        raise InvalidInput("give the reason for the freeze", where="frozen_why", code="reason_needed")
    for name, most in (("batch", 100), ("per_hour", 10_000), ("pool_percent", 100)):
        if not 1 <= getattr(rules, name) <= most:
            raise InvalidInput(f"1 to {most}", where=name, code="out_of_range")
    return values


def _approvals(counts: Mapping[str, int]) -> dict[str, int]:
    if set(counts) != set(RISKS):
        raise InvalidInput(f"a number for each of {', '.join(RISKS)}", where="approvals", code="bad_approvals")
    for risk in RISKS:
        least = NEVER_ALONE.get(risk, 0)
        if not least <= counts[risk] <= MAX_APPROVALS:
            raise InvalidInput(f"{risk}: {least} to {MAX_APPROVALS} approvals", where="approvals", code="bad_approvals")
    return {risk: counts[risk] for risk in RISKS}


def _actions(named: tuple[str, ...]) -> list[str]:
    if "*" in named:
        return ["*"]
    for name in named:
        if registry.find(name) is None:
            raise InvalidInput(f"there is no action {name[:60]!r}", where="actions", code="unknown_action")
    return sorted(set(named))


def _rehearsals(named: tuple[str, ...]) -> list[str]:
    if strange := sorted(set(named) - set(RISKS)):
        raise InvalidInput(f"there is no risk {strange[0][:60]!r}", where="rehearsals", code="bad_parameter")
    return [risk for risk in RISKS if risk in named]


def checked_window(window: dict[str, Any]) -> dict[str, Any]:
    """The window in its canonical form. Raises InvalidInput `bad_window`."""
    days = window.get("days", list(range(7)))
    try:
        begins, ends = time.fromisoformat(str(window["from"])), time.fromisoformat(str(window["to"]))
    except (KeyError, ValueError):
        raise InvalidInput("a window goes from HH:MM to HH:MM, UTC", where="windows", code="bad_window") from None
    if not isinstance(days, list) or not days or not all(day in range(7) for day in days) or begins == ends:
        raise InvalidInput("a window needs days, 0 for Monday to 6, and a length", where="windows", code="bad_window")
    return {"days": sorted({int(day) for day in days}), "from": f"{begins:%H:%M}", "to": f"{ends:%H:%M}"}


def _record(cluster_id: uuid.UUID | None, *, by: Actor, version: int, detail: dict[str, Any]) -> None:
    record(
        Event(
            verb="policy.changed",
            actor=by,
            object=f"policy of {cluster_id or 'all clusters'}",
            outcome=f"version {version}",
            cluster_id=str(cluster_id or ""),
            detail=detail,
        )
    )
