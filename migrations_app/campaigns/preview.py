"""Computes what a campaign would do on one cluster from its stored scan: hops, steps, nodes, minutes, or why not.

Numbers are estimates: `minutes` counts the nodes of a hop at the pace of the policy and the time that new releases run
before the next work, not the work of people outside. None means not known, never zero.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from migrations_app.actions import registry
from migrations_app.campaigns.campaign_preview import HopPreview, MemberPreview, Pace, StepPreview, WarningShown
from migrations_app.campaigns.recipe import Recipe
from migrations_app.checks.base import Evidence
from migrations_app.journeys.compose import Choices, journey_steps
from migrations_app.journeys.deletions import forecast_objects
from migrations_app.journeys.plan import JourneyStep
from migrations_app.journeys.prior_approval import AskedCheck, asked_check
from migrations_app.karpenter.versions import minor_order, parse, parse_minor
from migrations_app.readiness.report import Report, ReportHop
from migrations_app.readiness.runbook.runbook import RunbookHop, runbook

MINUTES_A_NODE = 6
"""Estimated minutes from the begin of a node's drain until its pods run elsewhere."""
MAX_REASONS = 5
MAX_CAUSES = 50
"""Causes of a warning that an approver can read; a warning with more, or with a partial list, is not accepted."""
CHECKS_COUNTING_REPLACED_NODES = ("hashes_carry_over", "legacy_machines_gone", "provisioners_hold_no_nodes")
"""Checks whose lines of the forecast count nodes that a hop replaces; they overlap, so the largest line counts."""
KARPENTER = "karpenter_"
KUBERNETES_FITS = "kubernetes_inside_window"
"""The check that a person waives to upgrade on a Kubernetes outside the window of the release."""


def member_preview(
    known: MemberPreview, report: Report, *, recipe: Recipe, pace: Pace, choices: Choices | None = None
) -> MemberPreview:
    """Returns what the campaign would do on that cluster by its report; with a cause if the cluster cannot join.

    `choices` are those of the recipe, with what installation and policy allow karpdash to do itself.
    """
    if known.cause:
        return known
    facts = report.cluster
    preview = msgspec.structs.replace(
        known,
        scanned_at=report.scanned_at,
        release=facts.karpenter_version or "",
        owned=_owned(report),
        pods=next((line.count for line in report.parts if line.name == "pods" and not line.quarantined), None),
    )
    path, cause = hops_to(recipe.to, report.target.path, running=facts.karpenter_version)
    if cause:
        return msgspec.structs.replace(preview, cause=cause)
    accepted = {check.hop for check in report.checks if check.id == KUBERNETES_FITS and check.status == "waived"}
    if any(step.kubernetes_fits is False and step.name not in accepted for step in path):
        return msgspec.structs.replace(preview, cause="kubernetes_outside")
    hop_names = {step.name for step in path}
    choices = choices or Choices(recipe.parameters, recipe.soak_seconds)
    hops = (hop for hop in runbook(report).hops if hop.path_hop.name in hop_names)
    previews = tuple(
        _hop(hop, journey_steps(hop, installed=facts.installed, choices=choices), preview=preview, pace=pace)
        for hop in hops
    )
    deletes = any(step.action in recipe.destroys for hop in previews for step in hop.steps if step.action)
    return msgspec.structs.replace(preview, hops=previews, objects=forecast_objects(report) if deletes else ())


def hops_to(target: str, path: Sequence[ReportHop], *, running: str | None) -> tuple[tuple[ReportHop, ...], str]:
    """Returns the path's hops up to that hop, release or minor (empty: the next hop), and a code if there are none."""
    if running is None:
        return (), "release_unknown"
    if not target:
        return tuple(path[:1]), "" if path else "reached"
    ends = [place for place, hop in enumerate(path) if target in (hop.name, hop.release, parse_minor(hop.release))]
    if ends:
        return tuple(path[: ends[-1] + 1]), ""
    return (), "reached" if _has_reached(running, target) else "target_not_on_path"


def _has_reached(running: str, target: str) -> bool:
    """Returns whether the running release is at or beyond that hop, release or minor."""
    running_release, release = parse(running), parse(target)
    if running_release is None:
        return False
    if release is not None:
        return not running_release < release
    minor = parse_minor(target.removesuffix("+"))
    return minor is not None and minor_order(running_release.minor) >= minor_order(minor)


def differs(
    preview: MemberPreview, *, target_release: str, steps: Iterable[JourneyStep], nodes: int
) -> tuple[str, ...]:
    """Returns codes of how a journey planned from a fresh read differs from what the campaign showed; empty if it does
    not.

    The release has to be a shown one, and every action a shown one of that hop. `nodes`, the largest number of nodes
    that one kind of request is for, may exceed the cluster's number of nodes by a tenth, and always by one.
    """
    hop = preview.hop_to(target_release)
    if hop is None:
        return ("other_target",)
    codes = []
    actions = {step.action for step in hop.steps if step.action}
    if any(step.action not in actions for step in steps if step.kind == "rollout"):
        codes.append("action_added")
    if nodes and preview.owned is None:
        codes.append("nodes_unknown")
    elif preview.owned is not None and nodes > preview.owned + max(1, preview.owned // 10):
        codes.append("more_nodes")
    return tuple(codes)


def _hop(hop: RunbookHop, steps: Sequence[JourneyStep], *, preview: MemberPreview, pace: Pace) -> HopPreview:
    nodes = _replaced_nodes(hop, preview)
    waits = sum(step.seconds for step in steps) // 60
    return HopPreview(
        hop=hop.path_hop.name,
        starts=hop.starts,
        target_release=hop.path_hop.release,
        steps=tuple(_step(step, hop) for step in steps),
        nodes=nodes,
        minutes=None if nodes is None else waits + rolling_minutes(nodes, pace),
        blockers=sum(step.severity == "blocker" and step.status == "fail" for step in hop.steps),
        unknowns=sum(step.status == "unknown" for step in hop.steps),
        reasons=tuple(
            dict.fromkeys(step.summary for step in hop.steps if step.severity == "blocker" and step.status != "pass")
        )[:MAX_REASONS],
        asked=_asked(hop, steps),
        warns=tuple(_warnings(hop, steps)),
        again=tuple(done_earlier.check for done_earlier in hop.done_earlier if done_earlier.seen_again),
    )


def _asked(hop: RunbookHop, steps: Sequence[JourneyStep]) -> dict[str, AskedCheck]:
    """Returns the answers of the checks of steps that people or other tools do, by id."""
    by_people = {check for step in steps if step.kind in ("person", "outside") for check in step.checks}
    return {step.id: asked_check(step) for step in hop.steps if step.id in by_people}


def _warnings(hop: RunbookHop, steps: Sequence[JourneyStep]) -> Iterator[WarningShown]:
    """Yields failing checks of steps that a person confirms, with every cause; a blocker is never accepted."""
    confirmed = {check for step in steps if step.kind == "person" for check in step.checks}
    for finding in hop.steps:
        answer = asked_check(finding)
        is_complete = answer.whole and len(finding.evidence) <= MAX_CAUSES
        if finding.id in confirmed and answer.status == "fail" and is_complete and not answer.blocks:
            yield WarningShown(finding.id, finding.summary, tuple(map(_cause_text, finding.evidence)))


def _cause_text(row: Evidence) -> str:
    where = "/".join(filter(None, (row.namespace, row.name)))
    subject = " ".join(filter(None, (row.kind, where, row.path)))
    return f"{subject}: {row.seen}" + (f" ({row.count} times)" if row.count > 1 else "")


def rolling_minutes(nodes: int, pace: Pace) -> int:
    """Returns the minutes for that many nodes: in batches, and within the policy's number of nodes per hour."""
    batches = -(-nodes // max(1, pace.batch))
    return max(batches * MINUTES_A_NODE, -(-nodes * 60 // max(1, pace.per_hour)) if nodes else 0)


def _step(step: JourneyStep, hop: RunbookHop) -> StepPreview:
    action: Any = registry.find(step.action) if step.action else None
    weighed = step.checks if step.kind in ("person", "outside") else ()
    failing = {finding.id for finding in hop.steps if finding.status == "fail"}
    return StepPreview(
        step.kind, step.title, step.action, action.risk if action else "",
        checks=weighed, failing=tuple(check for check in weighed if check in failing),
    )  # fmt: skip


def _replaced_nodes(hop: RunbookHop, preview: MemberPreview) -> int | None:
    """Returns the number of nodes that the hop replaces, at most all of Karpenter's; None if a count is not known."""
    lines = [line for line in hop.forecast if line.check in CHECKS_COUNTING_REPLACED_NODES]
    if any(line.count is None for line in lines):
        return None
    most = max((line.count or 0 for line in lines), default=0)
    return most if preview.owned is None else min(most, preview.owned)


def _owned(report: Report) -> int | None:
    if report.nodes_certainty != "exact":
        return None
    return sum(count for owner, count in report.nodes.by_owner.items() if owner.startswith(KARPENTER))
