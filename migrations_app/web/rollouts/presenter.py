"""Values for the page of one rollout: steps as sentences, counters, and the actions that are available now."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from migrations_app.access import (
    Person,
    Refusal,
    may_approve,
    may_break_glass,
    may_prepare,
    may_resolve,
    may_start,
    may_stop,
)
from migrations_app.actions import registry
from migrations_app.actions.changes import RISKS
from migrations_app.actions.gate import BlockedEviction, ClusterCounters
from migrations_app.actions.plan import Plan
from migrations_app.actions.render import DiffLine, as_kubectl, diff_lines, gitops_patch, step_lines
from migrations_app.actions.states import GATE, SKIP, about_one_node
from migrations_app.execution import gates
from migrations_app.manifests.text_lines import one_line
from migrations_app.queries.accounts.services import makers_of
from migrations_app.queries.rollouts.detail import RolloutDetail, StepLine
from migrations_app.queries.rollouts.policies import risk_of
from migrations_app.queries.rollouts.rollouts import RolloutRow
from migrations_app.texts import text as _
from migrations_app.use_cases.rollouts.approvals import TYPED
from migrations_app.use_cases.rollouts.backups import diffs_of
from migrations_app.use_cases.rollouts.drafts import MAY_BE_ROLLED_BACK
from migrations_app.use_cases.rollouts.start_checks import why_not_approve, why_not_start

STEPS_SHOWN = 50
POLLED = ("draft", "awaiting_approval", "approved", "running", "paused", "rolling_back", "needs_attention")
"""States in which the page polls for updates."""
MAX_BLOCKED = 20


class _Left(dict[str, object]):
    """Counts for a button's text; an unknown count becomes `some`."""

    def __missing__(self, key: str) -> str:
        return "some"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownStep:
    """One step. `no_return` marks the first step that cannot be undone; `began` and `took` are None until it began."""

    line: StepLine
    title: str
    began: datetime | None
    took: timedelta | None
    more: tuple[str, ...]
    diff: tuple[DiffLine, ...]
    kubectl: str
    no_return: bool
    skips: bool = False
    """Whether the node of the step may be skipped: it was not sent yet, and the rollout is running."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counter:
    """One number of the live part. `was` is the value before the batch; None if it was not counted."""

    word: str
    value: int | None
    was: int | None = None
    bad: bool = False
    at_least: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedActions:
    """The actions available to the user: empty if allowed, a text says why not, None if the state does not offer it."""

    ask: str | None = None
    approve: str | None = None
    alone: str | None = None
    start: str | None = None
    resume: str | None = None
    stop: str | None = None
    settle: str | None = None
    roll_back: str | None = None
    reject: str | None = None
    skip: str | None = None
    sign_in_again: bool = False


def effect(row: RolloutRow, plan: Plan | None) -> str:
    """Returns the text of the buttons: the action's template with the counts of this plan."""
    action = registry.find(row.action)
    if action is None or plan is None:
        return row.title
    forecast = plan.forecast
    changes = sum(step.change is not None for step in plan.steps)
    counts = _Left(count=changes, objects=changes, steps=len(plan.steps))
    counts |= {name: n for name in ("nodes", "pods") if (n := getattr(forecast, name)) is not None}
    return action.button.format_map(counts)


def shown_steps(detail: RolloutDetail, *, first: int, with_diffs: bool) -> tuple[ShownStep, ...]:
    """Returns one page of the steps, with diffs for users who may see objects."""
    page = detail.steps[first : first + STEPS_SHOWN]
    sides = diffs_of(detail.row.id, steps=[line.step.id for line in page]) if with_diffs else {}
    point = point_of_no_return(detail)
    skipped = {skipped_node.step for skipped_node in detail.skipped_nodes} if detail.row.state in UNDER_WAY else None
    rows = tuple(_step(line, sides, no_return=line.step.id == point, skipped=skipped) for line in page)
    return rows if with_diffs else tuple(replace(shown_step, kubectl="") for shown_step in rows)


def point_of_no_return(detail: RolloutDetail) -> str:
    """Returns the id of the first step that cannot be undone; empty if all can be undone."""
    final = (line.step.id for line in detail.steps if line.step.change and line.step.undo is None)
    return next(final, "")


UNDER_WAY = ("running", "paused")


def _step(line: StepLine, sides: Mapping[str, Any], *, no_return: bool, skipped: Collection[str] | None) -> ShownStep:
    _, *more = step_lines(line.step)
    diff = diff_lines(*sides[line.step.id]) if line.step.id in sides else ()
    began, took = times_of(line)
    return ShownStep(
        line=line,
        title=one_line(line.step.title),
        began=began,
        took=took,
        more=tuple(text.strip() for text in more),
        diff=diff,
        kubectl=as_kubectl(line.step),
        no_return=no_return,
        skips=skipped is not None
        and line.step.id not in skipped
        and line.standing in ("todo", "refused")
        and about_one_node(line.step),
    )


def times_of(line: StepLine) -> tuple[datetime | None, timedelta | None]:
    """Returns when the first request of a step was sent, and how long it took until its gate passed."""
    if not line.lines:
        return None, None
    began, ended = line.lines[0].intent_at, line.lines[-1].outcome_at
    return began, ended - began if ended and line.standing == "done" else None


def limited_by_policy(plan: Plan | None) -> bool:
    """Whether the policy's limits apply: the plan deletes nodes itself instead of leaving that to a controller."""
    changes = [step.change for step in plan.steps if step.change] if plan else []
    return any(change.verb == "delete" and change.target.kind == "Node" for change in changes)


def manual_commands(plan: Plan) -> dict[str, str]:
    """Returns the plan as commands, as a GitOps patch, and the RBAC rules that it needs."""
    return {
        "kubectl": "\n\n".join(as_kubectl(step) for step in plan.steps),
        "gitops": gitops_patch(plan),
        "rights": "\n".join(f"- {need.rule}" for need in plan.needs),
    }


def counters(detail: RolloutDetail) -> tuple[Counter, ...]:
    """Returns the latest counters beside those before the batch; empty before the first ones."""
    now, before = detail.picture, detail.before or ClusterCounters(taken_at="")
    if now is None:
        return ()
    more = _more(now.pending_pods, before.pending_pods)
    return (
        Counter(word=_("legacy nodes"), value=now.legacy_nodes, was=before.legacy_nodes),
        Counter(word=_("legacy objects"), value=now.legacy_objects, was=before.legacy_objects),
        Counter(word=_("NodePool nodes"), value=now.new_nodes, was=before.new_nodes),
        Counter(word=_("Ready nodes"), value=now.ready_nodes, was=before.ready_nodes),
        Counter(word=_("Pending pods"), value=now.pending_pods, was=before.pending_pods, bad=more),
        Counter(word=_("claims without a Ready node"), value=now.unready_claims, was=before.unready_claims),
        Counter(word=_("pods held back"), value=now.held_pods, at_least=len(now.blocked) >= gates.MAX_BLOCKED),
    )


def blocked(detail: RolloutDetail) -> tuple[BlockedEviction, ...]:
    """Returns pods whose eviction is blocked by a PodDisruptionBudget."""
    return detail.picture.blocked[:MAX_BLOCKED] if detail.picture else ()


def blocked_rest(detail: RolloutDetail) -> int:
    """Returns how many more pods are blocked than `blocked` returns; a lower bound if counting stopped at the limit."""
    return len(detail.picture.blocked[MAX_BLOCKED:]) if detail.picture else 0


def allowed_actions(detail: RolloutDetail, person: Person) -> AllowedActions:
    """Returns which actions the user may take now, and why others are not allowed."""
    row, now = detail.row, timezone.now()
    state = row.state
    risk = risk_of(row.risk)
    author, waits = row.author_id or 0, state == "awaiting_approval"
    refusal = may_approve(person, author=author, makers=makers_of(author) if waits else (), risk=risk, now=now)
    alone = may_break_glass(person, now=now)
    done_already = any(approval.by == person.name for approval in detail.approvals)
    return AllowedActions(
        ask=_when(state == "previewed", may_prepare(person)),
        approve=(_("you have approved it") if done_already else _when(waits, refusal) or why_not_approve(row.id))
        if waits
        else None,
        alone=(_when(waits, alone) or why_not_approve(row.id)) if waits and "break_glass" in person.rights else None,
        start=why_not_start(row.id, person) if state == "approved" else None,
        resume=why_not_start(row.id, person) if state == "paused" else None,
        stop=_when(state in ("running", "paused"), may_stop(person)),
        skip=_when(state in UNDER_WAY, may_start(person)),
        settle=_when(state == "needs_attention", may_resolve(person)),
        roll_back=_when(state in MAY_BE_ROLLED_BACK and any(line.lines for line in detail.steps), may_prepare(person)),
        reject=_when(
            state in ("previewed", "awaiting_approval", "approved"),
            None if "approve" in person.rights else may_prepare(person),
        ),
        sign_in_again=waits and refusal is not None and refusal.code == "sign_in_again",
    )


def must_type_name(row: RolloutRow) -> bool:
    """Whether an approver has to type the cluster's name."""
    return risk_of(row.risk) in TYPED


def must_type_name_to_request(row: RolloutRow) -> bool:
    """Whether the cluster's name has to be typed before approval is requested."""
    action = registry.find(row.action)
    return action is not None and action.typed


def is_risky(row: RolloutRow) -> bool:
    return RISKS.index(risk_of(row.risk)) >= RISKS.index("high")


_CHANGED_NOTHING = ("refused", "noop", "not_applied")
"""The outcomes of a request that changed nothing. A run of Helm that failed half-way is `changed_by_other`."""


def changed_something(detail: RolloutDetail) -> bool:
    """Whether a request changed the cluster, or may have: what came of it is not known."""
    requests = (line for step in detail.steps for line in step.lines if line.verb not in (GATE, SKIP))
    return not all(line.outcome in _CHANGED_NOTHING for line in requests)


def _when(time_for_it: bool, refusal: Refusal | None) -> str | None:
    if not time_for_it:
        return None
    return refusal.why if refusal else ""


def _more(now: int | None, before: int | None) -> bool:
    return now is not None and before is not None and now > before
