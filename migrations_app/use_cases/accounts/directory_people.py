"""People as provisioned by a directory: created without a password, closed when they leave, opened when they return.

Closing is the same as by an administrator (`management.set_active`): sessions and tokens end for good, unused approvals
no longer count, and the last account that may manage others stays open.
"""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction
from django.utils import timezone

from migrations_app.access import SAMPLE_PEOPLE
from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.account import Grant, Identity
from migrations_app.models.provisioning import ProvisionedAccount
from migrations_app.queries.accounts.directory import directory_people
from migrations_app.use_cases.accounts import management
from migrations_app.use_cases.accounts.services import PREFIX
from migrations_app.use_cases.audit.log import record_audit_event

DIRECTORY_PREFIX = "scim:"
"""The prefix of a directory's name in the audit log. No account of a person may begin with it."""
RESERVED = (PREFIX, DIRECTORY_PREFIX)
LENGTHS = {"user_name": 150, "external_id": 255, "given": 150, "family": 150, "display": 200, "email": 254}


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAttributes:
    """The attributes of a person from a directory; None leaves an attribute unchanged."""

    user_name: str | None = None
    external_id: str | None = None
    given: str | None = None
    family: str | None = None
    display: str | None = None
    email: str | None = None
    active: bool | None = None


def create_person(person: PersonAttributes) -> int:
    """Creates an account without a password and returns its id; an account that the directory deleted is restored.

    A restored account has no teams, no roles of its own and no identity, because a new person of that name might be
    another person. Raises InvalidInput, and Conflict `name_taken`.
    """
    _refuse(person)
    name = person.user_name or ""
    with transaction.atomic():
        gone = ProvisionedAccount.objects.filter(user_name__iexact=name).exclude(removed_at=None).first()
        if gone is not None:
            return _restore(gone, person)
        if _is_taken(name):
            raise Conflict("there is an account of that name", code="name_taken")
        try:
            with transaction.atomic():
                user = User.objects.create_user(username=name)
                ProvisionedAccount.objects.create(user=user, user_name=name, made_by_directory=True)
        except IntegrityError:
            raise Conflict("there is an account of that name", code="name_taken") from None
        record_audit_event("account.made", name, rights="those of its teams", by="directory")
        _apply(user, person)
    return user.pk


def change_person(account_id: int, person: PersonAttributes) -> None:
    """Changes the given attributes of an account, all of them or none.

    Raises NotFound, InvalidInput, and Conflict: `name_taken`, `last_admin`, and `closed_here` for opening an account
    that was closed in karpdash.
    """
    _refuse(person)
    with transaction.atomic():
        _apply(_locked_user(account_id), person)


def remove_person(account_id: int) -> None:
    """Closes an account and removes its teams, roles and identity; for the directory it is deleted.

    The row stays, because the audit log names it. Raises NotFound, Conflict `last_admin`.
    """
    with transaction.atomic():
        user = _locked_user(account_id)
        known = _known(user)
        _close(user, known)
        teams = sorted(user.groups.values_list("name", flat=True))
        roles, everything = user.grants.count(), user.is_superuser
        _remove_access(user)
        ProvisionedAccount.objects.filter(pk=user.pk).update(removed_at=timezone.now())
        record_audit_event("account.deprovisioned", user.username, left=teams, roles=roles, everything=everything)
        management.refuse_without_admin()


def unclaimed_account(name: str) -> User | None:
    """The account that the directory created under that name, if no person has signed in with it yet; else None."""
    waiting = ProvisionedAccount.objects.filter(user_name__iexact=name, made_by_directory=True, removed_at=None)
    row = waiting.select_related("user").filter(user__identity=None).first()
    if row is None or row.user.has_usable_password() or not is_same_name(name, row.user_name):
        return None
    return row.user


def is_directory_name(name: str) -> bool:
    """Whether a directory has, or had, an account under that name; the account may have another name here."""
    return ProvisionedAccount.objects.filter(user_name__iexact=name).exists()


def is_same_name(name: str, other: str) -> bool:
    """Whether the names differ in case only. PostgreSQL equates U+0131, a dotless i, with an i: it has the same
    capital.
    """
    return name.lower() == other.lower() and name.upper() == other.upper()


def _apply(user: User, person: PersonAttributes) -> None:
    known = _known(user)
    _record_details(user, known=known, person=person)
    if person.user_name is not None and person.user_name != known.user_name:
        if _is_taken(person.user_name, except_id=user.pk):
            raise Conflict("there is an account of that name", code="name_taken")
        record_audit_event("account.directory_name", user.username, before=known.user_name, after=person.user_name)
        known.user_name = person.user_name
    known.external_id = _changed_or(person.external_id, known.external_id)
    known.display_name = _changed_or(person.display, known.display_name)
    known.save()
    user.first_name, user.last_name = (
        _changed_or(person.given, user.first_name),
        _changed_or(person.family, user.last_name),
    )
    if person.email is not None and person.email != user.email:
        # Requests for approval and news of the kill switch are mailed to this address.
        record_audit_event("account.email", user.username, before=user.email, after=person.email)
        user.email = person.email
    user.save(update_fields=["first_name", "last_name", "email"])
    if person.active is not None and person.active != user.is_active:
        _open(user, known) if person.active else _close(user, known)


def _record_details(user: User, *, known: ProvisionedAccount, person: PersonAttributes) -> None:
    """Records which details change, without their text, which is in the directory."""
    before = {
        "external_id": known.external_id, "display": known.display_name,
        "given": user.first_name, "family": user.last_name,
    }  # fmt: skip
    changed = [name for name, text in before.items() if _changed_or(getattr(person, name), text) != text]
    if changed:
        record_audit_event("account.details", user.username, changed=changed)


def _close(user: User, known: ProvisionedAccount) -> None:
    if not user.is_active:
        return
    management.set_active(user.username, active=False, person=None)
    known.closed_by_directory = True
    known.save(update_fields=["closed_by_directory"])


def _open(user: User, known: ProvisionedAccount) -> None:
    if not known.closed_by_directory:
        raise Conflict("the account was closed in karpdash; reopen it there", code="closed_here")
    management.set_active(user.username, active=True, person=None)


def _restore(known: ProvisionedAccount, person: PersonAttributes) -> int:
    user = known.user
    if user.is_active or user.username in SAMPLE_PEOPLE:
        # Opened here since then: it belongs to a person, with rights that were granted here.
        raise Conflict("there is an account of that name", code="name_taken")
    _remove_access(user)
    ProvisionedAccount.objects.filter(pk=user.pk).update(removed_at=None, made_by_directory=True)
    user.set_unusable_password()
    user.save(update_fields=["password"])
    record_audit_event("account.provisioned_again", user.username)
    _apply(_locked_user(user.pk), person)
    return user.pk


def _remove_access(user: User) -> None:
    """Removes teams, roles and rights from an account, and its link to the identity provider."""
    user.groups.clear()
    user.user_permissions.clear()
    Grant.objects.filter(person=user).delete()
    Identity.objects.filter(user=user).delete()
    User.objects.filter(pk=user.pk).update(is_superuser=False, is_staff=False)


def _known(user: User) -> ProvisionedAccount:
    """The directory's row of the account; created if there is none."""
    return ProvisionedAccount.objects.select_for_update().get_or_create(
        user=user, defaults={"user_name": user.username}
    )[0]


def _locked_user(account_id: int) -> User:
    row = User.objects.select_for_update().filter(pk__in=directory_people().values("pk"), pk=account_id).first()
    if row is None:
        raise NotFound("no such user")
    return row


def _is_taken(name: str, *, except_id: int = 0) -> bool:
    named = User.objects.filter(username__iexact=name).exclude(pk=except_id).exists()
    return named or ProvisionedAccount.objects.filter(user_name__iexact=name).exclude(pk=except_id).exists()


def _changed_or(value: str | None, before: str) -> str:
    return before if value is None else value


def _refuse(person: PersonAttributes) -> None:
    for field, longest in LENGTHS.items():
        text = getattr(person, field)
        if text is not None and (len(text) > longest or not text.isprintable() or text != text.strip()):
            raise InvalidInput(f"at most {longest} printable characters", where=field)
    name = person.user_name
    if name is not None and (not name or name.casefold().startswith(RESERVED) or name.casefold() in SAMPLE_PEOPLE):
        raise InvalidInput("is not a valid name for an account", where="user_name", code="bad_name")
    if person.email:
        try:
            validate_email(person.email)
        except ValidationError:
            raise InvalidInput("is no e-mail address", where="email") from None
