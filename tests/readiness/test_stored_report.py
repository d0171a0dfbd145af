"""Reports that are stored are read back, those of before their changes had kinds among them."""

import json

import msgspec
import pytest
from msgspec.structs import replace

from migrations_app.checks.base import Remedy
from migrations_app.checks.changes import Change, ChangeTarget, HelmChange, HelmValue, ObjectDelete, group
from migrations_app.readiness.published import published
from migrations_app.readiness.stored_report import read_report
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
