"""T06: discovery has limits of its own, for its objects are small."""

import pytest

from migrations_app.clients.kubernetes.discovery import MAX_COMMAS, served
from migrations_app.errors import InvalidResponse


@pytest.mark.parametrize("more", [0, 1])
def test_a_discovery_of_empty_objects_is_refused_before_it_is_decoded(more: int) -> None:
    resources = b"{}," * (MAX_COMMAS + more) + b"{}"

    def ask(path: str, _accept: str) -> bytes:
        return b'{"groups":[]}' if path == "/apis" else b'{"resources":[' + resources + b"]}"

    assert served(ask).failed == ({"v1": "garbled"} if more else {})


def test_a_list_of_groups_without_end_is_no_discovery() -> None:
    with pytest.raises(InvalidResponse, match="names too many resources"):
        served(lambda *_: b'{"groups":[' + b"{}," * (MAX_COMMAS + 1) + b"{}]}")
