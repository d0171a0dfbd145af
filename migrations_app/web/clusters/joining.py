"""The page that joins two registrations of one cluster: which one ends, what moves, and the name to type."""

import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.queries.clusters.detail import ClusterHead, cluster_head
from migrations_app.queries.joining import JoinPreview, join_preview
from migrations_app.texts import text as _
from migrations_app.use_cases.clusters.joining import join_registrations
from migrations_app.web.access import require_right, uuids_in
from migrations_app.web.forms import JoinForm


@require_right("administer_policy")
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, stays: uuid.UUID) -> HttpResponse:
    """Shows what joining the registration `other` of the query into this one moves; a POST joins them."""
    head = cluster_head(stays, now=timezone.now())
    other_id = _other_registration(request, head)
    if other_id is None:
        return render(request, "cluster/join.html", {"section": "fleet", "head": head})
    try:
        preview = join_preview(stays, other_id)
    except InvalidInput as refused:
        raise NotFound(refused.message) from None
    form = JoinForm(request.POST or None, initial={"seen": preview.digest})
    if request.method == "POST" and form.is_valid() and _join(request, preview, form=form):
        return redirect("cluster", stays)
    context = {"section": "fleet", "head": head, "preview": preview, "form": form}
    return render(request, "cluster/join.html", context, status=422 if form.errors else 200)


def _other_registration(request: HttpRequest, head: ClusterHead) -> uuid.UUID | None:
    """Returns the registration that the query names; without a name the only other one, and None if there are none or
    several.
    """
    named = uuids_in(request.GET.getlist("other"))
    if named:
        return named[0]
    registrations = head.identity.registrations
    return registrations[0].id if len(registrations) == 1 else None


def _join(request: HttpRequest, preview: JoinPreview, *, form: JoinForm) -> bool:
    values = form.cleaned_data
    try:
        join_registrations(preview.stays.id, preview.ends.id, seen=values["seen"], typed_name=values["typed_name"])
    except (InvalidInput, Conflict) as refused:
        where = refused.where if refused.where in form.fields else None
        form.add_error(where, f"{refused.message[:1].upper()}{refused.message[1:]}.")
        return False
    message = _("{ends} is joined with {stays}, and a scan begins.")
    messages.success(request, message.format(ends=preview.ends.name, stays=preview.stays.name))
    return True
