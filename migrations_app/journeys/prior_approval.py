"""Decides whether the approval of a campaign already covers a question, a plan or a deletion of one cluster's journey.

Only what was shown to the approvers counts. A question, cause, action or object that was not shown, or more nodes, asks
a person as without a campaign.
"""

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from migrations_app.actions.plan import canonical
from migrations_app.checks.base import Evidence, Finding
from migrations_app.journeys.deletions import DestroyedObject, are_all_shown
from migrations_app.journeys.evidence import IN_ORDER, NOT_ASKED
from migrations_app.journeys.outline import Outline
from migrations_app.journeys.plan import JourneyStep, coverable

NODE_MARGIN = 10
"""A plan may have a tenth more nodes than were shown, and always one more."""


class AskedCheck(msgspec.Struct, frozen=True):
    """The answer of one check: its status and digests of its causes. For a failure one of each cause, for a manual
    check one of each thing to look at, for an unknown one the code of the reason. `whole`: no cause is missing;
    `blocks`: the failure is a blocker, which nobody can accept."""

    status: str
    causes: tuple[str, ...] = ()
    whole: bool = True
    blocks: bool = False


class WeighedChecks(msgspec.Struct, frozen=True):
    """What was shown to people for one hop: the checks of steps that people do, those that only a scan after an
    earlier hop of the path can answer, and those whose failure, with every cause, the approvers accepted."""

    asked: dict[str, AskedCheck] = {}
    again: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()


class PriorApproval(msgspec.Struct, frozen=True, kw_only=True):
    """What the approval of a campaign covers besides the plans that the journey itself shows.

    `note` is the text of `by` about the checks that people weigh, which `weighed` holds by the target version of the
    hop; empty: each step asks a person. `accepts`: the approvers accepted the warnings that failed as shown. `actions`,
    by the target version: plans of these actions may be made later without asking again, with at most a tenth more than
    `nodes`; with None no plan with nodes is covered. `destroys`: plans of these actions may delete `objects` only. All
    of it counts only for the cluster with that uid and CA.
    """

    source: str
    by: str = ""
    note: str = ""
    accepts: bool = False
    weighed: dict[str, WeighedChecks] = {}
    actions: dict[str, tuple[str, ...]] = {}
    destroys: dict[str, tuple[str, ...]] = {}
    objects: tuple[DestroyedObject, ...] = ()
    cluster: str = ""
    nodes: int | None = None
    covered: bool = False
    """Whether the approval was given to this journey. If the journey differs from what was shown, people are asked,
    and nothing counts as approved before."""


def asked_check(finding: Finding) -> AskedCheck:
    """Returns the answer of the finding in a form that can be compared with another scan or hop."""
    if finding.status == "fail":
        is_whole = finding.evidence_exact and finding.evidence_total == sum(row.count for row in finding.evidence)
        causes = tuple(dict.fromkeys(map(_cause, finding.evidence)))
        return AskedCheck("fail", causes, is_whole, blocks=finding.severity == "blocker")
    if finding.status == "manual":
        questions = () if isinstance(finding.asks, msgspec.UnsetType) else finding.asks
        return AskedCheck("manual", questions, bool(questions))
    if finding.status == "unknown":
        reason = finding.reason
        return AskedCheck("unknown", (finding.summary if isinstance(reason, msgspec.UnsetType) else reason.code,))
    return AskedCheck(finding.status)


def _cause(row: Evidence) -> str:
    return hashlib.sha256(canonical(row.for_people())).hexdigest()[:16]


def is_weighed(
    prior: PriorApproval, step: JourneyStep, *, target_release: str, cluster: str, now: Mapping[str, AskedCheck]
) -> bool:
    """Returns whether a person weighed every check of the step before, for this journey.

    `cluster` is the present uid and CA, `now` the answers of the step's checks in a fresh scan.
    """
    weighed_checks = prior.weighed.get(target_release)
    if not prior.covered or cluster != prior.cluster or not prior.note or not weighed_checks or not step.checks:
        return False
    return all(_is_as_shown(prior, weighed_checks, check=check, now=now.get(check)) for check in step.checks)


def _is_as_shown(prior: PriorApproval, weighed_checks: WeighedChecks, *, check: str, now: AskedCheck | None) -> bool:
    """Returns whether the check's answer was shown for this cluster, at this hop or another hop of its path."""
    if now is None:
        return False
    if now.status in (*IN_ORDER, NOT_ASKED):
        return check in weighed_checks.asked or check in weighed_checks.again
    hops = [hop for hop in prior.weighed.values() if check in hop.asked]
    if now.status == "fail":
        answers = (hop.asked[check] for hop in hops if check in hop.accepted)
        accepted = (answer for answer in answers if answer.whole and not answer.blocks)
        return prior.accepts and now.whole and not now.blocks and _causes_were_shown(now, accepted)
    shown_answers = [hop.asked[check] for hop in hops]
    if _causes_were_shown(now, shown_answers):
        return True
    # The work of a hop makes these checks unknown until a scan after it; a reason that was shown is accepted.
    reasons = (answer for hop in prior.weighed.values() for answer in hop.asked.values())
    return now.status == "unknown" and check in weighed_checks.again and _causes_were_shown(now, reasons)


def _causes_were_shown(now: AskedCheck, answers: Iterable[AskedCheck]) -> bool:
    """Returns whether the answer has causes and each of them is among those of the shown answers with the same
    status."""
    shown_causes = {cause for answer in answers if answer.status == now.status for cause in answer.causes}
    return bool(now.causes) and set(now.causes) <= shown_causes


def covers_unseen(
    prior: PriorApproval, step: JourneyStep, *, outline: Outline, target_release: str, limit: str
) -> bool:
    """Returns whether the approval covers a plan that could not be shown, by its action, cluster, nodes and risk."""
    if (
        not prior.covered
        or outline.action != step.action
        or outline.action not in prior.actions.get(target_release, ())
    ):
        return False
    if outline.cluster != prior.cluster or not coverable(outline, limit=limit):  # type: ignore[arg-type]  # one of COVERABLE
        return False
    node_count = max((node.count for node in outline.nodes), default=0)
    return not node_count or (
        prior.nodes is not None and node_count <= prior.nodes + max(1, prior.nodes // NODE_MARGIN)
    )


def covers_destroying(
    prior: PriorApproval,
    step: JourneyStep,
    *,
    outline: Outline,
    deletes: tuple[DestroyedObject, ...] | None,
    target_release: str,
) -> bool:
    """Returns whether the approval covers a plan that deletes: its action was named, and it deletes only objects
    that were shown, by uid. `deletes` are the objects of the plan; None if it does anything but delete objects."""
    if (
        not prior.covered
        or outline.action != step.action
        or outline.action not in prior.destroys.get(target_release, ())
    ):
        return False
    return outline.cluster == prior.cluster and not outline.doubts and are_all_shown(deletes, prior.objects)
