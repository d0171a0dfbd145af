"""How karpdash gets to one cluster and into its AWS account: shown, tested, changed."""

import uuid
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from migrations_app.errors import BadInput, Conflict
from migrations_app.flow import register as clusters
from migrations_app.flow import register_eks, replace_credentials
from migrations_app.flow.draft_access import Draft
from migrations_app.queries.cluster import ClusterHead
from migrations_app.web import drafts
from migrations_app.web.access import page
from migrations_app.web.cluster import about
from migrations_app.web.drafts import Tried, tried, user_name
from migrations_app.web.forms import AccessForm, EksForm, KubeconfigForm


@page("change_cluster")
@require_http_methods(["GET", "POST"])
def connection(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The page; a POST tests the connection or goes a step towards AWS, by the button pressed."""
    context = about(request, cluster_id, tab="cluster")
    if request.method == "GET":
        return _page(request, context)
    step = STEPS.get(request.POST.get("do", ""))
    return step(request, context) if step else _page(request, context, test=_test(context["head"], user_name(request)))


def _page(
    request: HttpRequest,
    context: dict[str, Any],
    *,
    draft: Draft | None = None,
    start: EksForm | None = None,
    form: AccessForm | None = None,
    file: KubeconfigForm | None = None,
    test: Tried | None = None,
) -> HttpResponse:
    head: ClusterHead = context["head"]
    draft = draft or drafts.brought(request)
    begun = draft.cluster if draft else head.eks_arn
    shown = {
        "draft": draft,
        "start": start or EksForm(initial={"eks_cluster": begun}),
        "form": form or AccessForm(initial={"version": head.version, "draft": draft.text if draft else ""}),
        "file": file or KubeconfigForm(initial={"version": head.version, "context": head.context}),
        "test": test,
        "may_have_aws": head.source in register_eks.WITH_ACCESS,
    }
    bad = any(one is not None and one.errors for one in (start, form, file))
    return render(request, "cluster/connection.html", context | shown, status=422 if bad else 200)


def _test(head: ClusterHead, by: str) -> Tried:
    if head.source == "eks":
        access = register_eks.try_kept_access(head.id, by=by)
        return tried(access) if access else Tried(clusters.try_cluster(head.id))
    return Tried(clusters.try_cluster(head.id), access=register_eks.try_kept_access(head.id, by=by))


def _drafted(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    start = EksForm(request.POST)
    draft = drafts.asked(request, start)
    return _page(request, context, draft=draft, start=None if draft else start)


def _tried(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    form = AccessForm(request.POST)
    if not form.is_valid():
        return _page(request, context, form=form)
    said = form.cleaned_data
    try:
        found = register_eks.try_new_access(
            context["head"].id, said["draft"], role_arn=said["role_arn"], by=user_name(request)
        )
    except BadInput as refused:
        return _page(request, context, form=form, test=Tried(refused=refused.message))
    return _page(request, context, form=form, test=tried(found))


def _saved(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    form = AccessForm(request.POST)
    if form.is_valid():
        said = form.cleaned_data
        try:
            register_eks.set_access(
                context["head"].id,
                said["draft"],
                role_arn=said["role_arn"],
                by=user_name(request),
                version=said["version"],
            )
        except drafts.REFUSALS as refused:
            drafts.explain(form, refused)
        else:
            messages.success(request, "The role is proven and kept; the next scan reads the AWS account with it.")
            return redirect("cluster-connection", context["head"].id)
    return _page(request, context, form=form)


def _removed(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    version = request.POST.get("version", "")
    try:
        register_eks.remove_access(context["head"].id, version=int(version) if version.isdecimal() else None)
    except (BadInput, Conflict) as refused:
        messages.error(request, f"{refused.message[:1].upper()}{refused.message[1:]}.")
    else:
        messages.success(request, "karpdash has forgotten the role. You may delete it in AWS.")
    return redirect("cluster-connection", context["head"].id)


def _tried_kubeconfig(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    form = KubeconfigForm(request.POST)
    if not form.is_valid():
        return _page(request, context, file=form)
    said = form.cleaned_data
    text = said["kubeconfig"].encode()
    try:
        found = replace_credentials.try_kubeconfig_for(context["head"].id, text, context=said["context"])
    except BadInput as refused:
        return _page(request, context, file=form, test=Tried(refused=str(refused)))
    return _page(request, context, file=form, test=Tried(found.result, note=SAME[found.same]))


def _replaced(request: HttpRequest, context: dict[str, Any]) -> HttpResponse:
    form = KubeconfigForm(request.POST)
    if not form.is_valid():
        return _page(request, context, file=form)
    said = form.cleaned_data
    options = {name: said[name] for name in ("context", "typed_name", "version")}
    try:
        replace_credentials.replace_kubeconfig(context["head"].id, said["kubeconfig"].encode(), **options)
    except (BadInput, Conflict) as refused:
        named = refused.where in form.fields
        form.add_error(refused.where if named else "kubeconfig", refused.message if named else str(refused))
        return _page(request, context, file=form)
    messages.success(request, "The new kubeconfig is proven and kept; plans made before it are over.")
    return redirect("cluster-connection", context["head"].id)


SAME = {
    "same": "",
    "other": "It leads to another cluster than the one that is registered here: it would not be kept.",
    "unknown": "Whether it leads to the same cluster can not be told: to keep it, the cluster's name has to be typed.",
}
STEPS = {
    "draft": _drafted,
    "try": _tried,
    "save": _saved,
    "remove": _removed,
    "kubeconfig-try": _tried_kubeconfig,
    "kubeconfig-save": _replaced,
}
