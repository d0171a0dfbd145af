"""Opens clients for a registered cluster: decrypts its credentials, connects to API server, bundle, sample or AWS."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from django.conf import settings

from migrations_app.clients.addresses import OutboundPolicy, internal_endpoints
from migrations_app.clients.aws.client import AwsApi, open_aws
from migrations_app.clients.aws.cross_account import ClusterAccountAccess
from migrations_app.clients.aws.eks import eks_connection, token_source
from migrations_app.clients.aws.session import AwsSession
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.clients.kubernetes.api import ClusterApi, Writer
from migrations_app.clients.kubernetes.connection import Connection
from migrations_app.clients.kubernetes.kubeconfig import in_cluster, read_kubeconfig
from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.clients.kubernetes.reader import open_live
from migrations_app.clients.kubernetes.round_tripper import RoundTripper
from migrations_app.clients.kubernetes.transport import TokenSource, Transport
from migrations_app.clients.kubernetes.writer import open_writer
from migrations_app.errors import InvalidInput
from migrations_app.inventory.objects.cluster_arn import AwsPlace, read_place
from migrations_app.models.cluster import Cluster
from migrations_app.samples import fleet
from migrations_app.samples.story import Story
from migrations_app.use_cases.runtime.agent_connections import agent_connection
from migrations_app.use_cases.runtime.counters import add_requests
from migrations_app.use_cases.runtime.encryption import EncryptionKeys
from migrations_app.use_cases.twins.ports import SampleWriter, account_of, open_reader

FIELD = "credentials"


@contextmanager
def connect(cluster: Cluster, *, user: str = "", within: ClientLimits | None = None) -> Iterator[ClusterApi]:
    """Opens a read client and closes it at the end; its requests are counted. `within` replaces the limits of a scan.

    Raises ReadError, InvalidInput or InvalidSetting.
    """
    with _open(cluster, user=user, within=within or limits()) as api:
        try:
            yield api
        finally:
            add_requests(cluster.pk, api.clock().calls)


@contextmanager
def _open(cluster: Cluster, *, user: str, within: ClientLimits) -> Iterator[ClusterApi]:
    if cluster.source == Cluster.Source.TWIN:
        yield open_reader(cluster.pk)
        return
    if cluster.source == Cluster.Source.EKS:
        with _connect_eks(cluster, user=user, within=within) as api:
            yield api
        return
    with closing(_opened(cluster, within)) as api:
        yield api


@contextmanager
def connect_writer(cluster: Cluster, *, user: str = "", within: ClientLimits | None = None) -> Iterator[Writer]:
    """Opens a client that can change the cluster, and closes it at the end.

    `user` appears in CloudTrail (T20); `within` replaces the limits of a scan. Raises ReadError, InvalidSetting, and
    InvalidInput (code `read_only`) for a bundle, a sample, or an agent that only reads.
    """
    if cluster.source in (Cluster.Source.SAMPLE, Cluster.Source.BUNDLE):
        raise InvalidInput("a bundle or a sample is read-only", where=cluster.name, code="read_only")
    if cluster.source == Cluster.Source.TWIN:
        yield SampleWriter(cluster.pk)
        return
    with (
        _connection_of(cluster, user=user, acting=True) as (connection, token, round_tripper),
        closing(
            open_writer(
                connection, reach=network_policy(), limits=within or limits(), token=token, round_tripper=round_tripper
            )
        ) as writer,
    ):
        try:
            yield writer
        finally:
            add_requests(cluster.pk, writer.calls())


@contextmanager
def connect_transport(cluster: Cluster, *, user: str, within: ClientLimits, purpose: str) -> Iterator[Transport]:
    """Opens a transport for a relay, and closes it at the end; its requests are counted. Raises as `connect_writer`. An
    agent forwards what its roles for helm allow, in the namespace that it was installed for.
    """
    with (
        _connection_of(cluster, user=user, acting=True) as (connection, token, round_tripper),
        closing(
            Transport(
                connection,
                reach=network_policy(),
                limits=within,
                token=token,
                purpose=purpose,
                round_tripper=round_tripper,
            )
        ) as transport,
    ):
        try:
            yield transport
        finally:
            add_requests(cluster.pk, dict(transport.meter.calls))


@contextmanager
def _connection_of(
    cluster: Cluster, *, user: str, acting: bool
) -> Iterator[tuple[Connection, TokenSource | None, RoundTripper | None]]:
    """The server, with a token source or a round tripper if it needs one. Raises as `connect_writer`."""
    if cluster.source == Cluster.Source.EKS:
        with connect_to_eks(_entry(cluster, user=user, action="act"), read_place(cluster.eks_arn)) as (
            connection,
            token,
        ):
            yield connection, token, None
    elif cluster.source == Cluster.Source.IN_CLUSTER:
        yield in_cluster(), None, None
    elif cluster.source == Cluster.Source.AGENT:
        agent = agent_connection(cluster, keys=keys())
        if acting and not agent.acts:
            words = "its agent was installed to read only"
            raise InvalidInput(words, where=cluster.name, code="read_only")
        yield agent.connection, None, agent.round_tripper
    else:
        yield read_kubeconfig(unsealed(cluster), context=cluster.context), None, None


def _entry(cluster: Cluster, *, user: str, action: str) -> ClusterAccountAccess:
    entry = entry_of(cluster, user=user, action=action)
    if entry is None:
        raise InvalidInput(
            "this EKS cluster has no access to its AWS account", where=cluster.name, code="no_aws_access"
        )
    return entry


@contextmanager
def connect_aws(cluster: Cluster, *, user: str = "", action: str = "scan") -> Iterator[AwsApi | None]:
    """Opens the AWS account of a cluster and closes it at the end; None if the cluster has no role to assume.

    Nothing is sent before the first call: if the role cannot be assumed, that call raises ReadError.
    """
    if cluster.source == Cluster.Source.SAMPLE:
        yield fleet.aws(_story(cluster.context))
        return
    if cluster.source == Cluster.Source.TWIN:
        yield account_of(cluster.pk)
        return
    entry = entry_of(cluster, user=user, action=action)
    if entry is None:
        yield None
        return
    with closing(open_aws(AwsSession(entry, settings.ENV.aws), read_place(cluster.eks_arn))) as api:
        yield api


def entry_of(cluster: Cluster, *, user: str = "", action: str = "scan") -> ClusterAccountAccess | None:
    """The role to assume in the cluster's account; None if it has none. CloudTrail shows `user` and `action` (T20)."""
    organization = cluster.organization
    external_id = organization.external_id if organization else cluster.external_id
    if not (cluster.eks_arn and cluster.role_arn and external_id):
        return None
    place = read_place(cluster.eks_arn)
    return ClusterAccountAccess(
        region=place.region,
        account=place.account,
        role_arn=cluster.role_arn,
        external_id=external_id,
        via=organization.hub_role_arn if organization else "",
        user=user,
        action=action,
    )


@contextmanager
def connect_to_eks(entry: ClusterAccountAccess, place: AwsPlace) -> Iterator[tuple[Connection, TokenSource]]:
    """Yields the connection to an EKS cluster's API server, as AWS describes it, and a token source for it (T21).

    Raises ReadError if AWS does not answer, InvalidInput if its answer cannot be used.
    """
    session = AwsSession(entry, settings.ENV.aws)
    with closing(open_aws(session, place)) as api:
        yield eks_connection(api, entry), token_source(session, cluster=place.cluster)


def keys() -> EncryptionKeys:
    return EncryptionKeys(settings.ENV.encryption_keys)


def network_policy() -> OutboundPolicy:
    """The addresses that this installation may connect to (K05): never those of its own database and broker."""
    env = settings.ENV
    return OutboundPolicy(
        allow_loopback=env.allow_loopback,
        allow_private=env.allow_private,
        allowed=env.allowed_networks,
        own=internal_endpoints(env.database, env.broker_url),
    )


def limits() -> ClientLimits:
    return ClientLimits(scan_seconds=float(settings.ENV.scan_deadline))


@contextmanager
def _connect_eks(cluster: Cluster, *, user: str, within: ClientLimits) -> Iterator[ClusterApi]:
    with (
        connect_to_eks(_entry(cluster, user=user, action="scan"), read_place(cluster.eks_arn)) as (connection, token),
        closing(open_live(connection, reach=network_policy(), limits=within, token=token)) as api,
    ):
        yield api


def _opened(cluster: Cluster, within: ClientLimits) -> ClusterApi:
    if cluster.source == Cluster.Source.SAMPLE:
        return open_bundle(_sample_files(cluster.context))
    if cluster.source == Cluster.Source.BUNDLE:
        return open_bundle(unsealed(cluster))
    if cluster.source == Cluster.Source.IN_CLUSTER:
        return open_live(in_cluster(), reach=network_policy(), limits=within)
    if cluster.source == Cluster.Source.AGENT:
        agent = agent_connection(cluster, keys=keys())
        return open_live(agent.connection, reach=network_policy(), limits=within, round_tripper=agent.round_tripper)
    connection = read_kubeconfig(unsealed(cluster), context=cluster.context)
    return open_live(connection, reach=network_policy(), limits=within)


def unsealed(cluster: Cluster) -> bytes:
    if cluster.sealed is None:
        raise InvalidInput("this cluster has no stored credentials", where=cluster.name)
    return keys().open(bytes(cluster.sealed), owner=str(cluster.pk), field=FIELD)


def _sample_files(name: str) -> dict[str, bytes]:
    return dict(fleet.files(_story(name)))


def _story(name: str) -> Story:
    story = fleet.find(name)
    if story is None:
        raise InvalidInput(f"there is no sample {name!r}")
    return story
