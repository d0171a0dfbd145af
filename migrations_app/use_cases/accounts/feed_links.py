"""Links to feeds: created and revoked by a person, and opened by everyone with the secret.

The secret is in the address, because a README or a calendar cannot sign in. Therefore the link opens one feed and
nothing else: it is no API token, changes nothing, and shows no more than its owner may see now. It has the form of a
token, so that logs and the audit log redact it.
"""

import uuid
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.account import FeedLink
from migrations_app.queries.visibility import visible_clusters
from migrations_app.use_cases.accounts.management import is_sample_person
from migrations_app.use_cases.accounts.tokens import LAST_USED_INTERVAL, digest_of, new_secret
from migrations_app.use_cases.audit.log import record_audit_event, token_mark

KINDS: tuple[str, ...] = tuple(FeedLink.Kind.values)
MAX_LINKS = 50
"""Maximum number of live links of one person."""


@dataclass(frozen=True, slots=True)
class NewFeedLink:
    """A new link; `secret` is the part of its address that is shown once."""

    id: uuid.UUID
    kind: str
    secret: str


@dataclass(frozen=True, slots=True)
class OpenedFeed:
    """The owner of an opened link, and its cluster; None for all clusters that the owner may see."""

    owner: User
    cluster: uuid.UUID | None


def create_feed_link(owner: User, *, kind: str, name: str, cluster: uuid.UUID | None) -> NewFeedLink:
    """Creates a link to a feed; without a cluster, about all that the owner may see.

    Raises InvalidInput for an unknown kind, no name, a cluster that the caller may not see, and for sample people,
    whose rights are only for people at this machine; Conflict `too_many`.
    """
    if is_sample_person(owner):
        raise InvalidInput("sample people have no feed links", where="name", code="sample_person")
    if kind not in KINDS:
        raise InvalidInput(f"a feed is one of {', '.join(KINDS)}", where="kind")
    if not name.strip():
        raise InvalidInput("a feed link needs a name", where="name")
    if cluster is not None and not visible_clusters().filter(pk=cluster).exists():
        raise InvalidInput("no such cluster", where="cluster")
    secret = new_secret()
    with transaction.atomic():
        User.objects.select_for_update().get(pk=owner.pk)
        if FeedLink.objects.filter(owner=owner, revoked_at=None).count() >= MAX_LINKS:
            raise Conflict(f"at most {MAX_LINKS} feed links that are not revoked", code="too_many")
        row = FeedLink.objects.create(
            owner=owner, name=name.strip(), kind=kind, cluster_id=cluster, prefix=secret.prefix, digest=secret.digest
        )
        _record("feed.made", row)
    return NewFeedLink(row.pk, kind, secret.text)


def revoke_feed_link(link_id: uuid.UUID, *, owner_id: int) -> None:
    """Revokes a link at once. Raises NotFound if it does not exist, is revoked, or belongs to another person."""
    with transaction.atomic():
        live = FeedLink.objects.filter(pk=link_id, owner_id=owner_id, revoked_at=None)
        if not live.update(revoked_at=timezone.now()):
            raise NotFound("no such feed link")
        _record("feed.revoked", FeedLink.objects.select_related("owner").get(pk=link_id))


def revoke_all_feed_links(owner_id: int) -> int:
    """Revokes every link of that person at once; returns how many."""
    live = list(FeedLink.objects.filter(owner_id=owner_id, revoked_at=None).values_list("pk", flat=True))
    for link_id in live:
        revoke_feed_link(link_id, owner_id=owner_id)
    return len(live)


def open_feed(secret: str, *, kind: str) -> OpenedFeed:
    """The feed that the secret opens. Raises NotFound if the secret is unknown, revoked, of another kind, or its
    owner's account is closed.
    """
    row = FeedLink.objects.select_related("owner").filter(digest=digest_of(secret), kind=kind, revoked_at=None).first()
    if row is None or not row.owner.is_active:
        raise NotFound("no such feed")
    now = timezone.now()
    if row.last_used_at is None or now - row.last_used_at > LAST_USED_INTERVAL:
        FeedLink.objects.filter(pk=row.pk).update(last_used_at=now)
    return OpenedFeed(row.owner, row.cluster_id)


def _record(verb: str, row: FeedLink) -> None:
    about = str(row.cluster_id) if row.cluster_id else "all"
    mark = token_mark(str(row.pk))
    record_audit_event(verb, row.name, mark=mark, owner=row.owner.get_username(), kind=row.kind, about=about)
