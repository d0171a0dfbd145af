"""A hop is judged again after its fixes: causes that appear only then belong to it."""

from collections.abc import Callable, Iterator

import pytest
from msgspec import UNSET

from migrations_app.checks.base import Check, CheckContext, Evidence, Finding, JudgeResult, Remedy
from migrations_app.checks.changes import (
    Change,
    ChangeTarget,
    HelmChange,
    HelmValue,
    ObjectAnnotations,
    ObjectDelete,
    PersonTask,
)
from migrations_app.checks.registry import all_checks
from migrations_app.inventory.inventory import Inventory, track_reads
from migrations_app.karpenter.upgrade_path import PathHop, path
from migrations_app.readiness.runbook.hop_judge import HopJudge
from migrations_app.readiness.runbook.hop_work import HopWork
from migrations_app.readiness.runbook.walk import MAX_ROUNDS, Walk, findings_of_hops
from migrations_app.readiness.runbook.work_order import last_before_upgrade
from migrations_app.readiness.stage import detect_running_release
from tests.acceptance.clusters import find as clean
from tests.acceptance.clusters import objects
from tests.acceptance.judging import as_list, collected
from tests.readiness.outputs.reports import finding

POOL = ChangeTarget("NodePool", "default", resource="nodepools.karpenter.sh")


def inventory(name: str = "beta-037") -> Inventory:
    one = clean(name)
    return collected(name, as_list(objects(one), kubernetes=one.kubernetes)).inventory


def hops(start: Inventory) -> tuple[PathHop, ...]:
    return path(detect_running_release(start), kubernetes="1.29").hops


def marks(case: CheckContext) -> dict[str, str]:
    return next(one for one in case.inventory.nodepools.items if one.name == "default").metadata.annotations or {}


def marked(key: str) -> ObjectAnnotations:
    return ObjectAnnotations(target=POOL, given={key: "true"}, done="it is there", final="it stays")


def asking(name: str, wrong: Callable[[CheckContext], bool], *changes: Change, reads: str = "nodepools") -> Check:
    """A check that fails while that is so, with a fix of these changes."""
    check = Check(
        f"tests.{name}",
        title=name,
        phase="crds",
        severity="warning",
        why="",
        reads=(reads,),
        says=("{count}",) * 2,
    )

    @check.judge
    def judge(case: CheckContext) -> Iterator[JudgeResult]:
        if wrong(case):
            yield Evidence(kind="NodePool", name="default", path=name, wanted="otherwise")

    @check.advise
    def advise(_case: CheckContext, _evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
        yield from (Remedy(how="kubectl", text=f"kubectl {name}", change=one) for one in changes)

    return check


def first_hop(*checks: Check) -> dict[str, Finding]:
    start = inventory()
    return {one.id: one for one in next(findings_of_hops(start, hops(start), checks=checks))}


def test_what_a_fix_brings_is_asked_for_and_fixed_in_the_same_hop() -> None:
    first = asking("first", lambda case: "one" not in marks(case), marked("one"))
    second = asking("second", lambda case: marks(case).keys() & {"one", "two"} == {"one"}, marked("two"))
    walk = Walk(track_reads(inventory()), (second, first))
    found = {one.id: one for one in walk.hop(hops(walk.inventory)[0], last=False)}
    assert (found["first"].status, found["first"].follows, found["first"].summary) == (
        "fail",
        UNSET,
        "1",
    )
    assert (found["second"].status, found["second"].follows) == ("fail", "first")
    assert found["second"].summary == "Once the fix of first is made: 1"
    pool = next(one for one in walk.inventory.nodepools.items if one.name == "default")
    assert {"one", "two"} <= (pool.metadata.annotations or {}).keys()
    assert walk.asked.keys() >= {("second", ("NodePool", "", "default", "second", "otherwise"))}


def test_a_chain_of_fixes_is_followed_for_a_bounded_number_of_rounds() -> None:
    names = [f"step-{number}" for number in range(MAX_ROUNDS + 3)]
    chain = [
        asking(name, lambda case, at=at: len(marks(case).keys() & set(names)) == at, marked(name))
        for at, name in enumerate(names)
    ]
    found = first_hop(*chain)
    assert [name for name in names if found[name].status == "fail"] == names[: MAX_ROUNDS + 1]


def test_a_fix_that_does_not_clear_its_cause_is_told() -> None:
    useless = asking("useless", lambda _case: True, marked("one"))
    good = asking("good", lambda case: "two" not in marks(case), marked("two"))
    found = first_hop(useless, good)
    assert found["useless"].summary == "1; its fix does not clear 1 of 1"
    assert found["good"].summary == "1"


@pytest.mark.parametrize(
    "change",
    [
        PersonTask(what="decide", why="it is a choice"),
        ObjectDelete(target=ChangeTarget("NodePool", "gone", resource="nodepools.karpenter.sh")),
        HelmChange(
            chart="karpenter", release="karpenter", namespace="kube-system", when="landing", values=(HelmValue("a"),)
        ),
    ],
    ids=["for a person", "no effect to show", "with the landing"],
)
def test_nothing_is_said_to_stay_where_the_fix_has_no_effect_to_show(change: Change) -> None:
    assert first_hop(asking("open", lambda _case: True, change))["open"].summary == "1"


def test_a_circle_of_two_fixes_is_told_and_ends() -> None:
    on = asking("on", lambda case: marks(case).get("switch") != "true", marked("switch"))
    off = asking(
        "off", lambda case: marks(case).get("switch") == "true",
        ObjectAnnotations(target=POOL, removed=("switch",), done="it is gone", final="it stays away"),
    )  # fmt: skip
    found = first_hop(on, off)
    assert found["off"].follows == "on"
    assert found["on"].summary.endswith("its fix does not clear 1 of 1")


def test_only_checks_that_read_what_has_changed_are_put_again() -> None:
    asked: list[str] = []

    def of_nodes(case: CheckContext) -> bool:
        asked.append("nodes")
        return not case.inventory.nodes.items

    fix = asking("fix", lambda case: "one" not in marks(case), marked("one"))
    nodes = asking("nodes", of_nodes, reads="nodes")
    start = track_reads(inventory())
    (hop, *_) = hops(start)
    judge, work = HopJudge((nodes, fix), hop, {}), HopWork(start, hop)
    judge.judge(start)
    work.prepare(judge.findings())
    assert (work.changed, asked) == (frozenset({"nodepools"}), ["nodes"])
    assert not judge.judge_again(work.inventory, changed=work.changed, fixes=work.fixes)
    assert asked == ["nodes"]
    assert not judge.judge_again(work.inventory, changed=frozenset({"nodes"}), fixes=work.fixes)
    assert asked == ["nodes", "nodes"]


@pytest.mark.parametrize("name", ["alpha-028", "alpha-031"])
def test_spot_of_converted_pools_needs_a_right_that_nobody_looked_at(name: str) -> None:
    """Before the NodePools are there, nothing says that 0.33 and later are to launch Spot."""
    start = inventory(name)
    every = {
        one.id: one
        for found in findings_of_hops(start, hops(start), checks=all_checks())
        for one in found
        if one.hop == "0.33+"
    }
    right = every["iam_change_known"]
    assert (right.status, right.severity, right.follows) == ("manual", "blocker", "pools_admit_provisioner_pods")


def test_what_waits_for_another_fix_stands_last_and_what_only_looks_does_not() -> None:
    upgrade = HelmChange(chart="karpenter", release="karpenter", namespace="kube-system", version="1.0.14")
    asked = (
        finding("upgraded", "fail", phase="crds", remedies=(Remedy(how="helm", text="", change=upgrade),)),
        finding("waits", "fail", phase="crds", remedies=(_needing("upgraded"),)),
        finding("later", "fail", phase="controller", remedies=(Remedy(how="kubectl", text="", change=marked("one")),)),
        finding("early", "fail", phase="iam", remedies=(_needing("later"),)),
        finding("in turn", "fail", phase="cleanup", severity="blocker", remedies=(_needing("later"),)),
        finding("brought", "fail", phase="iam", follows="later", remedies=(_needing(),)),
        finding("looks", "manual", phase="iam", follows="later"),
    )
    assert last_before_upgrade(asked, release="1.1.10") == {"waits", "early", "brought"}
    assert last_before_upgrade(asked, release="1.0.14") == {"early", "brought"}


def _needing(*ids: str) -> Remedy:
    change = ObjectAnnotations(target=POOL, given={"x": "y"}, needs=ids, done="", final="it stays")
    return Remedy(how="kubectl", text="", change=change)
