"""Registers clusters from the listing of an AWS organization: all chosen ones or none."""

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from migrations_app.errors import Conflict, InvalidInput
from migrations_app.inventory.objects.organization import ListedCluster, OrganizationListing
from migrations_app.models.cluster import Cluster
from migrations_app.models.organization import AwsOrganization
from migrations_app.queries.organizations import listing_of
from migrations_app.use_cases.clusters.registration import Details, new_row, save_new
from migrations_app.use_cases.organizations.registration import member_role_arn, require_organization

LISTING_LIFETIME = timedelta(days=1)
"""How long after a listing its clusters can be registered, because the roles were proven at its time."""
MAX_CLUSTERS_PER_REQUEST = 500


def register_listed(
    organization_id: uuid.UUID, names: Mapping[str, str], *, details: Details
) -> Mapping[str, uuid.UUID]:
    """Registers the clusters of these ARNs under these names, and returns their ids by ARN.

    Environment, target and interval are those of `details`. Raises NotFound; InvalidInput for an ARN that is not listed
    or cannot be registered; Conflict `look_too_old`, `registered`, `name_taken`.
    """
    if not 1 <= len(names) <= MAX_CLUSTERS_PER_REQUEST:
        raise InvalidInput(f"1 to {MAX_CLUSTERS_PER_REQUEST} clusters are needed", where="clusters")
    with transaction.atomic():
        row = require_organization(organization_id, locked=True)
        listing = listing_of(row)
        if listing is None or row.listed_at is None or row.listed_at < timezone.now() - LISTING_LIFETIME:
            raise Conflict("the list is older than a day: discover the organization again first", code="look_too_old")
        chosen = _chosen(listing, tuple(names))
        return {
            cluster.arn: _registered(row, cluster, details=replace(details, name=names[cluster.arn]))
            for cluster in chosen
        }


def _chosen(listing: OrganizationListing, arns: Sequence[str]) -> tuple[ListedCluster, ...]:
    by_arn = {cluster.arn: cluster for cluster in listing.clusters}
    for arn in arns:
        if arn not in by_arn:
            raise InvalidInput(f"{arn} is not in the list", where="clusters", code="not_listed")
        if by_arn[arn].code:
            raise InvalidInput(f"{arn}: {by_arn[arn].error}", where="clusters", code=by_arn[arn].code)
    known = set(Cluster.objects.filter(eks_arn__in=arns).values_list("eks_arn", flat=True))
    if known:
        raise Conflict(f"already registered: {', '.join(sorted(known))}", code="registered")
    return tuple(by_arn[arn] for arn in arns)


def _registered(row: AwsOrganization, cluster: ListedCluster, *, details: Details) -> uuid.UUID:
    cluster_row = new_row(details, source=Cluster.Source.EKS)
    cluster_row.server, cluster_row.eks_arn = cluster.server, cluster.arn
    cluster_row.role_arn, cluster_row.organization = member_role_arn(row, cluster.account), row
    return save_new(cluster_row, None)
