"""Answers GET of one object and of lists: selectors, and pages that all show the state at the first page."""

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from migrations_app.manifests import JsonMap
from migrations_app.twin.answers import Answer, RequestRefused, bad_request
from migrations_app.twin.objects.selectors import SelectorError, by_fields, by_labels
from migrations_app.twin.state import Work

MAX_BEGUN_LISTS = 16
"""How many paged lists can be continued; older tokens are expired, as after a compaction of a server."""


class _ContinueToken(msgspec.Struct, frozen=True):
    number: int
    at: int


@dataclass(slots=True)
class PagedLists:
    """Lists with further pages. Objects are held by reference, so all pages show the state at the first page."""

    _lists: dict[int, tuple[str, str, list[JsonMap]]] = field(default_factory=dict)
    _count: int = 0

    def begin(self, path: str, revision: str, *, items: list[JsonMap]) -> int:
        self._count += 1
        self._lists[self._count] = path, revision, items
        if len(self._lists) > MAX_BEGUN_LISTS:
            del self._lists[min(self._lists)]
        return self._count

    def resume(self, token: str, path: str) -> tuple[_ContinueToken, str, list[JsonMap]]:
        """Returns the token, the resource version and the items of its list. Raises RequestRefused."""
        try:
            position = msgspec.json.decode(base64.urlsafe_b64decode(token.encode()), type=_ContinueToken)
        except (msgspec.DecodeError, binascii.Error, ValueError):
            raise bad_request("invalid continue token: continue key is not valid") from None
        paged_list = self._lists.get(position.number)
        if paged_list is None or paged_list[0] != path:
            message = "The provided continue parameter is too old to display a consistent list result."
            raise RequestRefused(410, "Expired", message=message)
        return position, paged_list[1], paged_list[2]

    def end(self, number: int) -> None:
        """Forgets a list whose last page was returned: nothing else may refer to its objects."""
        self._lists.pop(number, None)

    def expire(self) -> None:
        """Forgets every paged list, as a compaction does."""
        self._lists.clear()


def get(work: Work) -> Answer:
    """GET of one object."""
    return Answer(200, work.state.view(work.call, work.state.find(work.call)))


def get_list(work: Work, paged_lists: PagedLists) -> Answer:
    """GET of a list."""
    call = work.call
    path = f"{call.api_version}/{call.namespace}/{call.kind.plural}"
    size = int(text) if (text := call.query.get("limit", "0")).isdecimal() else 0
    if token := call.query.get("continue"):
        position, revision, items = paged_lists.resume(token, path)
        start, number = position.at, position.number
    else:
        start, number, revision, items = 0, 0, str(work.state.store.revision), [*_selected_documents(work)]
    end = start + size if size else len(items)
    metadata: JsonMap = {"resourceVersion": revision}
    if end < len(items):
        number = number or paged_lists.begin(path, revision, items=items)
        token = base64.urlsafe_b64encode(msgspec.json.encode(_ContinueToken(number, end))).decode()
        metadata["continue"] = token
        if not call.query.get("labelSelector") and not call.query.get("fieldSelector"):
            metadata["remainingItemCount"] = len(items) - end
    elif number:
        paged_lists.end(number)
    head = {"kind": f"{call.kind.kind}List", "apiVersion": call.api_version, "metadata": metadata}
    return Answer(200, head | {"items": items[start:end]})


def _selected_documents(work: Work) -> Iterator[JsonMap]:
    call = work.call
    try:
        tests = (
            by_labels(call.query.get("labelSelector", "")),
            by_fields(call.query.get("fieldSelector", ""), call.kind.place),
        )
    except SelectorError as error:
        raise bad_request(str(error)) from None
    used_tests = [test for test in tests if test is not None]
    for stored in work.state.store.collection(call.kind.place).between(call.namespace):
        document = work.state.view(call, stored)
        if all(test(document) for test in used_tests):
            yield document
