"""The kill switch, which stops all changes to all clusters: one person turns it on, two people turn it off (A36)."""

from django.db import transaction
from django.utils import timezone

from migrations_app.access import Person, may_administer, may_resolve, may_stop
from migrations_app.errors import Conflict, InvalidInput, PermissionDenied
from migrations_app.models.policy import KillSwitch
from migrations_app.use_cases.accounts.rights import person_over_cluster, refuse_person
from migrations_app.use_cases.audit.log import Actor, Event, record
from migrations_app.use_cases.notifications.publish import publish_event

MAX_REASON_LENGTH = 500


def stop_everything(person: Person, *, why: str, by: Actor) -> None:
    """Turns the switch on; does nothing if it is on. Raises PermissionDenied, InvalidInput without a reason."""
    refuse_person(may_stop(person_over_cluster(person, None)))
    if not why.strip():
        raise InvalidInput("give the reason for stopping everything", where="why", code="reason_needed")
    with transaction.atomic():
        row = _locked_row()
        if row.on:
            return
        row.on, row.why, row.by_name, row.since = True, why.strip()[:MAX_REASON_LENGTH], person.name, timezone.now()
        _store(row, by, verb="kill_switch.on", why=row.why)
        publish_event("kill_switch.on", "all clusters", by=person.name, why=row.why)


def ask_to_lift(person: Person, *, by: Actor) -> None:
    """Requests to turn the switch off, as the first of two people.

    Raises PermissionDenied, Conflict if it is off or the request exists already.
    """
    _refuse_lifting(person)
    with transaction.atomic():
        row = _locked_row_if_on()
        if row.lifting_id is not None:
            raise Conflict(
                f"{row.lifting_by} has requested to turn it off already; a second person can turn it off now",
                code="moved",
            )
        row.lifting_id, row.lifting_by = person.id, person.name
        _store(row, by, verb="kill_switch.lift_asked")


def turn_off(person: Person, *, by: Actor) -> None:
    """Turns the switch off, as the second person.

    Raises PermissionDenied `second_person` for the person who requested it, Conflict without a request.
    """
    _refuse_lifting(person)
    with transaction.atomic():
        row = _locked_row_if_on()
        if row.lifting_id is None:
            raise Conflict("turning it off has to be requested first", code="moved")
        if row.lifting_id == person.id:
            raise PermissionDenied("a second person has to turn it off", code="second_person")
        asked_by = row.lifting_by
        row.on, row.why, row.by_name, row.since = False, "", "", None
        row.lifting_id, row.lifting_by = None, ""
        _store(row, by, verb="kill_switch.off", why=f"asked for by {asked_by}")
        publish_event("kill_switch.off", "all clusters", by=person.name, why=f"asked for by {asked_by}")


def keep_turned_on(person: Person, *, by: Actor) -> None:
    """Withdraws the request to turn it off. Raises PermissionDenied, Conflict."""
    _refuse_lifting(person)
    with transaction.atomic():
        row = _locked_row_if_on()
        row.lifting_id, row.lifting_by = None, ""
        _store(row, by, verb="kill_switch.kept")


def _refuse_lifting(person: Person) -> None:
    scoped_person = person_over_cluster(person, None)
    if person.method != "session":
        refuse_person(may_resolve(scoped_person))
    refuse_person(may_administer(scoped_person))


def _locked_row_if_on() -> KillSwitch:
    row = _locked_row()
    if not row.on:
        raise Conflict("the kill switch is off", code="moved")
    return row


def _locked_row() -> KillSwitch:
    """The only row of the table, locked until the transaction ends."""
    KillSwitch.objects.bulk_create([KillSwitch(pk=1)], ignore_conflicts=True)
    return KillSwitch.objects.select_for_update().get(pk=1)


def _store(row: KillSwitch, by: Actor, *, verb: str, why: str = "") -> None:
    """Stores the row by compare-and-set, since SQLite has no row locks (R34). Raises Conflict `moved`."""
    fields = ("on", "why", "by_name", "since", "lifting_by", "lifting_id")
    columns = {name: getattr(row, name) for name in fields} | {"version": row.version + 1}
    if not KillSwitch.objects.filter(pk=row.pk, version=row.version).update(**columns):
        raise Conflict("the kill switch was changed meanwhile", code="moved")
    detail = {"why": why} if why else {}
    record(Event(verb=verb, actor=by, object="kill switch", outcome="on" if row.on else "off", detail=detail))
