"""An exported audit log that somebody changed: each change is found, at its event (A54, T26)."""

import random

from migrations_app.audit_verify import verify
from tests.test_audit_verify import LINES, SEALED, mutated, split
from tests.trust.parts import Part


def a_change(dice: random.Random) -> str:
    changed, seq = mutated(dice)
    whole = b"".join(changed)
    if whole == b"".join(LINES):
        return ""
    verdict = verify(split(whole), checkpoints=SEALED)
    if verdict.ok or verdict.bad_seq is None:
        return f"a change of event {seq} is not found"
    if not verdict.bad_seq <= seq <= (verdict.until or verdict.bad_seq):
        return f"a change of event {seq} is told at {verdict.bad_seq}"
    return ""


PARTS = (Part(name="audit log changed", full=10_000, rules="A54, T26", trial=a_change),)
