"""T04: files of a repository that are too large are read one at a time."""

from types import SimpleNamespace
from typing import Any

from migrations_app.use_cases.pull_requests.preview import MAX_BYTES, MAX_FILES, texts_below
from tests.house.growth import peak_mib


def test_a_folder_of_files_that_are_too_large_takes_the_memory_of_one() -> None:
    names = [f"{number}.yaml" for number in range(MAX_FILES)]
    host: Any = SimpleNamespace(
        files=lambda _commit, _place: dict.fromkeys(names, "id"), text=lambda _content: "x" * (4 * MAX_BYTES)
    )

    def read() -> None:
        assert texts_below(host, "c", path="", may_hold=lambda _path, _text: True) == {}

    assert peak_mib(read) < 3 * 4 * MAX_BYTES / 2**20
