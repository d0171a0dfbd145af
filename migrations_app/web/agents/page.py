"""The page of a cluster's agent: creates a new token or revokes the current one."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.texts import text as _
from migrations_app.use_cases.agents.tokens import renew_agent_token, revoke_agent_token
from migrations_app.web.access import require_right
from migrations_app.web.clusters.connection import agent_page, user_name


@require_right("change_cluster")
@require_http_methods(["GET", "HEAD", "POST"])
def agent(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The page of the agent. A POST creates a new token, shown in this response only, or revokes the current one."""
    if request.POST.get("do") == "revoke":
        try:
            revoke_agent_token(cluster_id)
        except NotFound:
            messages.error(request, _("There was no token to revoke."))
        else:
            messages.success(request, _("The token is revoked; the cluster is unreachable until there is a new one."))
        return redirect("cluster-agent", cluster_id)
    if request.POST.get("do") == "renew":
        try:
            return agent_page(request, cluster_id, secret=renew_agent_token(cluster_id, by=user_name(request)))
        except (InvalidInput, Conflict) as refused:
            messages.error(request, refused.message)
            return redirect("cluster-agent", cluster_id)
    return agent_page(request, cluster_id)
