"""Adds a cluster, and tells before and after what a scan would lack."""

import uuid
from dataclasses import dataclass
from functools import partial

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from migrations_app.errors import BadInput, Conflict
from migrations_app.flow import register as clusters
from migrations_app.flow.register import ConnectionTest, Details
from migrations_app.flow.schedule import request_scan
from migrations_app.readiness.rights import cluster_role, everything
from migrations_app.tasks import wake
from migrations_app.web.access import page
from migrations_app.web.cluster import about
from migrations_app.web.forms import RegisterForm

FIELDS = ("name", "environment", "target", "context")


@dataclass(frozen=True, slots=True)
class Tried:
    """The result of a test; `refused` says why the input itself could not be used."""

    result: ConnectionTest | None = None
    refused: str = ""


@page("add_cluster")
@require_http_methods(["GET", "POST"])
def new(request: HttpRequest) -> HttpResponse:
    """The form; a POST tests the connection or registers, by the button pressed."""
    form = RegisterForm(request.POST or None, request.FILES or None, initial={"way": "paste"})
    if request.method == "POST" and request.POST.get("do") == "test":
        return _tested(request, form)
    if request.method == "POST" and form.is_valid() and (cluster := _registered(request, form)):
        return redirect("cluster", cluster)
    return _form_page(request, form)


def _form_page(request: HttpRequest, form: RegisterForm, *, test: Tried | None = None) -> HttpResponse:
    way = request.POST.get("way") or request.GET.get("way") or "paste"
    context = {"section": "fleet", "form": form, "way": way, "test": test, "whole_rule": cluster_role(everything())}
    bad = bool(form.errors) and test is None
    return render(request, "register/page.html", context, status=422 if bad else 200)


def _tested(request: HttpRequest, form: RegisterForm) -> HttpResponse:
    tried = _try(form)
    if request.headers.get("HX-Request"):
        return render(request, "register/_test.html", {"test": tried})
    return _form_page(request, form, test=tried)


def _try(form: RegisterForm) -> Tried:
    form.is_valid()  # the name may still be missing: a test needs the credentials only
    wrong = [str(problem) for name in ("kubeconfig", "kubeconfig_file", "way") for problem in form.errors.get(name, ())]
    if wrong:
        return Tried(refused=" ".join(wrong))
    if form.cleaned_data["way"] == "bundle":
        return Tried(refused="A bundle needs no connection; register it and the scan tells what it holds.")
    try:
        return Tried(clusters.try_kubeconfig(form.secret(), context=form.cleaned_data.get("context", "")))
    except BadInput as refused:
        return Tried(refused=str(refused))


def _registered(request: HttpRequest, form: RegisterForm) -> uuid.UUID | None:
    """The new cluster's id; None when flow refused it, and the form says why."""
    said = form.cleaned_data
    details = Details(
        name=said["name"], environment=said["environment"], target=said["target"], by=request.user.get_username()
    )
    try:
        if said["way"] == "bundle":
            cluster = clusters.register_bundle(form.secret(), details)
        else:
            cluster = clusters.register_kubeconfig(form.secret(), details, context=said["context"])
    except (BadInput, Conflict) as refused:
        explain(form, refused)
        return None
    start_scan(cluster, by=request.user.get_username())
    messages.success(request, f"{details.name} is registered; its first scan is on the way.")
    return cluster


def explain(form: RegisterForm, refused: BadInput | Conflict) -> None:
    """Puts what flow said beside the field it is about."""
    source = {"paste": "kubeconfig", "file": "kubeconfig_file", "bundle": "bundle"}[form.cleaned_data["way"]]
    if isinstance(refused, Conflict):
        form.add_error("name", refused.message)
    elif refused.where in FIELDS:
        form.add_error(refused.where, refused.message)
    else:
        form.add_error(source, str(refused))


def start_scan(cluster_id: uuid.UUID, *, by: str) -> bool:
    """Queues a scan and wakes a worker after the commit; False when one was already under way."""
    asked = request_scan(cluster_id, by=by)
    transaction.on_commit(partial(wake, asked.scan_id))
    return asked.created


@page("change_cluster")
@require_POST
def connection(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """Looks at a registered cluster once and tells what is missing."""
    context = about(request, cluster_id, tab="cluster")
    tried = Tried(clusters.try_cluster(cluster_id))
    return render(request, "cluster/connection.html", context | {"test": tried})
