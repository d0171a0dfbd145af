from migrations_app.readiness.outputs import plan_markdown, plan_table
from migrations_app.readiness.report import Target
from migrations_app.readiness.runbook import runbook
from migrations_app.readiness.verdict import hop_line
from tests.readiness.outputs.reports import a_report, finding, step


def test_steps_come_in_the_order_of_the_work() -> None:
    (hop,) = runbook(a_report()).hops
    assert [found.id for found in hop.steps] == ["backup", "webhook", "gone", "note", "marks"]
    assert (hop.lands.release, hop.verdict, hop.done_percent) == ("0.37.8", "blocked", 28)


def test_within_a_phase_blockers_come_first_and_failures_before_the_unknown() -> None:
    found = (
        finding("c", "fail", severity="warning"),
        finding("b", "unknown"),
        finding("a", "fail", severity="info"),
        finding("d", "fail"),
    )
    assert [one.id for one in runbook(a_report(found)).hops[0].steps] == ["d", "b", "c", "a"]


def test_nothing_left_to_do_is_a_runbook_without_hops() -> None:
    plan = runbook(a_report((), target=Target("1.13.0", ()), hops=()))
    assert (plan.hops, plan.target) == ((), "1.13.0")
    assert "By       nothing left to do\n" in plan_table.render(plan)
    assert "- By: nothing left to do\n" in plan_markdown.render(plan)


def test_the_table_numbers_hops_and_steps() -> None:
    lines = plan_table.render(runbook(a_report())).splitlines()
    assert lines[3] == "By       0.33+ (0.37.8)"
    assert lines[6:10] == [
        "1. Hop 0.33+ -> 0.37.8  BLOCKED  28 % done",
        "   Why here: alpha is gone",
        "   Kubernetes 1.23 to 1.29: not known whether it fits",
        "   Way back: 0.32.10",
    ]
    numbered = [line.strip().split("  ")[0] for line in lines if line.startswith("   1.")]
    assert numbered == [
        "1.1 preflight", "1.2 crds", "1.3 resources", "1.4 resources", "1.5 workloads", "1.6 controller",
    ]  # fmt: skip


def test_the_markdown_says_what_a_landing_needs() -> None:
    lands = step("1.0", "1.0.9", kubernetes_fits=False, needs=("IAM first",), caveats=("no way back to alpha",))
    found = (finding("gone", "fail", hop="1.0"),)
    report = a_report(found, target=Target("1.0.9", (lands,)), hops=(hop_line("1.0", found),))
    lines = plan_markdown.render(runbook(report)).splitlines()
    assert "## 1. Hop 1.0: land on 1.0.9" in lines
    assert "- Kubernetes 1.23 to 1.29: does not fit: move Kubernetes first" in lines
    assert "- Needs: IAM first" in lines
    assert "- Before going back: no way back to alpha" in lines
    assert lines[-1] == "- [ ] Scanned again, and hop 1.0 is done"
