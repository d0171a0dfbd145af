"""Endpoint clusters/{id}/agent: the agent through which a cluster is reached, and its token."""

import uuid

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api.framework import etags
from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.fields import OutputText, StrictSerializer
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params, query_params
from migrations_app.queries.clusters.agent import AgentDetail, agent_detail
from migrations_app.queries.clusters.detail import cluster_head
from migrations_app.use_cases.agents.tokens import renew_agent_token, revoke_agent_token

CHANGE = EndpointPermission("admin", "change_cluster")


class AgentDetailSerializer(StructSerializer):
    """The agent: whether it is connected, and what it reported when it connected. The ETag is that of the cluster."""

    struct = AgentDetail


class AgentTokenSerializer(AgentDetailSerializer):
    """The agent with its new token, which is never shown again."""

    secret = OutputText()


class NewAgentTokenSerializer(StrictSerializer):
    """The body is empty. The token of an agent is valid for the connection of its cluster only."""


class ClusterAgentView(Endpoint):
    """The agent of one cluster."""

    needs = {"GET": READ, "POST": CHANGE, "DELETE": CHANGE}
    operations = {
        "GET": Operation("cluster_agent_read", answer=AgentDetailSerializer),
        "POST": Operation(
            "cluster_agent_token_create", body=NewAgentTokenSerializer, answer=AgentTokenSerializer, status=201
        ),
        "DELETE": Operation("cluster_agent_token_revoke"),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The state of the agent; 404 for a cluster without one."""
        query_params(request, StrictSerializer)
        head = cluster_head(id, now=timezone.now())
        answer = Response(AgentDetailSerializer(agent_detail(id, now=timezone.now())).data)
        answer["ETag"] = etags.of_version(head.version)
        return answer

    @idempotent
    def post(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Creates a new token. The former token and its connection end at once, plans of the cluster expire, and
        running rollouts pause.
        """
        body_params(request, NewAgentTokenSerializer)
        cluster_head(id, now=timezone.now())
        token = renew_agent_token(id, by=request.user.get_username())
        body = AgentDetailSerializer(agent_detail(id, now=timezone.now())).data
        return Response(body | {"secret": token.secret}, status=201)

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Revokes the token at once. The cluster cannot be reached until there is a new one."""
        head = cluster_head(id, now=timezone.now())
        etags.require_match(request, etags.of_version(head.version))
        revoke_agent_token(id)
        return Response(status=204)
