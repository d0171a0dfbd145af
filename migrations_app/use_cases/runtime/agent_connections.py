"""The connection to a cluster through its agent."""

from dataclasses import dataclass

from django.conf import settings

from migrations_app.clients.agents.agent_round_tripper import LOST, AgentRoundTripper
from migrations_app.clients.agents.call_rules import CARRIED
from migrations_app.clients.agents.mailbox import AgentMailbox
from migrations_app.clients.kubernetes.connection import Connection, parse_server
from migrations_app.errors import InvalidInput, Unreachable
from migrations_app.models.cluster import Cluster, ClusterAgent
from migrations_app.use_cases.runtime.encryption import EncryptionKeys


@dataclass(frozen=True, slots=True)
class AgentConnection:
    """The server as the agent reports it, and how requests reach it. `acts`: the agent may change the cluster."""

    connection: Connection
    round_tripper: AgentRoundTripper
    acts: bool


def agent_connection(cluster: Cluster, *, keys: EncryptionKeys) -> AgentConnection:
    """The connection through the agent.

    Raises Unreachable `agent_lost` if no agent is connected, `agent_revoked` if its token is revoked.
    """
    row = ClusterAgent.objects.filter(cluster_id=cluster.pk).first()
    if row is not None and row.revoked_at is not None:
        raise Unreachable("the token of the cluster's agent is revoked", code="agent_revoked")
    if row is None or not row.session:
        raise Unreachable("the cluster's agent is not connected to karpdash", code=LOST)
    mailbox = AgentMailbox(settings.ENV.broker_url, str(row.pk), keys, row.session)
    round_tripper = AgentRoundTripper(mailbox, session=row.session, ca_digest=row.ca_digest)
    round_tripper.require_agent()
    return AgentConnection(Connection(server=parse_server(row.server), ca_pem=""), round_tripper, row.acts)


def refuse_without_helm(cluster: Cluster, *, namespace: str, release: str) -> None:
    """Raises InvalidInput `read_only` if helm would have to run through an agent that was not installed for it in that
    namespace, or that does not forward the records of that release.
    """
    if cluster.source != Cluster.Source.AGENT:
        return
    place = ClusterAgent.objects.filter(cluster_id=cluster.pk).values_list("helm_in", flat=True).first()
    if not place:
        words = "the cluster's agent was not installed for upgrades by helm: --upgrade-controller NAMESPACE"
        raise InvalidInput(words, where=cluster.name, code="read_only")
    if place != namespace:
        words = f"the cluster's agent was installed for upgrades by helm in {place}, and the release is in {namespace}"
        raise InvalidInput(words, where=cluster.name, code="read_only")
    if CARRIED not in release:
        words = f"an agent carries runs of helm on releases with {CARRIED} in their name, and this one is {release}"
        raise InvalidInput(words, where=cluster.name, code="read_only")
