"""K09, T06: a page that is too large, in bytes or in values, comes in smaller ones, or not at all."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from migrations_app.clients.kubernetes.api import Resource
from migrations_app.clients.kubernetes.limits import MIB, ClientLimits
from migrations_app.errors import TooLarge
from tests.clients.kubernetes.rig import PATIENT
from tests.clients.kubernetes.test_lists import PODS, book, how_it_ends, live, names, page
from tests.fakes.evilk8s import Request, Script, Wire


def test_objects_too_large_for_one_page_come_in_smaller_ones() -> None:
    def script(request: Request, wire: Wire) -> None:
        size, start = int(request.query["limit"]), int(request.query.get("continue", "0"))
        end = min(start + size, 200)
        wire.answer(page(*(f"{number:0>9000}" for number in range(start, end)), token=str(end) if end < 200 else ""))

    with live(script, limits=ClientLimits(page_bytes=MIB)) as (api, evil):
        assert len(names(api.pages(Resource("", "v1", "pods")))) == 200
    assert [request.query["limit"] for request in evil.requests] == ["500", "62", "62", "62", "62"]


def shrinking(whole: Callable[[int, int], bytes]) -> Script:
    """Serves 200 objects, which `whole` writes from one number to another, in pages as large as requested."""

    def script(request: Request, wire: Wire) -> None:
        size, start = int(request.query["limit"]), int(request.query.get("continue", "0"))
        wire.answer(whole(start, min(start + size, 200)))

    return script


def numbered(start: int, end: int, **more: Any) -> bytes:
    return page(*map(str, range(start, end)), token=str(end) if end < 200 else "", **more)


def test_pages_of_many_values_come_in_smaller_ones() -> None:  # T06
    def with_many(start: int, end: int) -> bytes:
        return numbered(start, end, more=[0] * (end - start) * 100)

    with live(shrinking(with_many), limits=ClientLimits(page_commas=10_000)) as (api, evil):
        assert len(names(api.pages(Resource("", "v1", "pods")))) == 200
    assert [request.query["limit"] for request in evil.requests] == ["500", "62", "62", "62", "62"]


def test_a_page_of_nothing_but_small_values_is_too_large() -> None:  # T06
    values = page().replace(b'"items": []', b'"items": [' + b"0," * 3_000_000 + b"0]")
    assert how_it_ends(book(values), resource=Resource("", "v1", "pods"), limits=PATIENT) == (TooLarge, "too_large")


def test_a_large_page_with_an_object_that_cannot_be_read_comes_in_smaller_ones() -> None:  # K12, T06
    def with_a_surrogate(start: int, end: int) -> bytes:
        return numbered(start, end, filler="x" * (end - start) * 50_000).replace(b'"7"}}', b'"\\ud800"}}')

    with live(shrinking(with_a_surrogate)) as (api, evil):
        assert sum(len(found.items) for found in api.pages(Resource("", "v1", "pods"))) == 200
    assert [request.query["limit"] for request in evil.requests] == ["500", "62", "62", "62", "62"]


def test_a_list_of_ever_more_objects_ends_at_the_limit_of_the_scan() -> None:  # T06
    def script(request: Request, wire: Wire) -> None:
        number = int(request.query.get("continue", "0"))
        wire.answer(page(*(f"a-{number}-{at}" for at in range(500)), token=str(number + 1)))

    with live(script, limits=replace(PATIENT, scan_objects=2_000)) as (api, evil):
        for _ in range(2):  # and no other list of the scan is begun again
            with pytest.raises(TooLarge) as caught:
                list(api.pages(PODS))
            assert caught.value.code == "scan_too_large"
    assert len([request for request in evil.requests if "continue" not in request.query]) == 2


def test_one_object_beyond_all_limits_is_too_large() -> None:
    script = book(page("x" * 2 * MIB))
    assert how_it_ends(script, limits=ClientLimits(page_bytes=MIB), resource=Resource("", "v1", "pods")) == (
        TooLarge,
        "too_large",
    )
