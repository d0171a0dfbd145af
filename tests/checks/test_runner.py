"""The frame: unseen is unknown, a crash is a finding, set-aside objects never let a check pass."""

import pytest

from migrations_app.checks.base import Case, Check
from migrations_app.checks.runner import EVIDENCE_KEPT, run
from migrations_app.checks.values import ByHand, CannotTell, Evidence, Finding, NotApplicable, Remedy
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.seen import Quarantined, Seen, Unseen
from migrations_app.karpenter.detection import Detected
from migrations_app.karpenter.hops import path

STEP = path("0.37.8", target="1.0", kubernetes="1.29").steps[0]
ROW = Evidence(kind="Node", name="n1", path="metadata.labels", seen="x", wanted="y")
BAD = Quarantined("Node", "", "broken", "$.spec.taints", "Expected `array`")


def case(**parts):
    inventory = Inventory(cluster="c", taken_at="", **{"nodes": Seen()} | parts)
    return Case(inventory, STEP, Detected(), "beta", "2026-11-21T00:00:00Z")


def a_check(*words, hops=("1.0",), advise=None, **more):
    texts = {"title": "Nodes are fine", "why": "because", "says": ("{count} node is not", "{count} nodes are not")}
    check = Check("x.nodes_fine", phase="rollout", severity="blocker", reads=("nodes",), hops=hops, **texts, **more)

    @check.judge
    def judge(_case):
        yield from words

    if advise:
        check.advise(advise)
    return check


def answer(check, **parts):
    (found,) = run([check], case(**parts))
    return found


def test_a_pass_is_a_whole_finding():
    assert answer(a_check(sources=("guide",))) == Finding(
        id="nodes_fine",
        hop="1.0",
        phase="rollout",
        title="Nodes are fine",
        status="pass",
        severity="blocker",
        why="because",
        summary="Nodes are fine",
        sources=("guide",),
    )


@pytest.mark.parametrize(
    ("words", "status", "summary"),
    [
        ((ROW,), "fail", "1 node is not"),
        ((ROW, Evidence(kind="Node", name="n2", count=4)), "fail", "5 nodes are not"),
        ((CannotTell("spec.x is no text"),), "unknown", "spec.x is no text"),
        ((ROW, CannotTell("more")), "fail", "1 node is not"),
        ((NotApplicable("no pools"),), "not_applicable", "no pools"),
        ((CannotTell("odd"), NotApplicable("no pools")), "unknown", "odd"),
        ((ByHand("look at the dashboards"),), "manual", "look at the dashboards"),
    ],
)
def test_what_a_judge_says_becomes_a_status(words, status, summary):
    found = answer(a_check(*words))
    assert (found.status, found.summary) == (status, summary)


def test_a_part_that_was_not_seen_makes_the_answer_unknown_and_asks_nobody():
    def never(_case):
        raise AssertionError("asked about what was not seen")

    check = a_check()
    check.judge(never)
    found = answer(check, nodes=Unseen("forbidden", "list nodes"))
    assert (found.status, found.summary) == ("unknown", "nodes could not be read: forbidden (list nodes)")


def test_an_object_set_aside_never_lets_a_check_pass():
    found = answer(a_check(), nodes=Seen(quarantined=(BAD,)))
    assert (found.status, found.evidence_exact) == ("unknown", False)
    assert found.summary == "1 of nodes could not be read, first broken at $.spec.taints"


def test_a_failure_beside_objects_set_aside_is_a_lower_bound():
    found = answer(a_check(ROW), nodes=Seen(quarantined=(BAD,)))
    assert (found.status, found.evidence_total, found.evidence_exact) == ("fail", 1, False)


def test_a_crash_is_a_finding_and_hides_no_other():
    broken = a_check()
    broken.judge(lambda _case: 1 / 0)
    first, second = run([broken, a_check()], case())
    assert (first.status, first.summary) == ("unknown", "check failed: ZeroDivisionError in nodes_fine")
    assert second.status == "pass"


def test_a_crash_of_the_advice_is_one_of_the_check():
    found = answer(a_check(ROW, advise=lambda _case, _rows: [][0]))
    assert (found.status, found.summary) == ("unknown", "check failed: IndexError in nodes_fine")


def test_remedies_are_asked_for_on_a_failure_only():
    fix = Remedy(how="kubectl", text="kubectl delete node n1")
    assert answer(a_check(ROW, advise=lambda _case, rows: [fix] * len(rows))).remedies == (fix,)
    assert answer(a_check(advise=lambda _case, _rows: [fix])).remedies == ()


def test_stored_evidence_is_bounded_and_the_count_is_not():
    found = answer(a_check(*(Evidence(kind="Node", name=f"n{i}") for i in range(EVIDENCE_KEPT + 5))))
    assert (len(found.evidence), found.evidence_total) == (EVIDENCE_KEPT, EVIDENCE_KEPT + 5)


def test_a_check_is_asked_only_at_its_hops():
    assert run([a_check(hops=("1.1+",))], case()) == ()
    assert answer(a_check(hops=("*",))).status == "pass"
    assert answer(a_check(severity_at={"1.0": "info"})).severity == "info"


@pytest.mark.parametrize("reads", [(), ("no_such_part",)])
def test_a_check_must_name_parts_that_exist(reads):
    with pytest.raises(ValueError, match="no such part"):
        Check("x.y", title="t", phase="crds", severity="info", why="w", reads=reads, says=("a", "b"))


def test_a_check_without_a_judge_is_a_crash_that_is_told():
    check = Check("x.empty", title="t", phase="crds", severity="info", why="w", reads=("nodes",), says=("a", "b"))
    assert answer(check).summary == "check failed: TypeError in empty"
