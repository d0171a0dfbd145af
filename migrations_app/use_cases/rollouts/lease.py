"""Which worker may change a cluster: a row each, taken by compare-and-set, with a token that only grows (A13)."""

import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from migrations_app.errors import Conflict
from migrations_app.models.rollout import Lease

TTL = timedelta(seconds=60)
RENEW_SECONDS = 15


class LeaseLost(Conflict):
    """Another worker took the lease over: whoever held it writes nothing more (A14)."""

    code = "lease_lost"


@dataclass(frozen=True, slots=True)
class LeaseToken:
    """What a holder shows with every write: the token of its time."""

    cluster_id: uuid.UUID
    holder: str
    token: int


def take(cluster_id: uuid.UUID, holder: str) -> LeaseToken | None:
    """The lease with a new token; None while somebody else holds it. Time is the database's."""
    Lease.objects.bulk_create([Lease(cluster_id=cluster_id)], ignore_conflicts=True)
    free = Q(holder="") | Q(expires_at__lt=Now()) | Q(expires_at=None)
    taken = Lease.objects.filter(free, cluster_id=cluster_id).update(
        holder=holder, token=F("token") + 1, expires_at=Now() + TTL
    )
    if not taken:
        return None
    row = Lease.objects.get(cluster_id=cluster_id)
    return LeaseToken(cluster_id, holder, row.token) if row.holder == holder else None


def renew(fence: LeaseToken) -> bool:
    """Prolongs it; False when it is lost, even if nobody has taken it since it ran out."""
    return bool(_held(fence).filter(expires_at__gt=Now()).update(expires_at=Now() + TTL))


def release(fence: LeaseToken) -> None:
    """Gives it back at once; harmless when it is lost."""
    _held(fence).update(holder="", expires_at=None)


def check(fence: LeaseToken) -> None:
    """Raises Lost unless the fence still holds; in a transaction it keeps the row until its end."""
    if not _held(fence).filter(expires_at__gt=Now()).select_for_update().exists():
        raise LeaseLost("another worker took over")


def check_untaken(fence: LeaseToken) -> None:
    """Raises Lost once another worker has it; a lease that only ran out is still the last one's to tidy up."""
    if not _held(fence).select_for_update().exists():
        raise LeaseLost("another worker took over")


def lasts(fence: LeaseToken, seconds: float) -> bool:
    """Whether the lease lives that much longer: a request is only begun when it does (A20)."""
    return _held(fence).filter(expires_at__gt=Now() + timedelta(seconds=seconds)).exists()


def _held(fence: LeaseToken) -> QuerySet[Lease]:
    return Lease.objects.filter(cluster_id=fence.cluster_id, holder=fence.holder, token=fence.token)
