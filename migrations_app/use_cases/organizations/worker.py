"""Runs one claimed look at an AWS organization from start to end."""

import logging

from migrations_app.errors import Conflict, InvalidInput, ReadError
from migrations_app.models.organization import AwsOrganization
from migrations_app.use_cases.organizations import queue
from migrations_app.use_cases.organizations.look import look_at
from migrations_app.use_cases.organizations.queue import LookClaim

log = logging.getLogger(__name__)


def look_claimed(claim: LookClaim) -> None:
    """Reads the organization and stores the list, or why there is none. A look that was taken over stores nothing."""
    row = AwsOrganization.objects.defer("listing").get(pk=claim.organization_id)
    try:
        try:
            listing = look_at(row)
        except (ReadError, InvalidInput) as reason:
            queue.fail(claim, reason.code, words=reason.message)
        else:
            queue.store(claim, listing)
    except Conflict:
        log.warning("look was taken over", extra={"organization": str(claim.organization_id)})
