"""Saved views of the fleet page: a person's own, and shared views of others."""

import uuid
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q

from migrations_app.errors import NotFound
from migrations_app.models.cluster import SavedView
from migrations_app.queries import pagination
from migrations_app.queries.pagination import Page, keys_of, page_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRow:
    """`query` is the query string of the fleet page; `own` if the caller may change the view."""

    id: uuid.UUID
    name: str
    query: str
    shared: bool
    own: bool
    owner: str
    created_at: datetime


def view_page(person_id: int, *, after: str = "", limit: int = 100) -> Page[ViewRow]:
    """One page of views, by name."""
    rows = SavedView.objects.filter(Q(owner_id=person_id) | Q(shared=True)).select_related("owner")
    keys = keys_of(after, (str, str))
    if keys:
        name, last = keys
        rows = rows.filter(Q(name__gt=name) | Q(name=name, pk__gt=_id(str(last))))
    saved_views = list(rows.order_by("name", "pk")[: limit + 1])
    return page_of(saved_views, limit=limit, row=lambda row: _row(row, person_id), key=_key)


def view_of(view_id: uuid.UUID, *, person_id: int) -> ViewRow:
    """One view. Raises NotFound if it does not exist, or belongs to another person and is not shared."""
    rows = SavedView.objects.filter(Q(owner_id=person_id) | Q(shared=True)).select_related("owner")
    row = rows.filter(pk=view_id).first()
    if row is None:
        raise NotFound("no such view")
    return _row(row, person_id)


def _id(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        return uuid.UUID(int=0)


def _key(row: SavedView) -> str:
    return pagination.encode((row.name, str(row.pk)))


def _row(row: SavedView, person_id: int) -> ViewRow:
    return ViewRow(
        id=row.pk,
        name=row.name,
        query=row.query,
        shared=row.shared,
        own=row.owner_id == person_id,
        owner=row.owner.get_username(),
        created_at=row.created_at,
    )
