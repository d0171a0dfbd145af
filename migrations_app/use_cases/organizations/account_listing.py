"""Lists an AWS organization: its accounts, and their EKS clusters by region.

Nothing is changed in AWS. Every role is proven before it is used: a role that opens without the external id is reported
and not used (T20).
"""

import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import msgspec
from django.conf import settings

from migrations_app.clients.aws.client import open_aws
from migrations_app.clients.aws.cross_account import ClusterAccountAccess, OwnIdentity
from migrations_app.clients.aws.eks import eks_connection
from migrations_app.clients.aws.identity import prove_guarded
from migrations_app.clients.aws.organization import cluster_names, organization_accounts
from migrations_app.clients.aws.session import AwsSession
from migrations_app.errors import Conflict, InvalidInput, KarpdashError, ReadError, TimedOut
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.inventory.objects.organization import (
    ACTIVE,
    ListedAccount,
    ListedCluster,
    ListedRegion,
    OrganizationAccount,
    OrganizationListing,
)
from migrations_app.models.organization import AwsOrganization
from migrations_app.use_cases.organizations import queue
from migrations_app.use_cases.organizations.queue import ListingClaim
from migrations_app.use_cases.organizations.registration import hub_access, member_access

MAX_CONCURRENT_ACCOUNTS = 8
"""Number of accounts that are read concurrently."""
MAX_CLUSTERS = 5_000
NOT_ACTIVE = "account_not_active"


def current_listing(row: AwsOrganization) -> OrganizationListing:
    """The current listing.

    An account, region or cluster that cannot be read has the reason. Raises InvalidInput and ReadError if the hub role
    cannot be used: then there is no listing.
    """
    own = settings.ENV.aws
    ends = time.monotonic() + settings.ENV.scan_deadline
    hub = hub_access(row)
    prove_guarded(hub, own)
    accounts = organization_accounts(hub, own)
    with ThreadPoolExecutor(MAX_CONCURRENT_ACCOUNTS, thread_name_prefix="organization") as threads:
        read = threads.map(lambda account: _account(row, account, own=own, ends=ends), accounts)
        listing = OrganizationListing(accounts=tuple(sorted(read, key=lambda account: (account.name, account.id))))
    if len(listing.clusters) > MAX_CLUSTERS:
        raise InvalidInput(
            f"more than {MAX_CLUSTERS} clusters: register them in parts", code="too_many", where="regions"
        )
    return listing


def _account(row: AwsOrganization, account: OrganizationAccount, *, own: OwnIdentity, ends: float) -> ListedAccount:
    listed_account = ListedAccount(id=account.id, name=account.name)
    if account.state != ACTIVE:
        words = f"AWS says it is {account.state or 'in an unknown state'}"
        return msgspec.structs.replace(listed_account, code=NOT_ACTIVE, error=words)
    regions: Sequence[str] = row.regions
    if time.monotonic() >= ends:
        return msgspec.structs.replace(
            listed_account, code=TimedOut.code, error="the time limit of the discovery is over"
        )
    try:
        prove_guarded(member_access(row, account=account.id, region=regions[0]), own)
    except KarpdashError as wrong:
        return msgspec.structs.replace(listed_account, code=wrong.code, error=wrong.message)
    read = (_region(member_access(row, account=account.id, region=region), own=own, ends=ends) for region in regions)
    return msgspec.structs.replace(listed_account, regions=tuple(read))


def _region(entry: ClusterAccountAccess, *, own: OwnIdentity, ends: float) -> ListedRegion:
    try:
        if time.monotonic() >= ends:
            raise TimedOut("the time limit of the discovery is over")
        names = cluster_names(entry, own)
    except KarpdashError as wrong:
        return ListedRegion(region=entry.region, code=wrong.code, error=wrong.message)
    return ListedRegion(region=entry.region, clusters=tuple(_cluster(entry, name, own=own) for name in sorted(names)))


def _cluster(entry: ClusterAccountAccess, name: str, *, own: OwnIdentity) -> ListedCluster:
    """The cluster as AWS describes it, with the reason if it cannot be registered."""
    place = AwsPlace(region=entry.region, cluster=name, account=entry.account)
    cluster = ListedCluster(arn=place.arn, name=name, region=entry.region, account=entry.account)
    try:
        with closing(open_aws(AwsSession(entry, own), place)) as api:
            connection = eks_connection(api, entry)
    except KarpdashError as wrong:
        return msgspec.structs.replace(cluster, code=wrong.code, error=wrong.message)
    return msgspec.structs.replace(cluster, server=connection.server.url)


log = logging.getLogger(__name__)


def run_claimed_listing(claim: ListingClaim) -> None:
    """Reads the organization and stores the listing, or the reason why there is none. If another worker has taken over,
    nothing is stored.
    """
    row = AwsOrganization.objects.defer("listing").get(pk=claim.organization_id)
    try:
        try:
            listing = current_listing(row)
        except (ReadError, InvalidInput) as reason:
            queue.fail(claim, reason.code, words=reason.message)
        else:
            queue.store(claim, listing)
    except Conflict:
        log.warning("look was taken over", extra={"organization": str(claim.organization_id)})
