"""Registration of EKS clusters and bearer tokens for their API servers.

The endpoint and the CA come only from DescribeCluster (T21). A token is a presigned STS GetCallerIdentity request,
made in this process and never stored. It is valid for the one cluster whose name it contains, for up to 15 minutes
and for any holder, so the transport sends it only after the server was verified with that CA (T21).
"""

import base64
import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from migrations_app.clients.aws.client import AwsApi
from migrations_app.clients.aws.cross_account import AwsCredentials, ClusterAccountAccess
from migrations_app.clients.aws.session import AwsSession, Now, utc_now
from migrations_app.clients.kubernetes.connection import Connection, EksToken, parse_server
from migrations_app.clients.kubernetes.kubeconfig import certificates, decoded
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidInput
from migrations_app.iam.partitions import dns_suffix_of, partition_of
from migrations_app.inventory.objects.aws import EksCluster
from migrations_app.inventory.objects.cluster_arn import AwsPlace, read_place

REACHABLE = frozenset({"ACTIVE", "UPDATING"})


def eks_connection(api: AwsApi, entry: ClusterAccountAccess) -> Connection:
    """The connection to the API server of the cluster; its `eks` field says for which cluster and role tokens are
    made.

    Raises InvalidInput: `no_cluster`, `wrong_account`, `wrong_cluster`, `cluster_not_ready`, or the code for a bad
    endpoint or CA; ReadError if AWS does not answer.
    """
    caller = api.caller()
    place = api.place
    if place.account and caller.account != place.account:
        raise InvalidInput(
            f"these credentials are of account {caller.account}, the cluster is in {place.account}",
            code="wrong_account",
            where="account",
        )
    eks_cluster = api.cluster()
    if eks_cluster is None:
        raise InvalidInput(f"EKS has no cluster {place.cluster} in {place.region}", code="no_cluster", where="cluster")
    _check(eks_cluster, AwsPlace(region=place.region, cluster=place.cluster, account=caller.account))
    return Connection(
        server=parse_server(eks_cluster.endpoint, where="endpoint"),
        ca_pem=_ca(eks_cluster),
        context=eks_cluster.arn,
        eks=EksToken(eks_cluster.name, place.region, entry.role_arn, entry.external_id),
    )


def _check(eks_cluster: EksCluster, place: AwsPlace) -> None:
    if read_place(eks_cluster.arn) != place:
        raise InvalidInput(
            "AWS answered with another cluster than the requested one", code="wrong_cluster", where="cluster"
        )
    if eks_cluster.status not in REACHABLE:
        raise InvalidInput(
            f"the cluster is {eks_cluster.status or 'in an unknown state'}", code="cluster_not_ready", where="cluster"
        )


def _ca(eks_cluster: EksCluster) -> str:
    pem = decoded(eks_cluster.ca_data, where="certificateAuthority")
    certificates(pem, where="certificateAuthority")
    return pem


PREFIX = "k8s-aws-v1."
HEADER = "x-k8s-aws-id"
# EKS accepts a token for 15 minutes after signing, regardless of the URL's own expiry.
SIGNED_SECONDS = 60
RENEW_AFTER = timedelta(minutes=10)


def sts_host(region: str) -> str:
    """The regional STS host name."""
    return f"sts.{region}.{dns_suffix_of(partition_of(region))}"


def signed_token(keys: AwsCredentials, *, cluster: str, region: str) -> Secret:
    """A token for the EKS cluster of that name. Made locally, without a network call."""
    url = f"https://{sts_host(region)}/?Action=GetCallerIdentity&Version=2011-06-15"
    request = AWSRequest(method="GET", url=url, headers={HEADER: cluster})
    credentials = Credentials(keys.access_key_id, keys.secret.reveal(), keys.token.reveal() or None)
    signer = SigV4QueryAuth(credentials, "sts", region, expires=SIGNED_SECONDS)
    signer.add_auth(request)
    packed = base64.urlsafe_b64encode(str(request.url).encode()).decode().rstrip("=")
    return Secret(PREFIX + packed)


def token_source(session: AwsSession, *, cluster: str, now: Now = utc_now) -> Callable[[], Secret]:
    """A function that the transport calls before each request: it returns the same token for ten minutes, then a new
    one.

    The function raises ReadError if AWS refuses the session.
    """
    return _Tokens(session, cluster=cluster, now=now)


class _Tokens:
    def __init__(self, session: AwsSession, *, cluster: str, now: Now) -> None:
        self._session = session
        self._cluster = cluster
        self._now = now
        self._lock = threading.Lock()
        self._made: tuple[datetime, Secret] | None = None

    def __call__(self) -> Secret:
        with self._lock:
            moment = self._now()
            if self._made is None or not timedelta(0) <= moment - self._made[0] < RENEW_AFTER:
                token = signed_token(self._session.keys(), cluster=self._cluster, region=self._session.region)
                self._made = (moment, token)
            return self._made[1]
