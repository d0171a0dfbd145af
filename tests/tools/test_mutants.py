"""The faults that tests.tools.mutants makes: one each, in code only, and the same ones every time."""

import ast

import pytest

from tests.tools.mutants import LAYERS, candidates, chosen, covering, faulty

LINE = "not rows or len(rows) + 1 >= most"
TEXT = '''
LIMIT = 3


def found(rows: list[int], *, most: int = 5) -> bool:
    """How many are 7."""
    wanted: dict[str, int] = {}
    return not rows or len(rows) + 1 >= most
'''


@pytest.mark.parametrize(
    ("number", "told", "line"),
    [
        (0, f"8: {LINE} -> {LINE.replace('or', 'and', 1)}", "not rows and len(rows) + 1 >= most"),
        (1, "8: not rows -> not not rows", "not not rows or len(rows) + 1 >= most"),
        (2, "8: len(rows) + 1 -> len(rows) - 1", "not rows or len(rows) - 1 >= most"),
        (3, "8: len(rows) + 1 >= most -> len(rows) + 1 > most", "not rows or len(rows) + 1 > most"),
        (4, "8: 1 -> 2", "not rows or len(rows) + 2 >= most"),
    ],
)
def test_each_fault_changes_one_place(number: int, told: str, line: str) -> None:
    text, said = faulty(TEXT, number)
    assert said == told
    assert text == ast.unparse(ast.parse(TEXT.replace(LINE, line)))


def test_tables_docstrings_annotations_and_defaults_stay() -> None:
    assert len(candidates(ast.parse(TEXT))) == 5


def test_a_seed_chooses_the_same_places_again() -> None:
    places = chosen(30, 7)
    assert places == chosen(30, 7)
    assert {path.split("/")[1] for path, _ in places} <= set(LAYERS)


def test_a_check_is_covered_by_the_test_of_its_name() -> None:
    path = "migrations_app/checks/catalogue/crds/hook_jobs_finished.py"
    assert "tests/checks/catalogue/crds/test_hook_jobs_finished.py" in covering(path)
