"""Saved views of the fleet page: stored under a name, shared, and deleted."""

import uuid
from typing import Any

from django.db import transaction

from migrations_app.errors import InvalidInput, NotFound
from migrations_app.models.cluster import SavedView
from migrations_app.use_cases.audit.log import record_audit_event

LONGEST_NAME, LONGEST_QUERY = 80, 2000
MAX_VIEWS_PER_PERSON = 100
"""Maximum number of views per person."""


def create_view(person_id: int, *, name: str, query: str, shared: bool = False) -> uuid.UUID:
    """Saves the query as a view, replacing the person's view of that name. Returns its id. Raises InvalidInput."""
    clean_name = _checked(name, query)
    with transaction.atomic():
        views = SavedView.objects.filter(owner_id=person_id)
        if views.exclude(name=clean_name).count() >= MAX_VIEWS_PER_PERSON:
            raise InvalidInput(f"{MAX_VIEWS_PER_PERSON} saved views at most; remove one first", where="name")
        columns: dict[str, Any] = {"query": query.lstrip("?"), "shared": shared}
        row, _ = SavedView.objects.update_or_create(owner_id=person_id, name=clean_name, defaults=columns)
        record_audit_event("view.kept", clean_name, view=str(row.pk), **columns)
    return row.pk


def remove_view(view_id: uuid.UUID, *, person_id: int) -> None:
    """Deletes a view. Raises NotFound if it does not exist or belongs to someone else."""
    with transaction.atomic():
        row = _own(view_id, person_id)
        record_audit_event("view.removed", row.name, view=str(view_id))
        row.delete()


def _own(view_id: uuid.UUID, person_id: int) -> SavedView:
    row = SavedView.objects.select_for_update().filter(pk=view_id, owner_id=person_id).first()
    if row is None:
        raise NotFound("you have no such saved view")
    return row


def _checked(name: str, query: str) -> str:
    clean_name = name.strip()
    if not clean_name or len(clean_name) > LONGEST_NAME or not clean_name.isprintable():
        raise InvalidInput(f"a name of 1 to {LONGEST_NAME} printable characters is needed", where="name")
    if len(query) > LONGEST_QUERY or not query.isprintable():
        raise InvalidInput(f"at most {LONGEST_QUERY} printable characters", where="query")
    return clean_name
