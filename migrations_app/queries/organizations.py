"""Registered AWS organizations: what their newest listing found, and which of these clusters are registered."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec
from django.db.models import Count, QuerySet

from migrations_app.errors import NotFound
from migrations_app.inventory.aws_facts.organization_drift import OrganizationDrift, drift_of, names_for
from migrations_app.inventory.objects.cluster_arn import read_role_arn
from migrations_app.inventory.objects.organization import ListedAccount, ListedCluster, OrganizationListing
from migrations_app.models.cluster import Cluster
from migrations_app.models.organization import AwsOrganization
from migrations_app.queries.pagination import Page, encode, keys_of, page_of


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationRow:
    """One organization. `looking` is True while a listing is queued or running; `clusters` counts its registered
    clusters.
    """

    id: uuid.UUID
    name: str
    hub_role_arn: str
    member_role: str
    regions: tuple[str, ...]
    external_id: str
    looking: bool
    tried_at: datetime | None
    listed_at: datetime | None
    error_code: str
    error: str
    clusters: int

    @property
    def hub_account(self) -> str:
        """The AWS account of the hub role."""
        role_arn = read_role_arn(self.hub_role_arn)
        return role_arn.account if role_arn else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationCluster:
    """A cluster of the listing. `cluster_id` is its registration, if there is one; `suggested` is a free name
    for it.
    """

    listed: ListedCluster
    account_name: str
    cluster_id: uuid.UUID | None
    suggested: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationDetail:
    """One organization with its listing; `accounts` and `clusters` are empty before the first listing."""

    row: OrganizationRow
    accounts: tuple[ListedAccount, ...]
    clusters: tuple[OrganizationCluster, ...]
    drift: OrganizationDrift

    @property
    def unread(self) -> tuple[ListedAccount, ...]:
        """Accounts that could not be read completely."""
        return tuple(
            account for account in self.accounts if account.code or any(region.code for region in account.regions)
        )


def organization_page(*, after: str = "", limit: int = 100) -> Page[OrganizationRow]:
    """One page of organizations, by name."""
    keys = keys_of(after, (str,))
    rows = _rows().filter(name__gt=keys[0]) if keys else _rows()
    organizations = list(rows.order_by("name")[: limit + 1])
    return page_of(organizations, limit=limit, row=_row, key=lambda row: encode((row.name,)))


def organization_detail(organization_id: uuid.UUID) -> OrganizationDetail:
    """One organization. Raises NotFound."""
    organization = _rows(with_listing=True).filter(pk=organization_id).first()
    if organization is None:
        raise NotFound("no such organization")
    listing = listing_of(organization) or OrganizationListing()
    known = dict(Cluster.objects.exclude(eks_arn="").values_list("eks_arn", "pk"))
    own = set(Cluster.objects.filter(organization=organization).values_list("eks_arn", flat=True))
    drift = drift_of(listing, known=known.keys(), own=own) if organization.listing is not None else OrganizationDrift()
    names = names_for(drift.new, taken=set(Cluster.objects.values_list("name", flat=True)))
    return OrganizationDetail(
        row=_row(organization),
        accounts=listing.accounts,
        clusters=_clusters(listing, known=known, names=names),
        drift=drift,
    )


def organization_cluster_page(
    organization_id: uuid.UUID, *, after: str = "", limit: int = 100
) -> Page[OrganizationCluster]:
    """One page of the listed clusters, by ARN. Raises NotFound."""
    keys = keys_of(after, (str,))
    clusters = [
        cluster
        for cluster in organization_detail(organization_id).clusters
        if not keys or cluster.listed.arn > str(keys[0])
    ]
    return page_of(
        clusters[: limit + 1],
        limit=limit,
        row=lambda cluster: cluster,
        key=lambda cluster: encode((cluster.listed.arn,)),
    )


def listing_of(row: AwsOrganization) -> OrganizationListing | None:
    """The result of the newest listing; None before the first."""
    return None if row.listing is None else msgspec.convert(row.listing, OrganizationListing)


def _clusters(
    listing: OrganizationListing, *, known: Mapping[str, uuid.UUID], names: Mapping[str, str]
) -> tuple[OrganizationCluster, ...]:
    clusters = (
        OrganizationCluster(
            listed=cluster,
            account_name=account.name,
            cluster_id=known.get(cluster.arn),
            suggested=names.get(cluster.arn, ""),
        )
        for account in listing.accounts
        for region in account.regions
        for cluster in region.clusters
    )
    return tuple(sorted(clusters, key=lambda cluster: cluster.listed.arn))


def _rows(*, with_listing: bool = False) -> QuerySet[AwsOrganization]:
    rows = AwsOrganization.objects.annotate(registered=Count("clusters"))
    return rows if with_listing else rows.defer("listing")


def _row(row: AwsOrganization) -> OrganizationRow:
    return OrganizationRow(
        id=row.pk,
        name=row.name,
        hub_role_arn=row.hub_role_arn,
        member_role=row.member_role,
        regions=tuple(row.regions),
        external_id=row.external_id,
        looking=row.state != AwsOrganization.State.IDLE,
        tried_at=row.tried_at,
        listed_at=row.listed_at,
        error_code=row.error_code,
        error=row.error,
        clusters=row.registered,  # type: ignore[attr-defined]  # the annotation
    )
