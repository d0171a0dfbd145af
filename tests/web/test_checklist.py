"""Findings are arranged as people work, and none is lost."""

from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from migrations_app.checks.base import PHASES, Reason, Severity, Status
from migrations_app.readiness.report import Target
from migrations_app.web.cluster.readiness import by_phase, by_urgency, hops_of, section_of
from tests.builders_rows import a_finding, a_report, findings

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
    assert (landed.landed, landed.asked, landed.chosen) == (True, False, False)
    assert (ahead.landed, ahead.asked, ahead.chosen, ahead.release) == (False, True, True, "0.33.10")


def test_reasons_lead_to_rows_and_are_cut():
    many = [a_finding(f"check_{index}", summary=f"reason {index}") for index in range(8)]
    (hop,) = hops_of(a_report(checks=many), chosen="")
    assert (hop.next.do, hop.next.check) == ("reason 0", "check_0")
    assert [(reason.text, reason.url) for reason in hop.reasons][:2] == [
        ("reason 1", "#check-check_1"),
        ("reason 2", "#check-check_2"),
    ]
    assert (len(hop.reasons), hop.more_reasons, hop.blockers) == (5, 2, 8)


def test_checks_that_are_open_for_one_reason_are_one_reason():
    blocks = a_finding("blocks")
    alike = [a_finding(f"check_{index}", status="unknown", summary="crds: forbidden") for index in range(4)]
    (hop,) = hops_of(a_report(checks=[blocks, *alike]), chosen="")
    assert [(reason.text, reason.url, reason.checks) for reason in hop.reasons] == [
        ("crds: forbidden", "#check-check_0", 4)
    ]
    assert (hop.more_reasons, hop.unknowns) == (0, 4)


def test_what_is_only_good_to_know_is_no_reason():
    by_hand = a_finding("search", status="manual", severity="info")
    (hop,) = hops_of(a_report(checks=[by_hand]), chosen="")
    assert (hop.reasons, hop.next.safe) == ((), "Safe: nothing stands in the way")


def test_one_refused_list_is_one_row_with_one_remedy():
    reason = Reason("part_unread", "crds", "forbidden")
    refused = [a_finding(name, status="unknown", summary="crds: (no)", reason=reason) for name in "ab"]
    (section,) = by_urgency(refused, cluster="prod")
    ((group, told),) = section.rows
    assert (group.summary, len(group.findings)) == ("crds could not be read: forbidden", 2)
    assert (told.id, [remedy.how for remedy in told.remedies]) == ("group-a", ["kubectl"])
