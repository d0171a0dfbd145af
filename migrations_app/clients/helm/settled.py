"""What the record of a release shows of a run of helm whose outcome is not known (A22)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from migrations_app.actions.conditions import Exists, holds
from migrations_app.clients.helm.records import DEPLOYED, read_record
from migrations_app.errors import InvalidResponse


class SettledRun(NamedTuple):
    """A run that is over and did not succeed: the outcome for the journal, a code, and the reason."""

    outcome: str
    code: str
    words: str


def settled_run(read: dict[str, Any], *, own: Mapping[str, str], late: bool) -> SettledRun | None:
    """How the run ended, by the record that it made; None while that is not known or if it succeeded.

    `late`: no request of the run can arrive any more.
    """
    if not holds(Exists(marks=dict(own)), read):
        return SettledRun("not_applied", "changed", "somebody else has made this revision") if late else None
    try:
        record = read_record(read)
    except InvalidResponse as wrong:
        return SettledRun("changed_by_other", wrong.code, wrong.message) if late else None
    if record.status == DEPLOYED:
        return None
    where = f"release {record.namespace}/{record.name} revision {record.revision}"
    back = "take the controller back, or mend it by hand"
    if record.pending:
        words = f"helm was stopped in the middle: {where} is {record.status}; {back}"
        return SettledRun("changed_by_other", "release_pending", words) if late else None
    message = f"{where} is {record.status}: {record.info.description[:500]}; {back}"
    return SettledRun("changed_by_other", "release_failed", message)
