import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.remedies.commands import NAMES_SHOWN
from migrations_app.checks.remedies.karpenter_objects import (
    RESOURCES,
    changed,
    converted,
    described,
    edited,
    kept,
    patched,
    target,
)
from migrations_app.inventory.facts.managers import Managed
from migrations_app.inventory.inventory import PART_NAMES
from migrations_app.karpenter import kinds
from tests.builders import case_at
from tests.builders_pools import a_pool, at, parses

FLUX = {"kustomize.toolkit.fluxcd.io/name": "pools", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
ROW = Evidence(kind="NodePool", name="web", path="spec.weight", seen="0", wanted="1  to\n100")


def case(changes=None):
    return case_at("1.1+", at("1.0.14", a_pool(changes)))


def test_resources_are_those_of_the_tables():
    assert all(part in PART_NAMES for part, _ in RESOURCES.values())
    assert {name: crd for name, (_, crd) in RESOURCES.items()} == {
        kind.kind: kind.crd_name for kind in (*kinds.ALPHA_KINDS, *kinds.CURRENT_KINDS)
    }


def test_what_a_hand_keeps():
    (remedy,) = changed(case(), [ROW], what="set it", line=edited, notes=("One", "Two"))
    line = "kubectl edit nodepools.karpenter.sh web  # spec.weight; 1 to 100"
    assert remedy.text.splitlines() == ["# One", "# Two", line]


def test_what_a_tool_keeps_is_changed_in_its_source_first():
    found = changed(case({"metadata.labels": FLUX}), [ROW], what="set it", line=edited)
    assert parses(found) == ["flux", "kubectl"]
    assert found[0].text == "# In the repository that Flux applies (flux-system/pools): set it"


def test_no_more_objects_than_fit_and_none_twice():
    rows = [Evidence(kind="NodePool", name=f"p{number}") for number in range(NAMES_SHOWN + 5)]
    (remedy,) = changed(case(), [*rows, *rows], what="set it", line=converted)
    assert len(remedy.text.splitlines()) == NAMES_SHOWN
    (remedy,) = changed(case(), [ROW, ROW], what="set it", line=edited)
    assert len(remedy.text.splitlines()) == 1


@pytest.mark.parametrize("row", [Evidence(kind="NodePool", name="other"), Evidence(kind="Pod", name="web")])
def test_what_was_not_seen_is_kept_by_nobody(row):
    assert kept(case().inventory, row) == Managed("hand")


def test_commands():
    assert target(ROW) == "nodepools.karpenter.sh web"
    assert patched("spec.weight", 5)(ROW) == (
        'kubectl patch nodepools.karpenter.sh web --type=merge -p \'{"spec":{"weight":5}}\''
    )
    assert converted(ROW) == "kubectl get nodepools.karpenter.sh web -o yaml | karpdash convert -f -"
    assert described([ROW, ROW]) == "kubectl describe nodepools.karpenter.sh web"


def test_names_cannot_leave_the_command():
    row = Evidence(kind="NodePool", name="a; reboot")
    assert target(row) == "nodepools.karpenter.sh 'a; reboot'"
    assert edited(Evidence(kind="NodePool", name="web")) == "kubectl edit nodepools.karpenter.sh web  # "
