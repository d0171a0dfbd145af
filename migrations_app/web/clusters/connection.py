"""The connection of one cluster and its access to AWS: displayed, tested and changed.

The helpers for the AWS draft are used by the registration page, too.
"""

import uuid
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from migrations_app.errors import Conflict, InvalidInput, KarpdashError, ReadError
from migrations_app.queries.clusters.agent import agent_detail
from migrations_app.queries.clusters.detail import ClusterHead
from migrations_app.readiness.rbac.agent_manifest import AgentInstallation, agent_manifest, install_commands
from migrations_app.texts import text as _
from migrations_app.use_cases.agents.tokens import AgentSecret
from migrations_app.use_cases.clusters import credentials, eks_registration
from migrations_app.use_cases.clusters import registration as clusters
from migrations_app.use_cases.clusters.connection_check import ConnectionTest
from migrations_app.use_cases.clusters.eks_registration import AccessDraft, AccessTest, draft_access, read_draft
from migrations_app.use_cases.clusters.identity import accept
from migrations_app.web.access import require_right
from migrations_app.web.clusters.readiness import about
from migrations_app.web.forms import AccessForm, EksForm, IdentityForm, KubeconfigForm
from migrations_app.web.redirects import redirect_to

REFUSALS = (InvalidInput, Conflict, ReadError)
_FIELDS = {"region": "eks_region"}


@dataclass(frozen=True, slots=True)
class AccessAttempt:
    """The result of a connection test. `refused` says why the input could not be used; `note` is an additional
    remark.
    """

    result: ConnectionTest | None = None
    refused: str = ""
    access: AccessTest | None = None
    note: str = ""


def access_attempt(access: AccessTest) -> AccessAttempt:
    return AccessAttempt(access.result, access=access)


def user_name(request: HttpRequest) -> str:
    return request.user.get_username()


def submitted_draft(request: HttpRequest) -> AccessDraft | None:
    """The draft from the form or the URL; None if it is missing, invalid or expired."""
    text = request.POST.get("draft") or request.GET.get("draft") or ""
    try:
        return read_draft(text, by=user_name(request)) if text else None
    except InvalidInput:
        return None


def new_draft(request: HttpRequest, start: EksForm) -> AccessDraft | None:
    """A new draft for the entered cluster; None if it was refused, with the error in the form."""
    if not start.is_valid():
        return None
    values = start.cleaned_data
    try:
        return draft_access(values["eks_cluster"], region=values["eks_region"], by=user_name(request))
    except REFUSALS as refused:
        start.add_error(_FIELDS.get(refused.where, "eks_cluster"), refused.message)
        return None


def add_field_error(form: forms.Form, refused: KarpdashError) -> None:
    """Adds the error to the field of the second step that it is about."""
    field_names = {"name", "environment", "target", "role_arn"}
    if refused.code == "name_taken":
        form.add_error("name", refused.message)
    else:
        form.add_error(refused.where if refused.where in field_names else None, refused.message)


@require_right("change_cluster")
@require_http_methods(["GET", "POST"])
def connection(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The connection page. A POST tests the connection or does a step of the AWS setup, depending on the button."""
    context = about(request, cluster_id, tab="cluster")
    if request.method == "GET":
        return _page(request, context)
    step = STEPS.get(request.POST.get("do", ""))
    return step(request, context) if step else _page(request, context, test=_test(context["head"], user_name(request)))


def _page(
    request: HttpRequest,
    context: dict[str, Any],
    *,
    draft: AccessDraft | None = None,
    start: EksForm | None = None,
    form: AccessForm | None = None,
    file: KubeconfigForm | None = None,
    identity: IdentityForm | None = None,
    test: AccessAttempt | None = None,
) -> HttpResponse:
    head: ClusterHead = context["head"]
    draft = draft or submitted_draft(request)
    entered_cluster = draft.cluster if draft else head.eks_arn
    form_context = {
        "draft": draft,
        "start": start or EksForm(initial={"eks_cluster": entered_cluster}),
        "form": form or AccessForm(initial={"version": head.version, "draft": draft.text if draft else ""}),
        "file": file or KubeconfigForm(initial={"version": head.version, "context": head.context}),
        "identity_form": identity or IdentityForm(initial={"version": head.version, "uid": head.identity.other_uid}),
        "test": test,
        "may_have_aws": head.source in eks_registration.WITH_ACCESS,
    }
    bad = any(bound_form is not None and bound_form.errors for bound_form in (start, form, file, identity))
    return render(request, "cluster/connection.html", context | form_context, status=422 if bad else 200)


def _test(head: ClusterHead, by: str) -> AccessAttempt:
    if head.source == "eks":
        access = eks_registration.try_stored_access(head.id, by=by)
        return access_attempt(access) if access else AccessAttempt(clusters.try_cluster(head.id))
    return AccessAttempt(clusters.try_cluster(head.id), access=eks_registration.try_stored_access(head.id, by=by))


def _drafted(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    start = EksForm(request.POST)
    draft = new_draft(request, start)
    return _page(request, context, draft=draft, start=None if draft else start)


def _try_access(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    form = AccessForm(request.POST)
    if not form.is_valid():
        return _page(request, context, form=form)
    values = form.cleaned_data
    try:
        access_test = eks_registration.try_new_access(
            context["head"].id, values["draft"], role_arn=values["role_arn"], by=user_name(request)
        )
    except InvalidInput as refused:
        return _page(request, context, form=form, test=AccessAttempt(refused=refused.message))
    return _page(request, context, form=form, test=access_attempt(access_test))


def _save(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    form = AccessForm(request.POST)
    if form.is_valid():
        values = form.cleaned_data
        try:
            eks_registration.set_access(
                context["head"].id,
                values["draft"],
                role_arn=values["role_arn"],
                by=user_name(request),
                version=values["version"],
            )
        except REFUSALS as refused:
            add_field_error(form, refused)
        else:
            messages.success(request, _("Role tested and saved; the next scan reads the AWS account with it."))
            return redirect("cluster-connection", context["head"].id)
    return _page(request, context, form=form)


def _removed(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    version = request.POST.get("version", "")
    try:
        eks_registration.remove_access(context["head"].id, version=int(version) if version.isdecimal() else None)
    except (InvalidInput, Conflict) as refused:
        messages.error(request, f"{refused.message[:1].upper()}{refused.message[1:]}.")
    else:
        messages.success(request, _("karpdash has forgotten the role. You may delete it in AWS."))
    return redirect("cluster-connection", context["head"].id)


def _try_kubeconfig(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    form = KubeconfigForm(request.POST)
    if not form.is_valid():
        return _page(request, context, file=form)
    values = form.cleaned_data
    text = values["kubeconfig"].encode()
    try:
        replacement = credentials.try_kubeconfig_for(context["head"].id, text, context=values["context"])
    except InvalidInput as refused:
        return _page(request, context, file=form, test=AccessAttempt(refused=str(refused)))
    return _page(request, context, file=form, test=AccessAttempt(replacement.result, note=SAME[replacement.same]))


def _replace_kubeconfig(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    form = KubeconfigForm(request.POST)
    if not form.is_valid():
        return _page(request, context, file=form)
    values = form.cleaned_data
    options = {name: values[name] for name in ("context", "typed_name", "version")}
    try:
        credentials.replace_kubeconfig(context["head"].id, values["kubeconfig"].encode(), **options)
    except (InvalidInput, Conflict) as refused:
        named = refused.where in form.fields
        form.add_error(refused.where if named else "kubeconfig", refused.message if named else str(refused))
        return _page(request, context, file=form)
    messages.success(request, _("New kubeconfig tested and saved; earlier plans are no longer valid."))
    return redirect_to(request, reverse("cluster-connection", args=[context["head"].id]))


def _accept_identity(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    form = IdentityForm(request.POST)
    if not form.is_valid():
        return _page(request, context, identity=form)
    values = form.cleaned_data
    try:
        accept(context["head"].id, uid=values["uid"], typed_name=values["typed_name"], version=values["version"])
    except (InvalidInput, Conflict) as refused:
        form.add_error(refused.where if refused.where in form.fields else None, refused.message)
        return _page(request, context, identity=form)
    messages.success(request, _("It is this cluster from now on; plans made before are over, and a scan begins."))
    return redirect("cluster-connection", context["head"].id)


SAME = {
    "same": "",
    "other": _("It connects to another cluster than the registered one, so it is not saved."),
    "unknown": _("Cannot tell whether it connects to the same cluster: type the cluster's name to save it."),
}
STEPS = {
    "draft": _drafted,
    "try": _try_access,
    "save": _save,
    "remove": _removed,
    "kubeconfig-try": _try_kubeconfig,
    "kubeconfig-save": _replace_kubeconfig,
    "identity-accept": _accept_identity,
}
AGENT_STATES = {
    "awaited": _("not connected yet"),
    "connected": _("connected"),
    "lost": _("lost"),
    "left": _("stopped"),
    "revoked": _("revoked"),
}
AGENT_BROKEN = {
    "lost": _("The agent is lost: not heard of any more, so the cluster counts as unreachable. Look at its pod."),
    "left": _("The agent was stopped: the cluster counts as unreachable until it dials again."),
    "revoked": _("The agent is revoked: its token opens nothing any more. Make a new token to connect it again."),
}
AGENT_REFUSALS = {
    "agent_elsewhere": _("Another agent with the same token dialled while one was connected: a copy, or two pods."),
    "agent_version": _("An agent of a release that this server does not speak to dialled: install this release."),
}


def agent_page(request: HttpRequest, cluster_id: uuid.UUID, *, secret: AgentSecret | None = None) -> HttpResponse:
    """The page of the agent, with the token if it was created by this request."""
    context = about(request, cluster_id, tab="cluster")
    agent = agent_detail(cluster_id, now=timezone.now())
    server_url = request.build_absolute_uri("/").rstrip("/")
    context |= {"agent": agent, "made": secret, "state_word": AGENT_STATES[agent.state]}
    context |= {"broken_word": AGENT_BROKEN.get(agent.state, "")}
    context |= {"refused_word": AGENT_REFUSALS.get(agent.refused_code, "")}
    installation = AgentInstallation(server=server_url)
    context |= {"manifest": agent_manifest(installation), "commands": install_commands(installation)}
    return render(request, "cluster/agent.html", context)
