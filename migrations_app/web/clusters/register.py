"""The registration page, with a connection test that lists missing rights."""

import uuid
from functools import partial

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from migrations_app.errors import Conflict, InvalidInput, KarpdashError
from migrations_app.readiness.rbac.roles import all_scan_permissions, scan_roles
from migrations_app.tasks import enqueue_scan
from migrations_app.texts import text as _
from migrations_app.use_cases.agents.tokens import AgentSecret, register_agent
from migrations_app.use_cases.clusters import eks_registration
from migrations_app.use_cases.clusters import registration as clusters
from migrations_app.use_cases.clusters.eks_registration import AccessDraft, example_rights
from migrations_app.use_cases.clusters.registration import Details
from migrations_app.use_cases.scans.queue import request_scan
from migrations_app.web.access import require_right
from migrations_app.web.clusters import connection
from migrations_app.web.clusters.connection import AccessAttempt, access_attempt, agent_page, user_name
from migrations_app.web.forms import EksForm, RegisterForm
from migrations_app.web.redirects import redirect_to, replace_page

FIELDS = ("name", "environment", "target", "context")
DEFAULT_WAY = "eks"
"""The source that is chosen first: the one recommended for EKS, as a kubeconfig that starts a program is refused."""


@require_right("add_cluster")
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form. A POST creates an external id, tests the connection or registers the cluster, depending on the
    button.

    Enter in a field presses the form's first button, the one that creates an external id, whatever source was chosen.
    """
    if request.method == "POST" and request.POST.get("do") == "draft" and request.POST.get("way") == "eks":
        return _draft(request)
    form = RegisterForm(request.POST or None, request.FILES or None, initial={"way": DEFAULT_WAY})
    if request.method == "POST" and request.POST.get("do") == "test":
        return _test(request, form)
    if request.method == "POST" and form.is_valid():
        if form.cleaned_data["way"] == "agent" and (secret := _with_agent(request, form)):
            page = agent_page(request, secret.cluster, secret=secret)
            return replace_page(request, page, address=reverse("cluster-agent", args=[secret.cluster]))
        if form.cleaned_data["way"] != "agent" and (cluster := _register(request, form)):
            return redirect_to(request, reverse("cluster", args=[cluster]))
    return _form_page(request, form)


def _form_page(
    request: HttpRequest,
    form: RegisterForm,
    *,
    test: AccessAttempt | None = None,
    start: EksForm | None = None,
    draft: AccessDraft | None = None,
) -> HttpResponse:
    way = request.POST.get("way") or request.GET.get("way") or DEFAULT_WAY
    context = {
        "section": "fleet",
        "form": form,
        "way": way,
        "test": test,
        "whole_rule": scan_roles(all_scan_permissions()),
    }
    context |= {
        "start": start or EksForm(),
        "draft": draft or connection.submitted_draft(request),
        "rights": example_rights(),
    }
    bad = (bool(form.errors) and test is None) or bool(start and start.errors)
    return render(request, "register/page.html", context, status=422 if bad else 200)


def _draft(request: HttpRequest) -> HttpResponse:
    """The page with external id and policies; the entered values stay."""
    start = EksForm(request.POST)
    draft = connection.new_draft(request, start)
    form = RegisterForm(initial=request.POST.dict())
    return _form_page(request, form, start=start, draft=draft)


def _test(request: HttpRequest, form: RegisterForm) -> HttpResponse:
    test = _try_eks(request, form) if request.POST.get("way") == "eks" else _try(form)
    if request.headers.get("HX-Request"):
        return render(request, "register/_test.html", {"test": test})
    return _form_page(request, form, test=test)


def _try_eks(request: HttpRequest, form: RegisterForm) -> AccessAttempt:
    form.is_valid()  # as in `_try`
    values = form.cleaned_data
    if not values.get("draft") or not values.get("role_arn"):
        return AccessAttempt(refused=_("The external id comes first, then the ARN of the role that was made with it."))
    try:
        return access_attempt(
            eks_registration.try_eks(values["draft"], role_arn=values["role_arn"], by=user_name(request))
        )
    except InvalidInput as refused:
        return AccessAttempt(refused=refused.message)


def _try(form: RegisterForm) -> AccessAttempt:
    form.is_valid()  # the name may still be missing: a test needs only the credentials
    problems = [
        str(problem) for name in ("kubeconfig", "kubeconfig_file", "way") for problem in form.errors.get(name, ())
    ]
    if problems:
        return AccessAttempt(refused=" ".join(problems))
    if form.cleaned_data["way"] == "agent":
        return AccessAttempt(refused=_("The agent is installed after the registration; its page tells if it dialled."))
    if form.cleaned_data["way"] == "bundle":
        return AccessAttempt(refused=_("A bundle needs no connection; register it, and the scan shows its content."))
    try:
        return AccessAttempt(clusters.try_kubeconfig(form.secret(), context=form.cleaned_data.get("context", "")))
    except InvalidInput as refused:
        return AccessAttempt(refused=str(refused))


def _with_agent(request: HttpRequest, form: RegisterForm) -> AgentSecret | None:
    """Registers a cluster in which an agent is to be installed; None if it was refused, with the error in the form."""
    try:
        return register_agent(_details(request, form))
    except connection.REFUSALS as refused:
        add_field_error(form, refused)
        return None


def _details(request: HttpRequest, form: RegisterForm) -> Details:
    values = form.cleaned_data
    return Details(
        name=values["name"], environment=values["environment"], target=values["target"], by=user_name(request)
    )


def _register(request: HttpRequest, form: RegisterForm) -> uuid.UUID | None:
    """Registers the cluster and returns its id; None if it was refused, with the error in the form."""
    details = _details(request, form)
    try:
        cluster = _store(form, details)
    except connection.REFUSALS as refused:
        add_field_error(form, refused)
        return None
    start_scan(cluster, by=user_name(request), waits=True)
    messages.success(request, _("{name} is registered; its first scan is on the way.").format(name=details.name))
    return cluster


def _store(form: RegisterForm, details: Details) -> uuid.UUID:
    values = form.cleaned_data
    if values["way"] == "eks":
        return eks_registration.register_eks(values["draft"], details, role_arn=values["role_arn"])
    if values["way"] == "bundle":
        return clusters.register_bundle(form.secret(), details)
    return clusters.register_kubeconfig(form.secret(), details, context=values["context"])


def add_field_error(form: RegisterForm, refused: KarpdashError) -> None:
    """Adds the error to the field that it is about."""
    if form.cleaned_data["way"] in ("eks", "agent"):
        connection.add_field_error(form, refused)
        return
    source = {"paste": "kubeconfig", "file": "kubeconfig_file", "bundle": "bundle"}[form.cleaned_data["way"]]
    if isinstance(refused, Conflict):
        form.add_error("name", refused.message)
    elif refused.where in FIELDS:
        form.add_error(refused.where, refused.message)
    else:
        form.add_error(source, str(refused))


def start_scan(cluster_id: uuid.UUID, *, by: str, waits: bool = False, only_check: str = "") -> bool:
    """Enqueues a scan after the commit. Returns False if one was already active.

    With `only_check` the scan reads only what that check reads, while the check is open. Raises Conflict while the disk
    is full, unless the scan `waits` for space.
    """
    scan = request_scan(cluster_id, by=by, waits=waits, only_check=only_check)
    transaction.on_commit(partial(enqueue_scan, scan.scan_id))
    return scan.created
