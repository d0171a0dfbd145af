"""Compares an organization's list with the registered clusters: which are new, gone, or were not read. Pure."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from migrations_app.inventory.objects.cluster_arn import read_place
from migrations_app.inventory.objects.organization import ListedCluster, OrganizationListing

MAX_NAME_LENGTH = 60
"""Most characters of the cluster's name in a name with account and region."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrganizationDrift:
    """`new` are clusters that nobody registered; `gone` are ARNs of registered clusters that AWS no longer lists.

    `unread` are ARNs of registered clusters whose account or region was not read: nothing is known about them.
    """

    new: tuple[ListedCluster, ...] = ()
    gone: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def drift_of(listing: OrganizationListing, *, known: Collection[str], own: Collection[str]) -> OrganizationDrift:
    """`known` are the ARNs of all registered clusters, `own` those of clusters registered with this organization."""
    listed = {cluster.arn for cluster in listing.clusters}
    read = {
        (account.id, region.region) for account in listing.accounts for region in account.regions if not region.code
    }
    missing = [arn for arn in sorted(own) if arn not in listed]
    return OrganizationDrift(
        new=tuple(cluster for cluster in listing.clusters if cluster.arn not in known),
        gone=tuple(arn for arn in missing if _place(arn) in read),
        unread=tuple(arn for arn in missing if _place(arn) not in read),
    )


def _place(arn: str) -> tuple[str, str]:
    place = read_place(arn)
    return place.account, place.region


def names_for(clusters: Collection[ListedCluster], *, taken: Collection[str]) -> Mapping[str, str]:
    """A name for each cluster, by ARN: the cluster's name, with account and region where it would not be unique."""
    count = Counter(cluster.name for cluster in clusters)
    return {
        cluster.arn: cluster.name if count[cluster.name] == 1 and cluster.name not in taken else _long(cluster)
        for cluster in clusters
    }


def _long(cluster: ListedCluster) -> str:
    return f"{cluster.name[:MAX_NAME_LENGTH]} {cluster.account} {cluster.region}"
