"""The list of AWS organizations, and one organization: its roles, its accounts, its clusters."""

import json
import uuid
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from migrations_app.errors import InvalidInput
from migrations_app.queries.organizations import organization_detail, organization_page
from migrations_app.use_cases.organizations.registration import require_organization
from migrations_app.use_cases.organizations.role_templates import cloudformation_template, terraform_document
from migrations_app.web.access import require_right
from migrations_app.web.organizations.forms import ChosenForm, OrganizationForm, RemovedOrganizationForm

RIGHT = "add_cluster"
MAX_SHOWN = 200
"""Maximum number of clusters to choose from on one page; once they are registered the next ones are shown."""


@require_right(RIGHT)
@require_safe
def organizations(request: HttpRequest) -> HttpResponse:
    """Every organization, and the form for a new one."""
    return list_page(request, form=OrganizationForm())


@require_right(RIGHT)
@require_safe
def organization(request: HttpRequest, organization_id: uuid.UUID) -> HttpResponse:
    """One organization."""
    return organization_answer(request, organization_id)


@require_right(RIGHT)
@require_safe
def cloudformation_file(_request: HttpRequest, organization_id: uuid.UUID) -> HttpResponse:
    """The roles as a CloudFormation template."""
    document = cloudformation_template(require_organization(organization_id))
    return _file(document, name="karpdash-organization.json")


@require_right(RIGHT)
@require_safe
def terraform_file(_request: HttpRequest, organization_id: uuid.UUID) -> HttpResponse:
    """The roles as Terraform in JSON syntax."""
    return _file(terraform_document(require_organization(organization_id)), name="karpdash.tf.json")


def _file(document: dict[str, Any], *, name: str) -> HttpResponse:
    answer = JsonResponse(document, json_dumps_params={"indent": 2})
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def list_page(request: HttpRequest, *, form: OrganizationForm) -> HttpResponse:
    """The list with the form of a new organization; 422 if the form has errors."""
    try:
        page = organization_page(after=request.GET.get("after", ""))
    except InvalidInput:
        page = organization_page()
    context = {"section": "fleet", "rows": page.rows, "next": page.next_cursor, "form": form}
    return render(request, "organizations/list.html", context, status=422 if form.errors else 200)


def organization_answer(
    request: HttpRequest,
    organization_id: uuid.UUID,
    *,
    refused: str = "",
    chosen: ChosenForm | None = None,
    removal: RemovedOrganizationForm | None = None,
) -> HttpResponse:
    """The page of one organization; 422 if a form was refused. Raises NotFound."""
    detail = organization_detail(organization_id)
    new = [cluster for cluster in detail.clusters if cluster.cluster_id is None]
    context = {
        "section": "fleet",
        "found": detail,
        "row": detail.row,
        "new": new[:MAX_SHOWN],
        "hidden": max(0, len(new) - MAX_SHOWN),
        "template": json.dumps(cloudformation_template(require_organization(organization_id)), indent=2),
        "refused": refused,
        "chosen": chosen or ChosenForm(),
        "removal": removal or RemovedOrganizationForm(),
    }
    bad = refused or (chosen and chosen.errors) or (removal and removal.errors)
    return render(request, "organizations/page.html", context, status=422 if bad else 200)
