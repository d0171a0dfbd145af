"""Findings are arranged as people work, and none is lost."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.checks.base import PHASES, Reason, Remedy, Severity, Status
from migrations_app.checks.changes import ChangeTarget, ObjectLabels, Observation
from migrations_app.readiness.report import Target
from migrations_app.readiness.runbook.runbook import runbook
from migrations_app.readiness.runbook.work_order import in_stage_order, only_looks
from migrations_app.web.clusters.hops import hops_of, rail_of
from migrations_app.web.clusters.next_task import next_task
from migrations_app.web.clusters.sections import by_phase, by_urgency, section_of
from tests.builders.rows import a_finding, a_report, findings
from tests.samples.test_stories import NAMES, report_on

FINDINGS = st.lists(
    st.builds(
        a_finding,
        st.from_regex(r"[a-z]{3,8}", fullmatch=True),
        status=st.sampled_from(get_args(Status)),
        severity=st.sampled_from(get_args(Severity)),
        phase=st.sampled_from(PHASES),
    ),
    max_size=30,
    unique_by=lambda finding: finding.id,
)


@given(FINDINGS)
def test_every_finding_stands_in_exactly_one_section(rows):
    for arrange in (by_urgency, by_phase):
        placed = [finding.id for section in arrange(rows) for finding in section.findings]
        assert sorted(placed) == sorted(finding.id for finding in rows)


@given(FINDINGS)
def test_a_failing_blocker_always_stands_first(rows):
    sections = by_urgency(rows)
    if any(section_of(finding) == "blockers" for finding in rows):
        assert sections[0].id == "blockers"


@given(FINDINGS)
def test_only_what_asks_for_nothing_is_folded(rows):
    for section in by_urgency(rows):
        settled = all(finding.status in ("pass", "not_applicable") for finding in section.findings)
        to_read = all((f.status, f.severity) in (("fail", "info"), ("manual", "info")) for f in section.findings)
        assert section.folded is (settled or to_read)
    for section in by_phase(rows):
        settled = all(finding.status in ("pass", "not_applicable") for finding in section.findings)
        assert section.folded is settled


def test_sections_of_one_of_each():
    named = [(section.id, [finding.id for finding in section.findings]) for section in by_urgency(findings())]
    assert named == [
        ("blockers", ["legacy_provisioners_gone"]),
        ("unknown", ["helm_read"]),
        ("manual", ["aws_looked_at"]),
        ("warnings", ["controller_off_bad_patches"]),
        ("infos", ["drift_enabled"]),
        ("waived", ["pdbs_allow"]),
        ("passed", ["crds_installed"]),
        ("na", ["webhook_on"]),
    ]


def chosen(report, hop=""):
    return [each.hop for each in hops_of(report, chosen=hop) if each.chosen]


def test_exactly_one_hop_is_chosen():
    report = a_report()
    assert chosen(report) == ["0.32"]
    assert chosen(report, "0.33+") == ["0.33+"]
    assert chosen(report, "nonsense") == ["0.32"]
    assert chosen(a_report(checks=[a_finding()], hops=())) == []


def test_a_landed_hop_has_no_counts_and_the_next_one_is_chosen():
    report = a_report(target=Target("1.4.0", a_report().target.path[1:]))
    landed, ahead = hops_of(report, chosen="")
    assert (landed.is_upgraded, landed.findings, landed.chosen, landed.place) == (True, (), False, "done")
    assert (ahead.is_upgraded, ahead.blockers, ahead.chosen, ahead.release) == (False, 1, True, "0.33.10")
    assert (ahead.place, bool(landed.reasons), ahead.reasons) == ("now", True, ())


def next_of(report, hop=""):
    chosen_hop = next(each for each in hops_of(report, chosen=hop) if each.chosen)
    return next_task(chosen_hop, report=report)


def test_the_next_thing_is_the_first_blocker_in_the_order_of_the_work():
    many = [a_finding("pools", summary="pools wrong"), a_finding("crds", summary="CRDs wrong", phase="crds")]
    told = next_of(a_report(checks=many))
    assert (told.headline, told.title, told.check, told.of) == ("Not ready: 2 blockers", "CRDs wrong", "crds", 2)
    (blockers,) = by_urgency(many)
    assert (blockers.numbered, [finding.id for finding in blockers.findings]) == (True, ["crds", "pools"])


def looks(name, **more):
    """A blocker whose only remedy reads."""
    look = Observation(pipe=(("kubectl", "get", "nodes"),))
    return a_finding(name, remedies=(Remedy(how="kubectl", text="kubectl get nodes", change=look),), **more)


def labels(name, *needs, **more):
    """A finding whose remedy sets labels, once those checks pass."""
    target = ChangeTarget("NodePool", "web", resource="nodepools.karpenter.sh")
    change = ObjectLabels(target=target, given={"a": "b"}, needs=needs)
    return a_finding(name, remedies=(Remedy(how="kubectl", text="kubectl label", change=change),), **more)


def test_a_blocker_that_only_looks_gives_way_to_the_next_change_and_is_named():
    look = looks("untagged", phase="iam", summary="6 instances lack tags", why="Not seen.")
    told = next_of(a_report(checks=[labels("pools", why="Refused."), look]))
    assert (told.headline, told.check, told.of) == ("Not ready: 2 blockers", "pools", 2)
    assert told.why == "Refused. Still blocking, with nothing to change yet: “6 instances lack tags”."
    alone = next_of(a_report(checks=[look]))
    assert (alone.check, alone.why) == ("untagged", "Not seen.")


def test_what_a_blocker_waits_for_comes_first_also_if_it_is_a_warning():
    fence = labels("old_provisioners_fenced", severity="warning", phase="rollout", why="They come back.")
    last = labels("legacy_provisioners_gone", "legacy_machines_gone", phase="cleanup")
    machines = labels("legacy_machines_gone", fence.id, phase="rollout", summary="6 Machines still exist")
    other = labels("other", severity="warning", phase="crds")
    told = next_of(a_report(checks=[last, machines, fence, other]))
    assert (told.headline, told.check, told.of) == ("Not ready: 2 blockers", fence.id, 1)
    assert told.why == "They come back. Blockers wait for it: “6 Machines still exist”."
    fenced = next_of(a_report(checks=[last, machines, other]))
    assert (fenced.check, fenced.of) == (machines.id, 2)


def test_blockers_that_wait_for_what_only_looks_leave_the_first_one():
    told = next_of(a_report(checks=[labels("late", "seen"), looks("seen", phase="iam", why="Look.")]))
    assert (told.check, told.of, told.why) == ("seen", 2, "Look.")


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_work_is_that_of_the_runbook(name):
    report = report_on(name)
    for hop in runbook(report).hops:
        staged = [check for stage in hop.stages if stage.part == "before" for check in stage.checks]
        judged = [
            finding for finding in report.checks if finding.hop == hop.path_hop.name and not finding.asked_earlier
        ]
        ordered = [finding.id for finding in in_stage_order(judged, release=hop.path_hop.release)]
        assert [check for check in ordered if check in staged] == staged


@pytest.mark.parametrize(
    ("name", "check"), [("halfway_032", "controller_permitted"), ("broken_webhook", "conversion_webhook_resolves")]
)
def test_the_next_thing_of_a_blocked_sample_changes_something(name, check):
    told = next_of(report_on(name))
    assert (told.check, told.group.status, only_looks(told.group.first)) == (check, "fail", False)


def test_open_questions_of_one_cause_are_one_next_thing():
    reason = Reason("part_unread", "crds", "forbidden")
    alike = [a_finding(f"check_{index}", status="unknown", summary="crds: no", reason=reason) for index in range(4)]
    told = next_of(a_report(checks=alike))
    assert (told.headline, told.check) == ("Cannot tell: 4 possible blockers unchecked", "check_0")
    assert (told.why, len(told.group.findings)) == ("4 checks depend on it.", 4)


def test_what_is_ready_is_upgraded_once_no_warning_has_to_be_fixed_before():
    upgrade = "Upgrade to 0.32.10: install its CRDs first"
    rest = a_finding("rest", severity="warning", phase="cleanup")
    unread = a_finding("unread", severity="warning", phase="crds", status="unknown")
    warned = next_of(a_report(checks=[rest, unread]))
    assert (warned.headline, warned.title, warned.upgrades) == (
        "Ready: review 1 warning; 1 more unchecked",
        upgrade,
        True,
    )
    assert next_of(a_report(checks=[unread])).headline == "Ready: 1 possible warning unchecked"
    change = ObjectLabels(target=ChangeTarget("CustomResourceDefinition", "x", resource="crds"), given={"a": "b"})
    unowned = a_finding(
        "unowned", severity="warning", phase="crds", summary="CRDs of nobody", why="Helm refuses.",
        remedies=(Remedy(how="kubectl", text="kubectl label crd x a=b", change=change),),
    )  # fmt: skip
    warned = next_of(a_report(checks=[rest, unowned]))
    assert (warned.headline, warned.title) == ("Ready: review 2 warnings", "CRDs of nobody")
    assert (warned.check, warned.of, warned.upgrades) == ("unowned", 1, False)
    assert warned.why == "Fix it before the upgrade to 0.32.10, or waive it. Helm refuses."


def test_a_warning_about_which_nothing_is_left_to_change_does_not_hold_up_the_upgrade():
    """As with nodes that would drift: once drift is held, the nodes are only looked at."""
    look = Observation(pipe=(("kubectl", "get", "nodeclaims"),))
    held = a_finding(
        "drifts", severity="warning", phase="crds", remedies=(Remedy(how="kubectl", text="kubectl get", change=look),)
    )
    warned = next_of(a_report(checks=[held]))
    assert (warned.headline, warned.upgrades) == ("Ready: review 1 warning", True)
    by_hand = a_finding("search", status="manual", severity="info")
    assert next_of(a_report(checks=[by_hand])).headline == "Ready to upgrade"


def test_a_later_hop_is_not_blocked_by_the_one_before_it():
    waits = a_finding("machines", status="unknown", hop="0.33+", asked_at="0.32")
    report = a_report(checks=[a_finding(), waits, a_finding("pools", hop="0.33+")])
    later = hops_of(report, chosen="0.33+")[1]
    assert (later.place, later.blockers, [finding.id for finding in later.findings]) == ("later", 1, ["pools"])
    told = next_of(report, "0.33+")
    assert (told.headline, told.title) == ("Later: the upgrade before it comes first; 1 blocker can be fixed ahead", "")
    only = a_report(checks=[a_finding(), waits])
    assert next_of(only, "0.33+").headline == "Later: the upgrade before it comes first"


def test_the_rail_names_releases():
    report = a_report()
    stops = rail_of(report, hops_of(report, chosen=""), base="/c?hop=")
    assert [(stop.release, stop.place, stop.url, stop.chosen) for stop in stops] == [
        ("0.30.0", "done", "", False),
        ("0.32.10", "now", "/c?hop=0.32", True),
        ("0.33.10", "later", "/c?hop=0.33%2B", False),
    ]


@given(FINDINGS)
def test_the_numbers_of_a_hop_are_those_of_its_sections(rows):
    if not rows:
        return
    (hop,) = hops_of(a_report(checks=rows), chosen="")
    shown = {section.id: len(section.findings) for section in by_urgency(hop.findings)}
    told = (hop.blockers, hop.unknowns, hop.manual, hop.warnings, hop.waived, hop.passed)
    names = ("blockers", "unknown", "manual", "warnings", "waived", "passed")
    assert told == tuple(shown.get(name, 0) for name in names)


def test_one_refused_list_is_one_row_with_one_remedy():
    reason = Reason("part_unread", "crds", "forbidden")
    refused = [a_finding(name, status="unknown", summary="crds: (no)", reason=reason) for name in "ab"]
    (section,) = by_urgency(refused, cluster="prod")
    ((group, told),) = section.rows
    assert (group.summary, len(group.findings)) == ("crds could not be read: forbidden", 2)
    assert (told.id, [remedy.how for remedy in told.remedies]) == ("group-a", ["kubectl"])
