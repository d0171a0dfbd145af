import re

import msgspec
from hypothesis import given, settings

from migrations_app.readiness.outputs import runbook_markdown, runbook_table
from migrations_app.readiness.report import ClusterFacts, Report, Target
from migrations_app.readiness.runbook.runbook import runbook
from migrations_app.readiness.verdict import hop_line
from tests.readiness.outputs.reports import a_report, any_reports, finding, report_hop, unread


def test_steps_come_in_the_order_of_the_work() -> None:
    (hop,) = runbook(a_report()).hops
    assert [found.id for found in hop.steps] == ["backup", "webhook", "gone", "note", "marks"]
    assert (hop.path_hop.release, hop.verdict, hop.done_percent) == ("0.37.8", "blocked", 28)


def test_within_a_phase_blockers_come_first_and_failures_before_the_unknown() -> None:
    found = (
        finding("c", "fail", severity="warning"),
        finding("b", "unknown"),
        finding("a", "fail", severity="info"),
        finding("d", "fail"),
    )
    assert [one.id for one in runbook(a_report(found)).hops[0].steps] == ["d", "b", "c", "a"]


def test_nothing_left_to_do_is_a_runbook_without_hops() -> None:
    report = a_report((), target=Target("1.13.0", ()), hops=())
    plan = runbook(msgspec.structs.replace(report, cluster=msgspec.structs.replace(report.cluster, stage="v1")))
    assert (plan.hops, plan.target) == ((), "1.13.0")
    assert "By       nothing left to do\n" in runbook_table.render(plan)
    assert "- By: nothing left to do\n" in runbook_markdown.render(plan)


def test_objects_that_a_later_release_does_not_read_are_not_forgotten() -> None:
    report = a_report((), target=Target("0.32.10", ()), hops=())
    left = msgspec.structs.replace(report, cluster=msgspec.structs.replace(report.cluster, stage="mixed"))
    words = "nothing left to do to run 0.32.10; its v1alpha5 objects have to be replaced before a later release"
    assert f"By       {words}\n" in runbook_table.render(runbook(left))
    assert f"- By: {words}\n" in runbook_markdown.render(runbook(left))


def test_without_a_known_path_nothing_is_called_done() -> None:
    plan = runbook(a_report((), target=Target(None, ()), hops=()))
    assert "By       no path is known\n" in runbook_table.render(plan)


def test_of_a_release_newer_than_the_tables_nothing_is_called_done() -> None:
    report = a_report((), target=Target("9.9.0", ()), hops=())
    plan = runbook(msgspec.structs.replace(report, cluster=msgspec.structs.replace(report.cluster, stage="v1")))
    assert "By       no path is known: 9.9.0 is newer than the tables\n" in runbook_table.render(plan)


def test_the_table_numbers_hops_and_stages() -> None:
    lines = runbook_table.render(runbook(a_report())).splitlines()
    assert lines[3] == "By       0.33+ (0.37.8)"
    assert lines[6:14] == [
        "1. Hop 0.33+ -> 0.37.8  BLOCKED  28 % of checks passed or waived",
        "   Not ready: 1 blocker. Next: Summary of gone",
        "   Why here: alpha is gone",
        "   Kubernetes 1.23 to 1.29: support not known",
        "   Rollback to: 0.32.10",
        "   Waived, so no step fixes it: accepted by Ada until May: known [accepted]",
        "   Not known: crds could not be read: forbidden",
        "     keeps open: webhook",
    ]
    assert [line.strip() for line in lines if line.startswith("   1.")] == [
        "1.1 Prepare, preflight: Preflight: make sure that the upgrade can start",
        "1.2 Prepare, resources: Fix NodePools and EC2NodeClasses before the new version reads them",
        "1.3 Upgrade, CRDs: Install the CRDs of 0.37.8",
        "1.4 Upgrade, controller: Upgrade the controller to 0.37.8",
        "1.5 Migrate, resources: Review NodePools and EC2NodeClasses",
        "1.6 Migrate, workloads: Review workloads",
        "1.7 Verify: Rescan to confirm that the upgrade is complete",
    ]
    assert [line.strip() for line in lines if "rollback from here" in line] == [
        "rollback from here: still on 0.32.10, which is not changed yet",
        (
            "rollback from here: 0.32.10 still runs; apply its own CRDs again; go on directly: until 0.37.8 runs, "
            "kubectl and the garbage collector of Kubernetes get errors for NodePools, NodeClaims and EC2NodeClasses"
        ),
        "rollback from here: Back to 0.32.10, which ran before",
    ]
    assert [line for line in lines if "no return" in line] == []


def test_the_markdown_is_a_list_to_tick_off() -> None:
    target = report_hop("1.0", "1.0.9", kubernetes_fits=False, needs=("IAM first",), caveats=("no rollback to alpha",))
    found = (finding("gone", "fail", hop="1.0", evidence_total=3, evidence_exact=False),)
    report = a_report(found, target=Target("1.0.9", (target,)), hops=(hop_line("1.0", found),))
    lines = runbook_markdown.render(runbook(report)).splitlines()
    assert "## 1. Hop 1.0: upgrade to 1.0.9" in lines
    assert "**Not ready: 1 blocker.** Next: Summary of gone" in lines
    assert "- Kubernetes 1.23 to 1.29: not supported: upgrade Kubernetes first" in lines
    assert "- Needs: IAM first" in lines
    assert "- Before a rollback: no rollback to alpha" in lines
    assert [line for line in lines if line.startswith("- [ ]")] == [
        "- [ ] fail, blocker: **Summary of gone** (`gone`)",
        "- [ ] Install the CRDs of 1.0.9",
        "- [ ] Upgrade the controller to 1.0.9",
        "- [ ] Rescan to confirm that the upgrade is complete",
    ]
    assert "  - and at least 3 more" in lines
    assert sum(line.startswith("- **Point of no return.**") for line in lines) == 4


def test_what_is_not_known_is_said_before_the_work_with_one_remedy() -> None:
    asked = tuple(unread(name) for name in ("one", "two"))
    out = runbook_markdown.render(runbook(a_report(asked, hops=(hop_line("0.33+", asked),))))
    head, _, work = out.partition("### 1.1 ")
    assert "- Not known: crds could not be read: forbidden (`one, two`)\n" in head
    assert "the file `1.0-kubectl.sh`" in head
    assert (out.count("kubectl apply"), work.count("### 1.0-kubectl.sh\n")) == (1, 1)


def test_the_forecast_is_a_line() -> None:
    asked = (finding("hashes_carry_over", "fail", severity="info", evidence_total=1200, evidence_exact=False),)
    out = runbook_markdown.render(runbook(a_report(asked, hops=(hop_line("0.33+", asked),))))
    assert "- Forecast: nodes that drift with the upgrade: at least 1,200\n" in out


def test_each_hop_starts_where_the_one_before_it_lands() -> None:
    target = Target("1.0.14", (report_hop("0.33+", "0.37.8"), report_hop("1.0", "1.0.14")))
    lines = tuple(hop_line(hop, ()) for hop in ("0.33+", "1.0"))
    assert [hop.starts for hop in runbook(a_report((), target=target, hops=lines)).hops] == ["0.32.10", "0.37.8"]
    facts = ClusterFacts(name="old", kubernetes_version=None, karpenter_version=None, stage="alpha")
    nowhere = runbook(a_report((), cluster=facts, target=target, hops=lines))
    assert [hop.starts for hop in nowhere.hops] == ["", "0.37.8"]
    assert "The running release" not in runbook_table.render(nowhere)


@settings(max_examples=40)
@given(any_reports())
def test_no_text_of_a_cluster_steers_a_terminal_or_becomes_markup(report: Report) -> None:
    plan = runbook(report)
    assert all(line.isprintable() for line in runbook_table.render(plan).split("\n"))
    out = runbook_markdown.render(plan)
    outside = re.sub(r"^(`{3,})\n.*?\n\1$", "", out, flags=re.DOTALL | re.MULTILINE)
    assert not re.search(r"(?<!\\)<", outside)
    assert all(line.isprintable() for line in out.split("\n"))
