"""fleet/views: ways to look at the fleet that are kept under a name."""

import uuid
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from migrations_app.api.described import described, page_of
from migrations_app.api.endpoint import Endpoint, asked, cursor_of, given, page_answer, person
from migrations_app.api.fields import Paged, Strict, Text, Told
from migrations_app.api.replayed import replayed
from migrations_app.api.rights import READ, Need
from migrations_app.flow.keep_view import LONGEST_NAME, LONGEST_QUERY, forget_view, keep_view
from migrations_app.queries.views import view_of, view_page

OWN = Need("admin")


class ViewShown(serializers.Serializer[Any]):
    """A kept view. `query` stands behind the question mark of the fleet page; `own`: it is the caller's."""

    id = serializers.UUIDField()
    name = Told()
    query = Told()
    shared = serializers.BooleanField()
    own = serializers.BooleanField()
    owner = Told()
    created_at = serializers.DateTimeField()


class NewView(Strict):
    """A view of that name that the caller keeps already is replaced."""

    name = Text(max_length=LONGEST_NAME)
    query = Text(max_length=LONGEST_QUERY, allow_blank=True)
    shared = serializers.BooleanField(required=False, default=False)


class SavedViews(Endpoint):
    """One's own views, and those that others share."""

    needs = {"GET": READ, "POST": OWN}

    @described("GET", id="views_list", tag="fleet", query=Paged, answers={200: page_of("View", ViewShown)})
    def get(self, request: Request) -> Response:
        """Views by name."""
        query = asked(request, Paged)
        page = view_page(person(request).pk, after=cursor_of(request, query), limit=query["limit"])
        return page_answer(request, page, shape=ViewShown)

    @described("POST", id="views_create", tag="fleet", body=NewView, answers={201: ViewShown})
    @replayed
    def post(self, request: Request) -> Response:
        """Keeps a view."""
        made = keep_view(person(request).pk, **given(request, NewView))
        answer = Response(ViewShown(view_of(made, person_id=person(request).pk)).data, status=201)
        answer["Location"] = reverse("api-fleet-view", kwargs={"id": made}, request=request)
        return answer


class SavedView(Endpoint):
    """One view."""

    needs = {"GET": READ, "DELETE": OWN}

    @described("GET", id="views_read", tag="fleet", named=True, answers={200: ViewShown})
    def get(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """The view."""
        asked(request, Strict)
        return Response(ViewShown(view_of(id, person_id=person(request).pk)).data)

    @described("DELETE", id="views_remove", tag="fleet", named=True, unmatched=True, answers={204: None})
    def delete(self, request: Request, id: uuid.UUID) -> Response:  # noqa: A002 - the name in the address
        """Forgets one's own view. Needs no If-Match."""
        forget_view(id, person_id=person(request).pk)
        return Response(status=204)
