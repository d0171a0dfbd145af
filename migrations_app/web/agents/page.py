"""The agent of one cluster: its state, its token, and the lines that install it."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.queries.cluster.agent import agent_detail
from migrations_app.readiness.rbac.agent_manifest import AgentInstallation, agent_manifest
from migrations_app.texts import text as _
from migrations_app.use_cases.agents.tokens import AgentSecret, renew_agent_token, revoke_agent_token
from migrations_app.web.access import require_right
from migrations_app.web.cluster.connection import user_name
from migrations_app.web.cluster.readiness import about

STATES = {
    "awaited": (_("not connected yet"), "muted"),
    "connected": (_("connected"), "pass"),
    "lost": (_("lost: not heard of any more, so the cluster counts as unreachable"), "blocker"),
    "left": (_("stopped: the cluster counts as unreachable until it dials again"), "blocker"),
    "revoked": (_("revoked: its token opens nothing any more"), "blocker"),
}
REFUSED = {
    "agent_elsewhere": _("Another agent with the same token dialled while one was connected: a copy, or two pods."),
    "agent_version": _("An agent of a release that this server does not speak to dialled: install this release."),
}


@require_right("change_cluster")
@require_http_methods(["GET", "HEAD", "POST"])
def agent(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The page of the agent. A POST makes a new token, shown in its answer only, or revokes the one that holds."""
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
            return agent_page(request, cluster_id, made=renew_agent_token(cluster_id, by=user_name(request)))
        except (InvalidInput, Conflict) as refused:
            messages.error(request, refused.message)
            return redirect("cluster-agent", cluster_id)
    return agent_page(request, cluster_id)


def agent_page(request: HttpRequest, cluster_id: uuid.UUID, *, made: AgentSecret | None = None) -> HttpResponse:
    """The page, with the token if it was made just now."""
    context = about(request, cluster_id, tab="cluster")
    found = agent_detail(cluster_id, now=timezone.now())
    here = request.build_absolute_uri("/").rstrip("/")
    word, look = STATES[found.state]
    context |= {"agent": found, "made": made, "state_word": word, "state_look": look}
    context |= {"refused_word": REFUSED.get(found.refused_code, "")}
    context |= {"manifest": agent_manifest(AgentInstallation(server=here)), "server_url": here}
    return render(request, "cluster/agent.html", context)
