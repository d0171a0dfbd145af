"""Endpoint fleet/views: saved views of the fleet page."""

import uuid

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.framework.answers import StructSerializer
from migrations_app.api.framework.callers import person
from migrations_app.api.framework.fields import PagedSerializer, StrictSerializer, Text
from migrations_app.api.framework.idempotency import idempotent
from migrations_app.api.framework.operations import Operation, page_of
from migrations_app.api.framework.permissions import READ, EndpointPermission
from migrations_app.api.framework.views import Endpoint, body_params, cursor_of, page_answer, query_params
from migrations_app.queries.fleet.saved_views import ViewRow, view_of, view_page
from migrations_app.use_cases.clusters.saved_views import LONGEST_NAME, LONGEST_QUERY, create_view, remove_view

OWN = EndpointPermission("admin")


class ViewShownSerializer(StructSerializer):
    """A saved view. `query` is the query string of the fleet page; `own`: it is the caller's."""

    struct = ViewRow


class NewViewSerializer(StrictSerializer):
    """A saved view of the caller with the same name is replaced."""

    name = Text(max_length=LONGEST_NAME)
    query = Text(max_length=LONGEST_QUERY, allow_blank=True)
    shared = serializers.BooleanField(required=False, default=False)


class SavedViewsView(Endpoint):
    """The caller's saved views, and those that others share."""

    needs = {"GET": READ, "POST": OWN}
    operations = {
        "GET": Operation("views_list", query=PagedSerializer, answer=page_of("View", ViewShownSerializer)),
        "POST": Operation("views_create", body=NewViewSerializer, answer=ViewShownSerializer, status=201),
    }

    def get(self, request: Request) -> Response:
        """Saved views by name."""
        query = query_params(request, PagedSerializer)
        page = view_page(person(request).pk, after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=ViewShownSerializer)

    @idempotent
    def post(self, request: Request) -> Response:
        """Saves a view."""
        view_id = create_view(person(request).pk, **body_params(request, NewViewSerializer))
        answer = Response(ViewShownSerializer(view_of(view_id, person_id=person(request).pk)).data, status=201)
        answer["Location"] = reverse("api-fleet-view", kwargs={"id": view_id}, request=request)
        return answer


class SavedViewDetailView(Endpoint):
    """One saved view."""

    needs = {"GET": READ, "DELETE": OWN}
    operations = {
        "GET": Operation("views_read", answer=ViewShownSerializer),
        "DELETE": Operation("views_remove", unmatched=True),
    }

    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The saved view."""
        query_params(request, StrictSerializer)
        return Response(ViewShownSerializer(view_of(id, person_id=person(request).pk)).data)

    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Removes a saved view of the caller. Needs no If-Match."""
        remove_view(id, person_id=person(request).pk)
        return Response(status=204)
