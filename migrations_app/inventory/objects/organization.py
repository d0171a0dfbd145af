"""The result of reading an AWS organization: its accounts, and their EKS clusters by region."""

import msgspec

ACTIVE = "ACTIVE"


class OrganizationAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An account as ListAccounts returns it."""

    id: str
    name: str
    state: str


class ListedCluster(msgspec.Struct, frozen=True, kw_only=True):
    """One EKS cluster. `server` is its endpoint; `code` is the reason why it cannot be registered, empty if it can."""

    arn: str
    name: str
    region: str
    account: str
    server: str = ""
    code: str = ""
    error: str = ""


class ListedRegion(msgspec.Struct, frozen=True, kw_only=True):
    """One region of one account. With a `code` it was not read, and its empty `clusters` prove nothing."""

    region: str
    clusters: tuple[ListedCluster, ...] = ()
    code: str = ""
    error: str = ""


class ListedAccount(msgspec.Struct, frozen=True, kw_only=True):
    """One account. With a `code` none of its regions was read."""

    id: str
    name: str
    regions: tuple[ListedRegion, ...] = ()
    code: str = ""
    error: str = ""


class OrganizationListing(msgspec.Struct, frozen=True, kw_only=True):
    """The whole organization, by account."""

    accounts: tuple[ListedAccount, ...] = ()

    @property
    def clusters(self) -> tuple[ListedCluster, ...]:
        """All clusters that were found."""
        return tuple(cluster for account in self.accounts for region in account.regions for cluster in region.clusters)
