"""iam: the sheet of permissions of a cluster, and documents judged for a release. Nothing of a request is kept."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import msgspec
from django.http import HttpResponse
from django.utils.http import http_date
from drf_spectacular.utils import OpenApiResponse
from rest_framework.exceptions import ErrorDetail, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from migrations_app.api import entity_tags
from migrations_app.api.described import IF_NONE_MATCH, described
from migrations_app.api.endpoint import Endpoint, asked, given
from migrations_app.api.fields import Strict
from migrations_app.api.iam_shapes import Evaluation, NewEvaluation, WithoutDoubles
from migrations_app.api.replayed import replayed
from migrations_app.api.rights import READ
from migrations_app.errors import BadInput
from migrations_app.karpenter.iam.asked import Asked, Judged, judged
from migrations_app.karpenter.iam.features import Feature
from migrations_app.karpenter.iam.policy import Policy, parse_policy
from migrations_app.karpenter.iam.removal import removable
from migrations_app.karpenter.iam.written import Form, Remedy, remedy
from migrations_app.queries.iam import newest_sheet

SHEET = {"$ref": "#/components/schemas/IamSheet"}
MOST_CHARACTERS = 160_000
"""Of all documents together. A role takes ten managed policies of 6,144 characters, twenty if AWS raised the quota, and
10,240 inline; each request of a release is put to each of them."""
NAMES = ("cluster_name", "account", "region", "partition", "queue", "assume_role_arn")


class ClusterIam(Endpoint):
    """The permissions of one cluster."""

    needs = {"GET": READ}

    @described(
        "GET",
        id="cluster_iam_read",
        tag="iam",
        named=True,
        more=[IF_NONE_MATCH],
        answers={(200, "application/json"): SHEET, 304: OpenApiResponse(description="Nothing has changed")},
    )
    def get(self, request: Request, id: uuid.UUID) -> HttpResponse:  # noqa: A002 - the name in the address
        """What each release of the path needs, what the controller's roles allow, and what closes the gaps.

        Of the newest snapshot, whose time is in Last-Modified. A 404 also where no Karpenter runs.
        """
        asked(request, Strict)
        newest = newest_sheet(id)
        body = msgspec.json.encode(newest.sheet)
        tag = entity_tags.of_bytes(body)
        same = entity_tags.unchanged(request, tag)
        answer = HttpResponse(status=304) if same else HttpResponse(body, content_type="application/json")
        answer["ETag"] = tag
        answer["Last-Modified"] = http_date(newest.scanned_at.timestamp())
        answer["Cache-Control"] = "private, no-cache"
        answer["Vary"] = "Authorization, Cookie"
        return answer


class Evaluations(Endpoint):
    """Policies judged by themselves, without a cluster."""

    needs = {"POST": READ}
    parser_classes = [WithoutDoubles]

    @described("POST", id="iam_evaluations_create", tag="iam", body=NewEvaluation, answers={200: Evaluation})
    @replayed
    def post(self, request: Request) -> Response:
        """What policies lack for a release of Karpenter, as `karpdash iam` says it, and what closes the gaps."""
        said = given(request, NewEvaluation)
        question = _asked(said)
        with _about("release"):
            answer = judged(question)
        added = remedy(answer.report, answer.site, policies=answer.policies)
        remedies = [_written(added, form, version=said["module_version"]) for form in dict.fromkeys(said["remedies"])]
        return Response(
            answer.report.as_json()
            | {
                "names": _names(answer),
                "remarks": [*answer.odd, *added.remarks()],
                "remedies": remedies,
                "removable": _removable(answer) if said["after_hop"] else None,
            }
        )


def _asked(said: dict[str, Any]) -> Asked:
    documents, boundary = said["policies"], said["boundary"]
    if sum(len(text) for _, text in (*documents, *([boundary] if boundary else []))) > MOST_CHARACTERS:
        _refuse("policies", f"more than {MOST_CHARACTERS:,} characters in all; a role holds fewer", code="too_large")
    question = Asked(
        release=said["release"],
        policies=tuple(_parsed(text, name, field="policies", place=n) for n, (name, text) in enumerate(documents)),
        boundary=(_parsed(boundary[1], boundary[0], field="boundary"),) if boundary else None,
        **{name: said.get(name, "") for name in NAMES},
        node_role=tuple(said.get("node_roles", ())),
        tag=tuple(said.get("tags", ())),
        turned_on=frozenset(map(Feature, said.get("with_settings", ()))),
        turned_off=frozenset(map(Feature, said.get("without_settings", ()))),
    )
    for name, _ in question.wrong():
        _refuse({"node_role": "node_roles", "tag": "tags"}.get(name, name), "Not in the form wanted.", code="invalid")
    return question


def _parsed(text: str, name: str, *, field: str, place: int | None = None) -> Policy:
    """The document; what is wrong with it is said of its place in the body."""
    own = field if place is None else f"{field}[{place}]"
    try:
        return parse_policy(text, name=name or own)
    except BadInput as wrong:
        told = [ErrorDetail(str(wrong), code=wrong.code)]
        raise ValidationError({field: told if place is None else {str(place): told}}) from None


@contextmanager
def _about(field: str) -> Iterator[None]:
    """What goes wrong inside is said of that field."""
    try:
        yield
    except BadInput as wrong:
        _refuse(field, str(wrong), code=wrong.code)


def _refuse(field: str, why: str, *, code: str) -> NoReturn:
    raise ValidationError({field: [ErrorDetail(why, code=code)]})


def _written(added: Remedy, form: Form, *, version: str) -> dict[str, Any]:
    with _about("module_version" if form == "module" else "remedies"):
        documents = added.documents(form) if form in ("json", "merged") else ()
        text = added.text(form, version=version)
    return {"form": form, "text": text, "documents": list(documents)}


def _names(answer: Judged) -> dict[str, Any]:
    site = answer.site
    return {
        "cluster": site.cluster,
        "account": site.account,
        "region": site.region,
        "partition": site.partition,
        "queue": site.queue_name,
        "node_roles": list(site.roles),
        "read": list(answer.read),
    }


def _removable(answer: Judged) -> list[dict[str, Any]]:
    found = removable(answer.policies, release=answer.report.release, site=answer.site)
    return [{"where": one.statement.where, "sid": one.statement.sid, "actions": list(one.actions)} for one in found]
