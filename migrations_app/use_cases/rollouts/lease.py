"""One lease per cluster, the right of one worker to change it. Taken by compare-and-set, with a growing fencing token
(A13).
"""

import uuid
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now

from migrations_app.execution.interface import LeaseLost
from migrations_app.models.rollout import Lease

TTL = timedelta(seconds=60)
RENEW_SECONDS = 15


@dataclass(frozen=True, slots=True)
class LeaseToken:
    """Fencing token: every write carries it, and is refused once a newer token exists."""

    cluster_id: uuid.UUID
    holder: str
    token: int


def acquire(cluster_id: uuid.UUID, holder: str) -> LeaseToken | None:
    """Takes the lease with a new token; None while another worker holds it. Uses the database's clock."""
    Lease.objects.bulk_create([Lease(cluster_id=cluster_id)], ignore_conflicts=True)
    free = Q(holder="") | Q(expires_at__lt=Now()) | Q(expires_at=None)
    changed = Lease.objects.filter(free, cluster_id=cluster_id).update(
        holder=holder, token=F("token") + 1, expires_at=Now() + TTL
    )
    if not changed:
        return None
    row = Lease.objects.get(cluster_id=cluster_id)
    return LeaseToken(cluster_id, holder, row.token) if row.holder == holder else None


def renew(lease_token: LeaseToken) -> bool:
    """Renews the lease. False once it expired or was taken over."""
    return bool(_held(lease_token).filter(expires_at__gt=Now()).update(expires_at=Now() + TTL))


def release(lease_token: LeaseToken) -> None:
    """Releases the lease; does nothing if it is lost."""
    _held(lease_token).update(holder="", expires_at=None)


def check(lease_token: LeaseToken) -> None:
    """Raises LeaseLost unless the token is still valid. Inside a transaction it locks the row until the end."""
    if not _held(lease_token).filter(expires_at__gt=Now()).select_for_update().exists():
        raise LeaseLost("another worker took over")


def check_untaken(lease_token: LeaseToken) -> None:
    """Raises LeaseLost once another worker has the lease. An expired lease that nobody took is accepted."""
    if not _held(lease_token).select_for_update().exists():
        raise LeaseLost("another worker took over")


def is_valid_for(lease_token: LeaseToken, seconds: float) -> bool:
    """Whether the lease stays valid for that many seconds; a request is only begun if it does (A20)."""
    return _held(lease_token).filter(expires_at__gt=Now() + timedelta(seconds=seconds)).exists()


def _held(lease_token: LeaseToken) -> QuerySet[Lease]:
    return Lease.objects.filter(cluster_id=lease_token.cluster_id, holder=lease_token.holder, token=lease_token.token)
