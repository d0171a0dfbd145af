"""The queue of listings of organizations: requests, claims with leases and fencing tokens, lost workers."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

import msgspec
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone

from migrations_app.errors import Conflict
from migrations_app.inventory.objects.organization import OrganizationListing
from migrations_app.models.organization import AwsOrganization
from migrations_app.use_cases.audit.log import WORKER, Event, record, record_audit_event
from migrations_app.use_cases.organizations.registration import require_organization

MAX_ATTEMPTS = 2
LISTING_INTERVAL = timedelta(days=1)
"""How often an organization that was listed once is listed again, so that new and removed clusters are shown."""
SCHEDULE = "schedule"
IDLE, QUEUED, RUNNING = AwsOrganization.State.IDLE, AwsOrganization.State.QUEUED, AwsOrganization.State.RUNNING
# By the database's clock, so that workers with different clocks agree (R18).
ABANDONED = Q(state=RUNNING, lease_until__lt=Now())


@dataclass(frozen=True, slots=True)
class ListingClaim:
    organization_id: uuid.UUID
    fence: int


def request_listing(organization_id: uuid.UUID, *, by: str) -> bool:
    """Enqueues a listing; False if one is queued or running. Raises NotFound."""
    row = require_organization(organization_id)
    with transaction.atomic():
        is_new = _enqueue(AwsOrganization.objects.filter(pk=organization_id, state=IDLE), by=by)
        if is_new:
            record_audit_event("organization.look_requested", row.name, organization=str(row.pk))
    return is_new


def claim(organization_id: uuid.UUID) -> ListingClaim | None:
    """Claims a queued listing, or one whose worker was lost; None if it is claimed or there is none."""
    free = Q(state=QUEUED) | ABANDONED
    # The attempt is counted before the work, so that work that crashes its worker each time ends (R36).
    changed = AwsOrganization.objects.filter(free, pk=organization_id, attempts__lt=MAX_ATTEMPTS).update(
        state=RUNNING, lease_until=Now() + _lease(), attempts=F("attempts") + 1, fence=F("fence") + 1
    )
    if not changed:
        return None
    return ListingClaim(
        organization_id, AwsOrganization.objects.values_list("fence", flat=True).get(pk=organization_id)
    )


def store(listing_claim: ListingClaim, listing: OrganizationListing) -> None:
    """Ends the claim with this listing. Raises Conflict if another worker took it over."""
    now = timezone.now()
    columns = {"listing": msgspec.to_builtins(listing), "listed_at": now, "error_code": "", "error": ""}
    _end(listing_claim, outcome="listed", columns=columns)


def fail(listing_claim: ListingClaim, code: str, *, words: str) -> None:
    """Ends the claim without a result; the earlier listing stays, with its time. Raises Conflict if it was
    taken over.
    """
    _end(listing_claim, outcome=code, columns={"error_code": code[:60], "error": words[:2000]})


def requeue(listing_claim: ListingClaim) -> bool:
    """Returns the listing to the queue without counting the attempt (R28). False if it was taken over or has ended."""
    return bool(_row_of(listing_claim).update(state=QUEUED, lease_until=None, attempts=F("attempts") - 1))


def crashed(listing_claim: ListingClaim, kind: str) -> None:
    """Fails a listing whose code raised. `kind` is the exception's type; its text may hold data and is only logged."""
    fail(listing_claim, "look_crashed", words=f"{kind} in the discovery; see the worker's log")


def listings_to_enqueue() -> tuple[uuid.UUID, ...]:
    """The organizations whose listing is to be enqueued: due ones, and those whose message or worker was lost. Fails
    those without attempts left.
    """
    for row in AwsOrganization.objects.filter(ABANDONED, attempts__gte=MAX_ATTEMPTS).defer("listing"):
        fail(
            ListingClaim(row.pk, row.fence),
            "worker_lost",
            words=f"the worker ended during the discovery, {MAX_ATTEMPTS} times",
        )
    now = timezone.now()
    _enqueue(
        AwsOrganization.objects.filter(state=IDLE, listed_at__isnull=False, tried_at__lt=now - LISTING_INTERVAL),
        by=SCHEDULE,
    )
    earlier = now - timedelta(seconds=settings.ENV.sweep_interval)
    waiting = Q(state=QUEUED, requested_at__lt=earlier) | Q(state=QUEUED, requested_by=SCHEDULE)
    rows = AwsOrganization.objects.filter(ABANDONED | waiting, attempts__lt=MAX_ATTEMPTS)
    return tuple(rows.values_list("pk", flat=True))


def _enqueue(rows: QuerySet[AwsOrganization], *, by: str) -> bool:
    return bool(rows.update(state=QUEUED, requested_at=timezone.now(), requested_by=by, attempts=0))


def _row_of(listing_claim: ListingClaim) -> QuerySet[AwsOrganization]:
    return AwsOrganization.objects.filter(pk=listing_claim.organization_id, state=RUNNING, fence=listing_claim.fence)


def _end(listing_claim: ListingClaim, *, outcome: str, columns: Mapping[str, object]) -> None:
    with transaction.atomic():
        if not _row_of(listing_claim).update(state=IDLE, lease_until=None, tried_at=timezone.now(), **columns):
            raise Conflict("another worker took over the discovery", code="lease_lost")
        row = AwsOrganization.objects.defer("listing").get(pk=listing_claim.organization_id)
        detail = {"organization": str(row.pk), "requested_by": row.requested_by}
        record(Event(verb="organization.looked_at", actor=WORKER, object=row.name, outcome=outcome, detail=detail))


def _lease() -> timedelta:
    """The time of a lease: as long as a task may last, so it is never renewed."""
    return timedelta(seconds=settings.ENV.scan_deadline + 60)
