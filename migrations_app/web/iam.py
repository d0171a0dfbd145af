"""The IAM tab of a cluster: what each release of the path needs against what the controller's roles allow."""

import re
import uuid
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_safe

from migrations_app.queries.iam import sheet_of
from migrations_app.readiness.iam_sheet_values import IamColumn, IamRole, IamSheet
from migrations_app.web import permissions
from migrations_app.web.access import page
from migrations_app.web.cluster import about

_NOT_IN_FILES = re.compile(r"[^A-Za-z0-9._-]+")
_ENDINGS = {"terraform": "tf", "module": "tf"}


@page()
@require_safe
def iam(request: HttpRequest, cluster_id: uuid.UUID) -> HttpResponse:
    """The matrix, the patch of one release in every form, roles and sizes; and the patch as a download."""
    context = about(request, cluster_id, tab="cluster-iam") | {"first": True}
    head = context["head"]
    sheet = sheet_of(head.snapshot.id) if head.snapshot else None
    chosen = _chosen(request, sheet, next_hop=head.snapshot.next_hop) if sheet else None
    if sheet and chosen and request.GET.get("download"):
        return _download(request, sheet, chosen=chosen, name=head.name)
    if sheet:
        context["roles"] = [_role(one) for one in sheet.roles]
    if sheet and chosen:
        context |= _shown(sheet, chosen)
    return render(request, "cluster/iam.html", context | {"sheet": sheet, "chosen": chosen})


def _chosen(request: HttpRequest, sheet: IamSheet, *, next_hop: str) -> IamColumn | None:
    return permissions.chosen_of(sheet, release=request.GET.get("release", ""), next_hop=next_hop)


def _shown(sheet: IamSheet, chosen: IamColumn) -> dict[str, Any]:
    return {
        "tiles": permissions.tiles(sheet, chosen),
        "needs": permissions.groups(sheet),
        "patches": permissions.parts(sheet, chosen),
        "legend": permissions.legend(sheet),
        "settings_on": [one for one in sheet.settings if one.on],
        "settings_off": [one for one in sheet.settings if not one.on],
    }


def _role(one: IamRole) -> dict[str, Any]:
    documents = [{"of": document, "kind": permissions.kind_of(document)} for document in one.documents]
    return {"of": one, "found_by": permissions.found_by(one), "documents": documents}


def _download(request: HttpRequest, sheet: IamSheet, *, chosen: IamColumn, name: str) -> HttpResponse:
    form, number = request.GET["download"], request.GET.get("role", "0")
    found = permissions.download(sheet, chosen, form=form, number=number)
    if found is None:
        raise Http404("no such document")
    ending = _ENDINGS.get(form.partition("-")[0], "json")
    own = f"-role-{int(number) + 1}" if number != "0" else ""
    plain = _NOT_IN_FILES.sub("-", f"{name[:80]}-karpenter-{chosen.release}{own}-{form}")
    kind = "text/plain" if ending == "tf" else "application/json"
    disposition = content_disposition_header(as_attachment=True, filename=f"{plain}.{ending}")
    return HttpResponse(
        found.text + "\n",
        content_type=f"{kind}; charset=utf-8",
        headers={"Content-Disposition": disposition or "attachment"},
    )
