"""The step of a plan that runs helm: its request, its postconditions, and the gate after it."""

import msgspec

from migrations_app.actions.changes import PlannedRequest
from migrations_app.actions.conditions import Exists, FieldEquals
from migrations_app.actions.gate import Gate
from migrations_app.actions.helm.request import HelmProposal
from migrations_app.actions.plan import SourceObject, Step

SETTLE_SECONDS = 900
STATUS = ("metadata", "labels", "status")
DEPLOYED = "deployed"
MAX_NAMED = 40


def helm_step(proposal: HelmProposal, *, title: str, note: str = "", undo: PlannedRequest | None = None) -> Step:
    """One run of helm as a step of high risk, bound to the record of the revision that it replaces."""
    run = proposal.run
    former = SourceObject(
        target=msgspec.structs.replace(run.former, uid=proposal.record.uid), digest=proposal.record.digest
    )
    return Step(
        id="",
        title=title,
        change=run.as_change(),
        postconditions=(Exists(), FieldEquals(field=STATUS, value=DEPLOYED)),
        undo=undo,
        undo_postconditions=(Exists(), FieldEquals(field=STATUS, value=DEPLOYED)) if undo else (),
        risk="high",
        after=Gate(controller=proposal.gate, seconds=SETTLE_SECONDS) if proposal.gate else None,
        note=" ".join(part for part in (note, objects_words(proposal)) if part),
        computed_from=(former,),
    )


def objects_words(proposal: HelmProposal) -> str:
    """The effect on each object, in one sentence."""
    changes = [f"{object_name} ({effect})" for object_name, effect in proposal.objects]
    rest = f" and {len(changes) - MAX_NAMED} more" if len(changes) > MAX_NAMED else ""
    return f"Objects: {', '.join(changes[:MAX_NAMED]) or 'none changes'}{rest}. By helm {proposal.helm}."
