"""Idempotency keys of the API: a repeated request is not carried out again but gets the stored response (A11)."""

import uuid
from dataclasses import dataclass
from datetime import timedelta

import msgspec
from django.db import IntegrityError, transaction
from django.utils import timezone

from migrations_app.errors import Conflict, InvalidInput, InvalidSetting
from migrations_app.models.account import ApiIdempotency
from migrations_app.use_cases.runtime.connections import keys

RESPONSE_LIFETIME = timedelta(hours=24)
REQUEST_LOST_AFTER = timedelta(minutes=5)
"""After this time a request without a response counts as lost with its worker, and may be sent again."""
FIELD = "answer"


class StoredResponse(msgspec.Struct, frozen=True):
    """The stored response: status, the headers that the client needs, and the body."""

    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class NewRequest:
    """The first request with its key. The caller ends it with `finish` or `forget`."""

    id: uuid.UUID


def begin(owner_id: int, *, key: str, digest: str) -> NewRequest | StoredResponse:
    """NewRequest if the caller should carry the request out; StoredResponse if the same request was answered before.

    Raises InvalidInput `key_reused` if the key was used for another request, Conflict `in_progress` while the first
    request is still running, and Conflict `answer_lost` if the stored response cannot be decrypted.
    """
    now = timezone.now()
    ApiIdempotency.objects.filter(created_at__lt=now - RESPONSE_LIFETIME).delete()
    try:
        with transaction.atomic():
            row = ApiIdempotency.objects.create(owner_id=owner_id, key=key, digest=digest, created_at=now)
        return NewRequest(row.pk)
    except IntegrityError:
        return _repeated(owner_id, key=key, digest=digest)


def finish(begun: NewRequest, answer: StoredResponse) -> None:
    """Stores the response, encrypted."""
    sealed = keys().seal(msgspec.msgpack.encode(answer), owner=str(begun.id), field=FIELD)
    ApiIdempotency.objects.filter(pk=begun.id).update(status=answer.status, sealed=sealed)


def forget(begun: NewRequest) -> None:
    """Releases the key: the request changed nothing, so it may be corrected and sent again with the same key."""
    ApiIdempotency.objects.filter(pk=begun.id, status=None).delete()


def _repeated(owner_id: int, *, key: str, digest: str) -> NewRequest | StoredResponse:
    row = ApiIdempotency.objects.filter(owner_id=owner_id, key=key).first()
    if row is None:  # the other request failed a moment ago
        return begin(owner_id, key=key, digest=digest)
    if row.digest != digest:
        raise InvalidInput(
            "this Idempotency-Key was sent with another request before", where="Idempotency-Key", code="key_reused"
        )
    if row.sealed is None:
        return _take_over(row)
    try:
        plain = keys().open(bytes(row.sealed), owner=str(row.pk), field=FIELD)
    except InvalidSetting:  # its key is gone, and the request must not run twice
        raise Conflict("the answer of this Idempotency-Key can no longer be read", code="answer_lost") from None
    return msgspec.msgpack.decode(plain, type=StoredResponse)


def _take_over(row: ApiIdempotency) -> NewRequest:
    now = timezone.now()
    changed = ApiIdempotency.objects.filter(
        pk=row.pk, sealed=None, created_at=row.created_at, created_at__lt=now - REQUEST_LOST_AFTER
    ).update(created_at=now)
    if not changed:
        raise Conflict("the first request with this Idempotency-Key is still in progress", code="in_progress")
    return NewRequest(row.pk)
