"""What an earlier hop of a plan clears is not asked again at a later one, and a hop that only waits is not red."""

from hypothesis import given
from hypothesis import strategies as st

from migrations_app.checks.base import Evidence, Finding, Remedy
from migrations_app.readiness.outputs import plan_table
from migrations_app.readiness.plan.runbook import DoneEarlier, runbook
from migrations_app.readiness.plan.walk import OF_TODAY, WAITS, own, settled_earlier
from migrations_app.readiness.report import Target
from migrations_app.readiness.verdict import hop_lines
from tests.readiness.outputs.reports import a_report, finding, step

HOPS = ("0.32", "0.33+", "1.0")
FIX = (Remedy(how="kubectl", text="kubectl delete provisioners.karpenter.sh default"),)


def row(name: str = "default", wanted: str = "a NodePool") -> Evidence:
    return Evidence(kind="Provisioner", name=name, seen="v1alpha5", wanted=wanted)


def left(hop: str, *rows: Evidence, severity: str = "blocker", **also: object) -> Finding:
    usual = {"evidence": rows, "evidence_total": len(rows), "remedies": FIX, "severity": severity, "hop": hop}
    return finding("legacy_provisioners_gone", "fail", **(usual | also))


def waits(hop: str) -> Finding:
    return finding(WAITS, "fail", hop=hop, remedies=FIX)


def test_the_same_failure_is_cleared_once() -> None:
    found = (left("0.33+", row()), left("1.0", row(), severity="warning"))
    assert settled_earlier(HOPS, found) == {("1.0", "legacy_provisioners_gone"): "0.33+"}


def test_more_or_other_evidence_a_weightier_finding_and_one_without_a_fix_stay() -> None:
    first = left("0.33+", row(), severity="warning")
    assert settled_earlier(HOPS, (first, left("1.0", row(), severity="blocker"))) == {}
    assert settled_earlier(HOPS, (first, left("1.0", row(), row("other"), severity="info"))) == {}
    assert settled_earlier(HOPS, (first, left("1.0", row(wanted="absent"), severity="info"))) == {}
    assert settled_earlier(HOPS, (left("0.33+", row(), remedies=()), left("1.0", row()))) == {}
    cut = (left("0.33+", row(), evidence_total=20), left("1.0", row(), evidence_total=21))
    assert settled_earlier(HOPS, cut) == {}


def test_what_is_not_known_stays_unknown_at_every_hop() -> None:
    found = tuple(finding("pods_have_controllers", "unknown", hop=hop) for hop in HOPS)
    assert settled_earlier(HOPS, found) == {}


def test_what_only_waits_is_later_and_what_fails_by_itself_is_blocked() -> None:
    found = (
        finding("one", "pass", hop="0.32"),
        waits("0.33+"),
        left("0.33+", row()),
        waits("1.0"),
        left("1.0", row()),
        finding("one", "pass", hop="1.0"),
    )
    lines = hop_lines(HOPS, found)
    assert [(line.hop, line.verdict) for line in lines] == [("0.32", "ready"), ("0.33+", "blocked"), ("1.0", "later")]
    assert [line.counts.fail for line in lines] == [0, 2, 2]
    assert lines[2].reasons == ("Summary of hop_start_runs",)


def test_the_first_hop_that_cannot_begin_is_blocked() -> None:
    assert hop_lines(HOPS[:1], (waits("0.32"),))[0].verdict == "blocked"


def test_a_plan_names_the_hop_that_clears_it() -> None:
    found = (left("0.33+", row()), waits("1.0"), left("1.0", row()), finding("one", "pass", hop="1.0"))
    path = (step("0.33+", "0.37.8"), step("1.0", "1.0.14"))
    report = a_report(found, target=Target("1.0.14", path), hops=hop_lines(("0.33+", "1.0"), found))
    first, second = runbook(report).hops
    assert (first.done_earlier, [one.id for one in first.steps]) == ((), ["legacy_provisioners_gone"])
    assert (second.steps, second.next.safe) == ((), "Later: nothing stands in the way but the hops before")
    assert second.next.do == "Take hop 0.33+ first"
    assert set(second.done_earlier) == {DoneEarlier(WAITS, "0.33+"), DoneEarlier("legacy_provisioners_gone", "0.33+")}
    out = plan_table.render(runbook(report))
    assert "   Done by hop 0.33+: legacy_provisioners_gone\n" in out
    assert out.count("kubectl delete provisioners.karpenter.sh default") == 1


findings = st.builds(
    lambda hop, name, status, severity, rows: finding(
        name, status, hop=hop, severity=severity, remedies=FIX,
        evidence=tuple(map(row, rows)), evidence_total=len(rows),
    ),
    st.sampled_from(HOPS),
    st.sampled_from(["a", "b", "hop_crds_installed", *OF_TODAY]),
    st.sampled_from(["fail", "pass", "unknown", "manual", "waived"]),
    st.sampled_from(["blocker", "warning", "info"]),
    st.lists(st.sampled_from(["x", "y"]), max_size=2, unique=True).map(tuple),
)  # fmt: skip


@given(st.lists(findings, max_size=12, unique_by=lambda one: (one.hop, one.id)).map(tuple))
def test_no_work_is_lost_and_none_is_done_twice(found: tuple[Finding, ...]) -> None:
    settled = settled_earlier(HOPS, found)
    by_id = {(one.hop, one.id): one for one in found}
    for (hop, name), earlier in settled.items():
        assert HOPS.index(earlier) < HOPS.index(hop)
        if name not in OF_TODAY:  # the work stands at the hop that is named, and there it is not settled itself
            assert (earlier, name) in by_id
            assert (earlier, name) not in settled
    assert all((hop, one.id) not in settled for hop in HOPS for one in own(hop, found, settled=settled))
    for line in hop_lines(HOPS, found):
        assert line.verdict not in ("ready", "ready_with_warnings") or (line.hop, WAITS) not in settled
