"""Registration of an EKS cluster: its endpoint and CA come from DescribeCluster and from nowhere else (T21)."""

from migrations_app.clients.aws_access import Entry
from migrations_app.clients.aws_port import AwsApi
from migrations_app.clients.connection import Connection, EksToken
from migrations_app.clients.pem import certificates, decoded
from migrations_app.clients.server_url import parse_server
from migrations_app.errors import BadInput
from migrations_app.inventory.aws import EksCluster
from migrations_app.inventory.aws_place import AwsPlace, read_place

REACHABLE = frozenset({"ACTIVE", "UPDATING"})


def eks_connection(api: AwsApi, entry: Entry) -> Connection:
    """How to reach the API server of the api's cluster; its `eks` says for what and as whom tokens are made.

    Raises BadInput: `no_cluster`, `wrong_account`, `wrong_cluster`, `cluster_not_ready`, or what is wrong with the
    endpoint or the CA; CouldNotLook when AWS does not answer.
    """
    caller = api.caller()
    place = api.place
    if place.account and caller.account != place.account:
        raise BadInput(
            f"these credentials are of account {caller.account}, the cluster is in {place.account}",
            code="wrong_account",
            where="account",
        )
    found = api.cluster()
    if found is None:
        raise BadInput(f"EKS has no cluster {place.cluster} in {place.region}", code="no_cluster", where="cluster")
    _check(found, AwsPlace(region=place.region, cluster=place.cluster, account=caller.account))
    return Connection(
        server=parse_server(found.endpoint, where="endpoint"),
        ca_pem=_ca(found),
        context=found.arn,
        eks=EksToken(found.name, place.region, entry.role_arn, entry.external_id),
    )


def _check(found: EksCluster, wanted: AwsPlace) -> None:
    if read_place(found.arn) != wanted:
        raise BadInput("AWS answered with another cluster than was asked for", code="wrong_cluster", where="cluster")
    if found.status not in REACHABLE:
        raise BadInput(
            f"the cluster is {found.status or 'in no known state'}", code="cluster_not_ready", where="cluster"
        )


def _ca(found: EksCluster) -> str:
    pem = decoded(found.ca_data, where="certificateAuthority")
    certificates(pem, where="certificateAuthority")
    return pem
