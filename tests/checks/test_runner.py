"""What becomes of the words of a check."""

import msgspec
import pytest

from migrations_app.checks.base import (
    Check,
    CheckContext,
    Evidence,
    Finding,
    LowerBound,
    ManualCheck,
    NotApplicable,
    Remedy,
    SeverityCap,
    Unknown,
)
from migrations_app.checks.registry import all_checks
from migrations_app.checks.runner import EVIDENCE_BYTES, EVIDENCE_KEPT, EVIDENCE_TEXT, ReportedCause, run
from migrations_app.checks.runner import answer as answer_of
from migrations_app.inventory.parts import UnparsableObject
from tests.builders.clusters import a_cluster, case_at


def a_check(*words: object, advice: tuple[Remedy, ...] = (), **more: object) -> Check:
    whole: dict[str, object] = {
        "title": "All is well",
        "phase": "preflight",
        "severity": "blocker",
        "why": "Because.",
        "reads": ("nodes",),
        "says": ("{count} is wrong", "{count} are wrong"),
    }
    check = Check("x.y.a_check", **(whole | more))
    check.judge(lambda _: words)
    check.advise(lambda *_: advice)
    return check


def answer(check: Check, cluster=None) -> Finding:
    return run([check], case_at("1.0", cluster or a_cluster()))[0]


ROW = Evidence(kind="Node", name="n1")


@pytest.mark.parametrize(
    ("words", "status", "summary"),
    [
        ((), "pass", "All is well"),
        ((ROW,), "fail", "1 is wrong"),
        ((ROW, Evidence(kind="Node", name="n2", count=4)), "fail", "5 are wrong"),
        ((Unknown("no field"),), "unknown", "no field"),
        ((NotApplicable("no nodes"),), "not_applicable", "no nodes"),
        ((ManualCheck("look"),), "manual", "look"),
        ((ManualCheck("look"), Unknown("no field")), "unknown", "no field"),
        ((Unknown("no field"), ROW), "fail", "at least 1 is wrong"),
        ((LowerBound("50 nodes of more"), ROW), "fail", "at least 1 is wrong"),
        ((LowerBound("50 nodes of more"),), "unknown", "50 nodes of more"),
    ],
)
def test_words_become_a_status(words, status, summary):
    found = answer(a_check(*words))
    assert (found.status, found.summary) == (status, summary)


@pytest.mark.parametrize(
    ("usual", "told", "severity"),
    [
        ("blocker", (), "blocker"),
        ("blocker", (SeverityCap("warning"),), "warning"),
        ("blocker", (SeverityCap("warning"), SeverityCap("info")), "info"),
        ("info", (SeverityCap("warning"),), "info"),
    ],
)
@pytest.mark.parametrize("word", [ROW, Unknown("no field")])
def test_a_finding_may_weigh_less_than_its_check_and_never_more(usual, told, severity, word):
    assert answer(a_check(word, *told, severity=usual)).severity == severity


def test_what_was_set_aside_may_weigh_as_much_as_ever():
    cluster = a_cluster().quarantined("nodes", name="n2")
    assert answer(a_check(ROW, SeverityCap("info")), cluster).severity == "blocker"


def test_a_question_of_an_earlier_hop_weighs_no_more_than_the_question():
    check = a_check(ManualCheck("look"), SeverityCap("warning"), severity="blocker")
    earlier = {(check.id, ("look",)): ReportedCause("0.33+", "warning")}
    found = answer_of(check, case_at("1.0", a_cluster()), asked=earlier).finding
    assert (found.status, found.severity, found.asked_at) == ("unknown", "warning", "0.33+")
    in_doubt = a_cluster().quarantined("nodes", name="n2")
    assert answer_of(check, case_at("1.0", in_doubt), asked=earlier).finding.severity == "blocker"


def test_what_helps_to_look_stands_with_the_question():
    found = answer(a_check(ManualCheck("look", (Remedy(how="kubectl", text="grep old ."),))))
    assert (found.status, found.remedies) == ("manual", (Remedy(how="kubectl", text="grep old ."),))


def test_the_actions_that_a_check_names_come_behind_its_own_remedies_and_only_on_a_failure():
    own = Remedy(how="kubectl", text="kubectl get nodes")
    named = Remedy(how="action", text="Action roll_nodes of karpdash", action="roll_nodes")
    check = a_check(ROW, advice=(own,), resolved_by=("roll_nodes",))
    assert answer(check).remedies == (own, named)
    assert answer(a_check(ManualCheck("look", (own,)), resolved_by=("roll_nodes",))).remedies == (own,)
    assert answer(a_check(resolved_by=("roll_nodes",))).remedies == ()


def test_a_crash_is_a_finding():
    check = a_check()
    check.judge(lambda case: [case.no_such_thing])
    found = answer(check)
    assert (found.status, found.summary) == ("unknown", "check failed: AttributeError in a_check")


def test_a_crash_of_the_advice_is_a_finding():
    check = a_check(ROW)
    check.advise(lambda *_: [1 / 0])
    assert answer(check).summary == "check failed: ZeroDivisionError in a_check"


def test_a_check_without_a_judge_is_a_finding():
    check = Check("x.bare", title="t", phase="iam", severity="info", why="w.", reads=("nodes",), says=("a", "b"))
    assert answer(check).summary == "check failed: TypeError in bare"


def test_advice_is_asked_on_failures_only():
    advice = (Remedy(how="kubectl", text="x"),)
    assert answer(a_check(ROW, advice=advice)).remedies == advice
    assert answer(a_check(Unknown("x"), advice=advice)).remedies == ()


def test_evidence_is_kept_up_to_a_bound_and_counted_in_full():
    found = answer(a_check(*(Evidence(kind="Node", name=f"n{number}") for number in range(EVIDENCE_KEPT + 50))))
    assert (len(found.evidence), found.evidence_total, found.summary) == (200, 250, "250 are wrong")


def test_evidence_of_a_hop_is_bounded_as_a_whole():
    rows = [Evidence(kind="Node", name=f"n{number}", seen="x" * 300) for number in range(EVIDENCE_KEPT)]
    one, few = a_check(*rows), a_check(ROW)
    found = run([one, few, one, one], case_at("1.0", a_cluster()))
    assert [len(finding.evidence) for finding in found] == [100, 1, 100, 100]
    assert [finding.evidence_total for finding in found] == [200, 1, 200, 200]
    assert sum(len(msgspec.json.encode(finding.evidence)) for finding in found) <= EVIDENCE_BYTES


def test_a_long_text_is_cut_and_displaces_no_other_evidence():  # T06
    long = "x" * EVIDENCE_BYTES
    odd, many = (Evidence(kind="Node", name="n", path=long, seen=long, wanted=long), ROW), [ROW] * EVIDENCE_KEPT
    cut, kept = run([a_check(*odd), a_check(*many)], case_at("1.0", a_cluster()))
    first = cut.evidence[0]
    assert {first.path, first.seen, first.wanted} == {"x" * (EVIDENCE_TEXT - 1) + "…"}
    assert (cut.evidence[1], len(kept.evidence)) == (ROW, EVIDENCE_KEPT)


def test_a_long_text_reaches_the_remedy_whole():
    told: list[str] = []

    def advise(_case: object, evidence: tuple[Evidence, ...]) -> tuple[()]:
        told.append(evidence[0].seen)
        return ()

    check = a_check(Evidence(kind="Node", name="n", seen="x" * EVIDENCE_BYTES))
    check.advise(advise)
    answer(check)
    assert told == ["x" * EVIDENCE_BYTES]


def test_an_object_that_was_set_aside_leaves_a_pass_unknown_and_a_count_a_bound():
    cluster = a_cluster().quarantined("nodes", name="odd")
    assert answer(a_check(), cluster).summary == "1 of nodes could not be read, first odd at $.spec"
    failed = answer(a_check(ROW), a_cluster().quarantined("nodes"))
    assert (failed.status, failed.evidence_exact, failed.summary) == ("fail", False, "at least 1 is wrong")


@pytest.mark.parametrize(
    ("words", "exact"),
    [
        ((), True),
        ((ROW,), True),
        ((NotApplicable("no nodes"),), True),
        ((ROW, Unknown("no field")), False),
        ((ROW, LowerBound("more")), False),
        ((Unknown("no field"),), False),
    ],
)
def test_a_count_is_exact_or_a_bound_and_of_what_is_unknown_never_exact(words, exact):
    assert answer(a_check(*words)).evidence_exact is exact
    assert not answer(a_check(*words), a_cluster().unseen("nodes")).evidence_exact


def test_an_object_that_was_set_aside_may_be_what_the_question_is_about():
    cluster = a_cluster().quarantined("nodes", name="odd")
    found = answer(a_check(NotApplicable("there is no node")), cluster)
    assert (found.status, found.summary) == ("unknown", "1 of nodes could not be read, first odd at $.spec")


@pytest.mark.parametrize(
    ("kind", "namespace", "word"),
    [
        ("Node", "", ROW),
        ("CRD", "", Evidence(kind="CustomResourceDefinition", name="n1")),
        ("Workload", "kube-system", Evidence(kind="Deployment", name="n1")),
        ("Workload", "kube-system", Evidence(kind="Deployment", name="n1", namespace="kube-system")),
    ],
)
def test_an_object_that_was_set_aside_is_not_absent(kind, namespace, word):  # K12
    odd = UnparsableObject(kind, namespace, "n1", "$.spec", "Expected `object`")
    found = answer(a_check(word), a_cluster().set_aside("nodes", odd))
    assert (found.status, found.evidence) == ("unknown", ())
    assert found.summary == "1 of nodes could not be read, first n1 at $.spec"


def test_another_object_of_the_same_name_is_told_of():
    odd = UnparsableObject("Workload", "web", "n1", "$.spec", "Expected `object`")
    for word in (ROW, Evidence(kind="Deployment", name="n1", namespace="shop")):
        assert answer(a_check(word), a_cluster().set_aside("nodes", odd)).evidence == (word,)


def test_what_was_not_seen_is_never_asked_about():
    asked: list[CheckContext] = []
    check = a_check()
    check.judge(lambda case: asked.append(case) or ())
    assert answer(check, a_cluster().unseen("nodes", why="timeout")).summary == "nodes could not be read: timeout"
    assert asked == []


def test_severity_and_hops():
    check = a_check(hops=("1.0",), severity="info", severity_at={"1.0": "blocker"})
    assert answer(check).severity == "blocker"
    assert run([check], case_at("1.1+", a_cluster())) == ()


@pytest.mark.parametrize("reads", [(), ("nothing",), ("nodes", "nothing")])
def test_a_check_reads_parts_that_exist(reads):
    with pytest.raises(ValueError, match="a_check reads no such part"):
        a_check(reads=reads)


def test_the_registry_is_ordered_and_made_once():
    assert [check.id for check in all_checks()] == sorted(check.id for check in all_checks())
    assert all_checks() is all_checks()


def test_where_aws_was_not_looked_at_it_says_how_to_give_access():
    found = answer(a_check(reads=("nodes", "aws.queue")))
    told = "AWS not connected: give karpdash the cluster's ARN and a role it may assume"
    assert (found.status, found.summary) == ("unknown", f"{told} (AWS access of the cluster), then scan again")


def test_a_part_of_aws_that_was_refused_says_so():
    found = answer(a_check(reads=("aws.queue",)), a_cluster().unseen("aws.queue"))
    assert (found.status, found.summary) == ("unknown", "aws.queue could not be read: forbidden")
