"""How many objects a step takes along with its own: counted over all pages, and never guessed."""

from dataclasses import dataclass, field

import msgspec
import pytest

from migrations_app.actions.plan import ListLimit, Step
from migrations_app.clients.kubernetes.api import ListPage, Resource
from migrations_app.errors import NotServed, ServerFailed
from migrations_app.execution.list_limits import list_difference

LIMIT = ListLimit(group="", version="v1", plural="nodes", what="nodes of NodePool web", most=2, label_selector="a=b")


@dataclass
class AList:
    """A writer that answers with lists alone."""

    sizes: tuple[int, ...] = ()
    error: Exception | None = None
    asked: list[Resource] = field(default_factory=list)

    def pages(self, resource):
        self.asked.append(resource)
        if self.error:
            raise self.error
        yield from (ListPage([msgspec.Raw(b"{}")] * size) for size in self.sizes)


def difference(answer: AList, *limits: ListLimit) -> str:
    return list_difference(Step(id="s001", title="Delete it", at_most=limits), answer)


@pytest.mark.parametrize(("sizes", "more"), [((), False), ((2,), False), ((1, 1), False), ((2, 1), True)])
def test_all_pages_count(sizes, more):
    answer = AList(sizes)
    words = "nodes of NodePool web: 3 now, 2 at the preview; make a new preview" if more else ""
    assert difference(answer, LIMIT) == words
    assert answer.asked == [Resource("", "v1", "nodes", label_selector="a=b")]


def test_a_step_without_limits_reads_no_list():
    answer = AList((9,))
    assert (difference(answer), answer.asked) == ("", [])


def test_a_kind_that_is_not_served_cannot_be_counted():
    """Its objects may be stored all the same, and would be deleted with their CRD."""
    words = "nodes of NodePool web: v1 is not served, so they cannot be counted; make a new preview"
    assert difference(AList(error=NotServed("gone")), LIMIT) == words


def test_a_list_that_cannot_be_read_is_not_empty():
    with pytest.raises(ServerFailed):
        difference(AList(error=ServerFailed("no")), LIMIT)
