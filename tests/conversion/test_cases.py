"""Every case runs through the command, from text to text."""

from typing import Any

import pytest

from tests import upstream
from tests.conversion import case_files
from tests.conversion.case_files import Runner, convert_text

__all__ = ["convert_text"]

_OFFERED = {"--keep-instance-profile"}
_given = [
    case
    for case in upstream.conversion_cases()
    if not case.get("optional")
    or _OFFERED.issuperset(word for word in case.get("args", ()) if word != "--ignore-defaults")
]


def _name(case: dict[str, Any]) -> str:
    return str(case["name"])


@pytest.mark.parametrize("case", case_files.own_cases(), ids=_name)
def test_own_case(case: dict[str, Any], convert_text: Runner) -> None:
    case_files.check(case, convert_text(case_files.text_of(case), *case.get("args", ())))


@pytest.mark.parametrize("case", _given, ids=_name)
def test_given_case(case: dict[str, Any], convert_text: Runner) -> None:
    case_files.check(case, convert_text(case_files.text_of(case), *case.get("args", ())))


def test_names_are_unique() -> None:
    names = [case["name"] for case in case_files.own_cases()]
    assert sorted(set(names)) == sorted(names)
