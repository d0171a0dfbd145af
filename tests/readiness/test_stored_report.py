"""Reports that are stored are read back: those of before their changes had kinds, and those that were split."""

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from migrations_app.checks.base import Remedy, Status
from migrations_app.checks.changes import Change, ChangeTarget, HelmChange, HelmValue, ObjectDelete, group
from migrations_app.readiness.published_fields import published
from migrations_app.readiness.stored_report import (
    NOTHING_SHARED,
    SplitReport,
    answers_as_text,
    answers_from,
    answers_of,
    read_report,
    split_report,
    whole_report,
)
from tests.readiness.outputs.reports import a_report, unread

HELM = HelmChange(chart="karpenter", release="kp", namespace="ops", when="before", values=(HelmValue("a", "1"),))
DELETE = ObjectDelete(target=ChangeTarget("NodePool", "web"), undo=HELM)


def stored(change: Change) -> bytes:
    remedies = (Remedy(how="helm", text="x", change=change), Remedy(how="kubectl", text="y"))
    return msgspec.json.encode(a_report((replace(unread("one"), remedies=remedies),)))


@pytest.mark.parametrize("change", [HELM, DELETE, group(HELM, DELETE)])
def test_every_change_comes_back(change: Change) -> None:
    found = read_report(stored(change))
    assert found.checks[0].remedies[0].change == change
    assert published(found).checks[0].remedies == (Remedy(how="helm", text="x"), Remedy(how="kubectl", text="y"))


def test_a_change_of_before_is_one_of_helm_values() -> None:
    plain = json.loads(stored(HELM))
    del plain["checks"][0]["remedies"][0]["change"]["type"]
    assert read_report(json.dumps(plain).encode()) == read_report(stored(HELM))


def test_what_is_no_report_is_refused() -> None:
    for text in (b"[]", b"{}", b'{"checks": [{"remedies": [{"change": {"type": "unheard of"}}]}]}'):
        with pytest.raises(msgspec.ValidationError):
            read_report(text)


# --- halves

words = st.text(max_size=20) | st.sampled_from(["a", "b"])
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("id", "hop", "phase", "title", "status", "severity", "why", "summary", "evidence", "sources", "more")


@st.composite
def stored_findings(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Findings of some release, in its order of fields: most have all of them, some repeat what others say."""
    order = draw(st.permutations(FIELDS))
    lacks = draw(st.sets(st.sampled_from(FIELDS), max_size=1))
    values = dict.fromkeys(FIELDS, words) | {"sources": st.lists(words, max_size=2), "evidence": plain, "more": plain}
    finding = st.fixed_dictionaries({name: values[name] for name in order if name not in lacks})
    return draw(st.lists(finding, max_size=6))


@given(plain | st.fixed_dictionaries({"before": plain, "checks": plain | stored_findings(), "after": plain}))
def test_both_halves_give_the_report_back_byte_for_byte(stored: Any) -> None:
    text = msgspec.json.encode(stored)
    assert whole_report(split_report(text)) == text


@given(st.text(max_size=30))
def test_other_json_of_the_same_report_comes_back_as_it_was(space: str) -> None:
    """What another program wrote, with its own blanks and escapes."""
    text = json.dumps({"checks": [dict.fromkeys(FIELDS, space)]}, indent=1).encode()
    assert whole_report(split_report(text)) == text


def test_what_findings_share_stands_once() -> None:
    checks = tuple(replace(unread("one"), hop=f"0.{number}") for number in range(40))
    halves = split_report(msgspec.json.encode(a_report(checks)))
    assert len(json.loads(halves.texts)) == 1
    assert checks[0].why.encode() not in halves.rest
    assert halves.texts.count(checks[0].why.encode()) == 1


@pytest.mark.parametrize("told", ["pass", "fail", "waived"])
def test_the_answers_are_those_of_the_report(told: Status) -> None:
    checks = (replace(unread("one"), hop="0.32", status=told), unread("one"), unread("two"))
    text = msgspec.json.encode(a_report(checks))
    expected = {(check.id, check.hop): check.status for check in checks}
    assert len(expected) == len(checks)
    assert answers_of(text) == expected
    assert answers_from(answers_as_text(expected)) == expected


def test_a_report_with_nothing_to_share_stays_whole() -> None:
    for text in (b"[]", b"{}", b'{"checks":[]}', b'{"checks":[{"id":"a"}]}', b'{"checks":7}', b'{"checks":[1]}'):
        assert split_report(text) == SplitReport(text, NOTHING_SHARED)
    with pytest.raises(msgspec.DecodeError):
        split_report(b"{")
