"""Registers and removes the Git repositories that pull requests may be opened in; credentials are sealed (T22)."""

import re
import uuid
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction

from migrations_app.access import Person, may_prepare
from migrations_app.clients.git_hosts.access import HostCredential, app_token, open_host
from migrations_app.clients.git_hosts.host import GitHost, HostKind
from migrations_app.clients.secret import Secret
from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.inventory.facts.delivery_sources import git_address
from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.pull_request import CodeRepository, PullRequest
from migrations_app.queries.pull_requests import for_cluster
from migrations_app.use_cases.accounts.rights import person_over_group
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.runtime.connections import keys, network_policy

FIELD: Final = "git credential"
MAX_REPOSITORIES: Final = 200
"""Maximum number of repositories per installation."""
LONGEST_SECRET: Final = 8000
_NUMBER: Final = re.compile(r"[0-9]{1,20}", re.ASCII)
_APP: Final = re.compile(r"[A-Za-z0-9]{1,40}(?:\.[A-Za-z0-9]{1,40})?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRepository:
    """The form of a new repository. With `app` and `installation` the secret is the private key of a GitHub App."""

    kind: HostKind
    address: str
    secret: str = field(repr=False)
    app: str = ""
    installation: str = ""
    group: uuid.UUID | None = None
    """The group of clusters that it is for; None: every cluster."""
    by: str = ""


def register_repository(request: NewRepository, *, now: datetime) -> uuid.UUID:
    """Stores the repository after its host has accepted the credential; returns its id.

    The group may be removed while the host answers, so it is looked up again where the row is stored. Raises
    InvalidInput; Conflict `address_taken`; ReadError if the host refuses the credential or does not answer.
    """
    address = _checked(request)
    if CodeRepository.objects.filter(address=address).exists():
        raise _taken(address)
    if CodeRepository.objects.count() >= MAX_REPOSITORIES:
        raise InvalidInput(f"at most {MAX_REPOSITORIES} repositories", where="address", code="too_many")
    _group(request.group)
    credential = _credential(request)
    open_host(request.kind, address, credential=credential, reach=network_policy()).head("")
    row = CodeRepository(
        kind=request.kind,
        address=address,
        app=request.app,
        installation=request.installation,
        made_by_name=request.by,
        made_at=now,
    )
    row.sealed = keys().seal(request.secret.encode(), owner=str(row.pk), field=FIELD)
    try:
        with transaction.atomic():
            row.group = _group(request.group, lock=True)
            row.save(force_insert=True)
            scope = str(row.group_id or "")
            record_audit_event("repository.registered", address, kind=row.kind, by_app=bool(row.app), group=scope)
    except IntegrityError:
        raise _taken(address) from None
    return row.pk


def remove_repository(repository_id: uuid.UUID) -> None:
    """Removes the repository and its credential; opened requests stay on the host.

    Raises NotFound, and Conflict `request_under_way` while a request is being opened.
    """
    with transaction.atomic():
        row = CodeRepository.objects.select_for_update().filter(pk=repository_id).first()
        if row is None:
            raise NotFound("no such repository")
        if row.requests.filter(state=PullRequest.State.OPENING).exists():
            raise Conflict("a pull request is being opened there; refresh its state first", code="request_under_way")
        record_audit_event("repository.removed", row.address, kind=row.kind)
        row.delete()


def limit_repository(repository_id: uuid.UUID, group: uuid.UUID | None) -> None:
    """Says for which clusters the repository is: those of the group, or every one. Raises NotFound, InvalidInput."""
    with transaction.atomic():
        row = CodeRepository.objects.select_for_update().filter(pk=repository_id).first()
        if row is None:
            raise NotFound("no such repository")
        row.group = _group(group, lock=True)
        row.save(update_fields=["group"])
        record_audit_event("repository.limited", row.address, group=str(row.group_id or ""))


def repository_of(repository_id: uuid.UUID, *, cluster: uuid.UUID, person: Person) -> CodeRepository:
    """The row of the repository, for that cluster and person. Raises NotFound if it is for clusters of a group, and the
    cluster is not in it or the person may not prepare changes of its clusters (T11)."""
    row = CodeRepository.objects.filter(for_cluster(cluster), pk=repository_id).first()
    if row is None or (row.group_id is not None and may_prepare(person_over_group(person, row.group_id)) is not None):
        raise NotFound("no such repository, or it is not for this cluster")
    return row


def _group(group_id: uuid.UUID | None, *, lock: bool = False) -> ClusterGroup | None:
    """The row of the group; None for none. With `lock` it cannot be removed before the caller's transaction ends.
    Raises InvalidInput.
    """
    if group_id is None:
        return None
    rows = ClusterGroup.objects.select_for_update() if lock else ClusterGroup.objects.all()
    group = rows.filter(pk=group_id).first()
    if group is None:
        raise InvalidInput("is no group of clusters", where="group", code="bad_group")
    return group


def connect_repository(row: CodeRepository) -> GitHost:
    """The client of the repository. Raises ReadError, InvalidSetting if the encryption key is missing."""
    secret = Secret(keys().open(bytes(row.sealed), owner=str(row.pk), field=FIELD).decode())
    credential = HostCredential(secret=secret, app=row.app, installation=row.installation)
    return open_host(_kind(row.kind), row.address, credential=credential, reach=network_policy())


def _kind(text: str) -> HostKind:
    return "gitlab" if text == CodeRepository.Kind.GITLAB else "github"


def _taken(address: str) -> Conflict:
    return Conflict(f"{address} is registered already", code="address_taken")


def _checked(request: NewRepository) -> str:
    """The address in its stored form. Raises InvalidInput."""
    if request.kind not in CodeRepository.Kind.values:
        raise InvalidInput("is not a kind of Git host", where="kind", code="bad_kind")
    address = git_address(request.address) if request.address.strip().startswith("https://") else ""
    parts = [part for part in urlsplit(address).path.split("/") if part]
    has_path = len(parts) == 2 if request.kind == "github" else len(parts) >= 2
    if not address or len(address) > 300 or "@" in request.address or not has_path or {".", ".."} & set(parts):
        raise InvalidInput("must be https://host/owner/repository", where="address", code="bad_address")
    _check_secret(request)
    return address


def _check_secret(request: NewRepository) -> None:
    secret = request.secret
    if bool(request.app) != bool(request.installation):
        raise InvalidInput(
            "an app needs both its id and the id of its installation", where="installation", code="bad_app"
        )
    if request.app:
        if request.kind != "github" or not _APP.fullmatch(request.app) or not _NUMBER.fullmatch(request.installation):
            raise InvalidInput("an app has an id and the number of its installation", where="app", code="bad_app")
        app_token(_credential(request), now=0)
    elif not secret.isascii() or not secret.isprintable() or " " in secret:
        raise InvalidInput("is not a token", where="secret", code="bad_token")
    if not 8 <= len(secret) <= LONGEST_SECRET:
        raise InvalidInput("is neither a token nor a key", where="secret", code="bad_token")


def _credential(request: NewRepository) -> HostCredential:
    return HostCredential(secret=Secret(request.secret), app=request.app, installation=request.installation)
