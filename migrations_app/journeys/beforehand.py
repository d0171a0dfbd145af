"""What was settled for a journey before it was made, once for many clusters: in the recipe of its campaign.

Only what was shown counts: a question that was not shown, a cause that is not among those that were, an action or an
object that was not shown, or more nodes ask a person as if nothing had been settled.
"""

import hashlib
from collections.abc import Iterable, Mapping

import msgspec

from migrations_app.actions.plan import canonical
from migrations_app.checks.base import Evidence, Finding
from migrations_app.journeys.destroyed import DestroyedObject, only_shown
from migrations_app.journeys.evidence import IN_ORDER, NOT_ASKED
from migrations_app.journeys.outline import Outline
from migrations_app.journeys.plan import JourneyStep, coverable

NODE_MARGIN = 10
"""A plan may be about a tenth more nodes than were shown, and one more in any case."""


class AskedCheck(msgspec.Struct, frozen=True):
    """What one check said: its status, and digests of why. For a failure one of each cause, for a question one of each
    thing to look at, else the reason why it cannot be told. `whole`: every one of them is there; `blocks`: what fails
    is a blocker, which nobody accepts."""

    status: str
    causes: tuple[str, ...] = ()
    whole: bool = True
    blocks: bool = False


class WeighedChecks(msgspec.Struct, frozen=True):
    """What was shown to people of one hop: the checks of the steps that people do, those that an earlier hop of the
    same way makes a scan ask again, and those whose failure each approver accepted, with every cause before them."""

    asked: dict[str, AskedCheck] = {}
    again: tuple[str, ...] = ()
    accepted: tuple[str, ...] = ()


class SettledBefore(msgspec.Struct, frozen=True, kw_only=True):
    """What one approval covers besides the plans that a journey shows itself.

    `note` is what `by` wrote on what people weigh, by the release that a hop lands at; empty: each step asks.
    `accepts`: the approvers accepted the warnings that failed as they were shown.
    `actions`, by the same: plans of these may be made on the way without asking again, with at most a tenth more than
    `nodes`; None covers no plan with nodes. `destroys`: plans that delete may be made of these actions, of `objects`
    alone. All count only on the cluster of that uid and CA.
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
    """Whether the approval was given to this journey: one that differs asks people, and then nothing was settled."""


def asked_check(finding: Finding) -> AskedCheck:
    """What the finding says, as it is compared with another scan or hop."""
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
    settled: SettledBefore, step: JourneyStep, *, lands: str, cluster: str, now: Mapping[str, AskedCheck]
) -> bool:
    """Whether a person weighed everything of the step before, for this journey.

    `cluster` is its uid and CA as they are now, `now` what its checks say in a fresh scan.
    """
    weighed_checks = settled.weighed.get(lands)
    if not settled.covered or cluster != settled.cluster or not settled.note or not weighed_checks or not step.checks:
        return False
    return all(_is_as_shown(settled, weighed_checks, check=check, now=now.get(check)) for check in step.checks)


def _is_as_shown(settled: SettledBefore, weighed_checks: WeighedChecks, *, check: str, now: AskedCheck | None) -> bool:
    """Whether the check says nothing that was not shown of this cluster, at this hop or at another one of its way."""
    if now is None:
        return False
    if now.status in (*IN_ORDER, NOT_ASKED):
        return check in weighed_checks.asked or check in weighed_checks.again
    hops = [hop for hop in settled.weighed.values() if check in hop.asked]
    if now.status == "fail":
        answers = (hop.asked[check] for hop in hops if check in hop.accepted)
        accepted = (answer for answer in answers if answer.whole and not answer.blocks)
        return settled.accepts and now.whole and not now.blocks and _among(now, accepted)
    every = [hop.asked[check] for hop in hops]
    if _among(now, every):
        return True
    # What a hop makes anew cannot be told before; where it then cannot be told for a reason that was shown, it is.
    reasons = (answer for hop in settled.weighed.values() for answer in hop.asked.values())
    return now.status == "unknown" and check in weighed_checks.again and _among(now, reasons)


def _among(now: AskedCheck, answers: Iterable[AskedCheck]) -> bool:
    known = {cause for answer in answers if answer.status == now.status for cause in answer.causes}
    return bool(now.causes) and set(now.causes) <= known


def covers_unseen(settled: SettledBefore, step: JourneyStep, *, outline: Outline, lands: str, limit: str) -> bool:
    """Whether the approval covers a plan that could not be shown: by its action, cluster, nodes and risk."""
    if not settled.covered or outline.action != step.action or outline.action not in settled.actions.get(lands, ()):
        return False
    if outline.cluster != settled.cluster or not coverable(outline, limit=limit):  # type: ignore[arg-type]  # one of COVERABLE
        return False
    most = max((node.count for node in outline.nodes), default=0)
    return not most or (settled.nodes is not None and most <= settled.nodes + max(1, settled.nodes // NODE_MARGIN))


def covers_destroying(
    settled: SettledBefore,
    step: JourneyStep,
    *,
    outline: Outline,
    deletes: tuple[DestroyedObject, ...] | None,
    lands: str,
) -> bool:
    """Whether the approval covers a plan that deletes: its action was named, and it is about objects alone that were
    shown, by their uids. `deletes` are the objects of the plan; None if it does anything but delete objects.
    """
    if not settled.covered or outline.action != step.action or outline.action not in settled.destroys.get(lands, ()):
        return False
    return outline.cluster == settled.cluster and not outline.doubts and only_shown(deletes, settled.objects)
