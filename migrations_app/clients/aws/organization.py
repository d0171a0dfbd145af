"""Lists the accounts of an AWS organization, and the EKS clusters of one account and region."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from migrations_app.clients.aws.calls import AwsCalls
from migrations_app.clients.aws.cross_account import DEFAULT, AwsLimits, ClusterAccountAccess, OwnIdentity
from migrations_app.clients.aws.permissions import LIST_ACCOUNTS, LIST_CLUSTERS
from migrations_app.clients.aws.session import AwsSession
from migrations_app.clients.secret import clean
from migrations_app.inventory.objects.organization import OrganizationAccount

LONGEST_NAME = 50
"""The longest name of an account."""


def organization_accounts(
    hub: ClusterAccountAccess, own: OwnIdentity, *, limits: AwsLimits = DEFAULT
) -> tuple[OrganizationAccount, ...]:
    """Every account, whatever its state. `hub` is the access to the hub role. Raises ReadError, InvalidInput."""
    with _calls(hub, own, limits=limits) as calls:
        accounts = calls.pages(LIST_ACCOUNTS, lambda page: [_account(account) for account in page["Accounts"]])
        return tuple(accounts)


def cluster_names(member: ClusterAccountAccess, own: OwnIdentity, *, limits: AwsLimits = DEFAULT) -> tuple[str, ...]:
    """The names of the EKS clusters in the account and region of that access. Raises ReadError, InvalidInput."""
    with _calls(member, own, limits=limits) as calls:
        return tuple(calls.pages(LIST_CLUSTERS, lambda page: [str(name) for name in page["clusters"]]))


@contextmanager
def _calls(entry: ClusterAccountAccess, own: OwnIdentity, *, limits: AwsLimits) -> Iterator[AwsCalls]:
    with closing(AwsCalls(AwsSession(entry, own, limits=limits), limits)) as calls:
        yield calls


def _account(document: dict[str, str]) -> OrganizationAccount:
    # State replaces Status, which AWS announced to take away; either may be missing.
    state = document.get("State") or document.get("Status") or ""
    return OrganizationAccount(
        id=str(document["Id"]), name=clean(str(document.get("Name", "")))[:LONGEST_NAME], state=state
    )
