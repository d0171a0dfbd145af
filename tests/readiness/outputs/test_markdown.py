import re

from hypothesis import given, settings

from migrations_app.readiness.outputs.markdown import fence, render, text
from migrations_app.readiness.report import PartLine, Report
from tests.readiness.outputs.reports import a_report, any_reports, finding, unread, without_path


def test_text_is_escaped() -> None:
    assert text("a|b <img> `x` \x1b") == r"a\|b \<img\> \`x\` \\x1b"


def test_a_fence_is_longer_than_what_it_holds() -> None:
    assert list(fence("a\n````\nb")) == ["`````", "a\n````\nb", "`````"]


def test_the_head_and_the_table_of_hops() -> None:
    lines = render(a_report()).splitlines()
    assert lines[0] == "# Karpenter readiness of prod-1"
    assert lines[8:11] == [
        "| Hop | Target version | Verdict | Passed or waived | Checks |",
        "| --- | --- | --- | --- | --- |",
        "| 0.33+ | 0.37.8 | blocked | 28 % | 3 fail, 1 unknown, 1 manual, 1 waived, 1 pass, 1 not applicable |",
    ]


def test_without_a_path_the_head_says_why() -> None:
    assert "- Target: none: the running release could not be told" in render(without_path()).splitlines()


def test_open_findings_have_sections_and_passed_ones_none() -> None:
    outside = re.sub(r"^```\n.*?\n```$", "", render(a_report()), flags=re.DOTALL | re.MULTILINE)
    headings = [line for line in outside.splitlines() if line.startswith("#")]
    assert headings == [
        "# Karpenter readiness of prod-1",
        "## Hop 0.33+",
        "### fail, blocker: Summary of gone",
        "### unknown, blocker: crds could not be read: forbidden",
        "### manual, blocker: Title of backup",
        "### fail, warning: Summary of marks",
        "### fail, info: Summary of note",
        "## Waived",
        "## Not read whole",
    ]


def test_a_finding_shows_evidence_and_remedy() -> None:
    lines = render(a_report((a_report().checks[0],))).splitlines()
    at = lines.index("### fail, blocker: Summary of gone")
    assert lines[at + 2] == "Why gone (`gone`, resources)"
    assert lines[at + 4] == "- Provisioner pool-0 spec: seen x, wanted y"
    assert lines[at + 12 : at + 17] == [
        "Remedy by kubectl:",
        "",
        "```",
        "kubectl delete provisioner pool-0",
        "kubectl get nodes",
    ]


def test_a_report_with_nothing_open_is_short() -> None:
    report = a_report((finding("fits", "pass"),), parts=(), complete=True)
    assert render(report).splitlines()[10:] == [
        "| 0.33+ | 0.37.8 | ready | 100 % | 1 pass |",
        "",
        "## Hop 0.33+",
        "",
        "**Ready to upgrade.** Next: Upgrade to 0.37.8, CRDs first",
    ]


def test_what_waits_for_one_thing_is_one_section() -> None:
    found = tuple(unread(name, "pods") for name in ("one", "two"))
    lines = render(a_report(found)).splitlines()
    at = lines.index("### unknown, blocker: 2 checks depend on one cause")
    assert lines[at + 2 : at + 5] == ["pods could not be read: forbidden (`one`, `two`).", "", ""]
    assert sum("kubectl apply" in line for line in lines) == 1


@settings(max_examples=60)
@given(any_reports())
def test_no_html_and_no_control_character_gets_through(report: Report) -> None:
    out = render(report)
    outside = re.sub(r"^(`{3,})\n.*?\n\1$", "", out, flags=re.DOTALL | re.MULTILINE)
    assert not re.search(r"(?<!\\)<", outside)
    assert all(line.isprintable() for line in out.split("\n"))


def test_a_list_in_another_version_has_its_heading() -> None:
    part = PartLine(name="nodepools", seen=True, count=1, read_as="karpenter.sh/v1beta1")
    lines = render(a_report(parts=(part,))).splitlines()
    assert lines[lines.index("## Read in another version") + 2] == "- nodepools: karpenter.sh/v1beta1"
