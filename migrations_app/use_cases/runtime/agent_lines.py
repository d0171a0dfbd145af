"""The line to a cluster through its agent."""

from django.conf import settings

from migrations_app.clients.agents.agent_line import LOST, AgentLine
from migrations_app.clients.agents.mailbox import AgentMailbox
from migrations_app.clients.kubernetes.connection import Connection, parse_server
from migrations_app.errors import Unreachable
from migrations_app.models.cluster import Cluster, ClusterAgent
from migrations_app.use_cases.runtime.encryption import EncryptionKeys


def agent_line(cluster: Cluster, *, keys: EncryptionKeys) -> tuple[Connection, AgentLine, bool]:
    """The server as the agent names it, the line, and whether the agent was installed with the acting role.

    Raises Unreachable `agent_lost` if no agent is connected, `agent_revoked` if its token is revoked.
    """
    row = ClusterAgent.objects.filter(cluster_id=cluster.pk).first()
    if row is not None and row.revoked_at is not None:
        raise Unreachable("the token of the cluster's agent is revoked", code="agent_revoked")
    if row is None or not row.session:
        raise Unreachable("the cluster's agent is not connected to karpdash", code=LOST)
    mailbox = AgentMailbox(settings.ENV.broker_url, str(row.pk), keys, row.session)
    line = AgentLine(mailbox, session=row.session, ca_digest=row.ca_digest)
    line.require_agent()
    return Connection(server=parse_server(row.server), ca_pem=""), line, row.acts
