"""Words and lines that several outputs share."""

from collections.abc import Iterable, Iterator, Sequence

from migrations_app.checks.base import Evidence, Finding
from migrations_app.karpenter.releases import newer_than_known
from migrations_app.karpenter.versions import parse
from migrations_app.manifests.natural_order import natural
from migrations_app.readiness.next_step import FindingGroup
from migrations_app.readiness.outputs.plain import plain
from migrations_app.readiness.report import Counts, HopLine, Report, ReportHop
from migrations_app.readiness.runbook.forecast import ForecastLine
from migrations_app.readiness.runbook.runbook import Runbook, RunbookHop
from migrations_app.readiness.runbook.stages import RunbookStage

PARTS = {"before": "Prepare", "land": "Upgrade", "after": "Migrate", "verify": "Verify"}
PHASES = {"iam": "IAM", "crds": "CRDs", "cleanup": "clean-up"}


def stage_title(stage: RunbookStage) -> str:
    """`Prepare, IAM: Add the IAM permissions of the new version`."""
    phase = "" if stage.part == "verify" else f", {PHASES.get(stage.phase, stage.phase)}"
    return f"{PARTS[stage.part]}{phase}: {stage.does}"


def nothing_left(plan: Runbook) -> str:
    """Returns the text for a runbook without hops: the target runs, what a later release still requires, or that no
    path is known, as from a release newer than the tables."""
    if plan.target is None:
        return "no path is known"
    target = parse(plan.target)
    if target is not None and newer_than_known(target):
        return f"no path is known: {plan.target} is newer than the tables"
    if plan.cluster.stage not in ("alpha", "mixed"):
        return "nothing left to do"
    return f"nothing left to do to run {plan.target}; its v1alpha5 objects have to be replaced before a later release"


def unanswered_text(line: HopLine) -> str:
    """Returns why a hop needs facts although none of its checks is open."""
    return "; ".join(line.reasons) or "no check was asked"


def upgrade_lines(hop: ReportHop) -> Iterator[str]:
    """Yields the facts about the upgrade to that release, one line each."""
    if hop.why:
        yield f"Why here: {hop.why}"
    fits = {True: "supported", False: "not supported: upgrade Kubernetes first", None: "support not known"}
    yield f"Kubernetes {hop.kubernetes.min} to {hop.kubernetes.max}: {fits[hop.kubernetes_fits]}"
    yield from (f"Needs: {need}" for need in hop.needs)
    yield from (f"Note: {note}" for note in hop.notes)
    fitting = set(hop.rollback_to) - set(hop.rollback_unsupported)
    yield f"Rollback to: {', '.join(sorted(fitting, key=natural, reverse=True)) or 'none'}"
    yield from (f"Before a rollback: {caveat}" for caveat in hop.caveats)


def forecast_number(line: ForecastLine) -> str:
    """Returns `11`, `at least 11` or `not known`."""
    if line.count is None:
        return "not known"
    return f"at least {line.count:,}" if line.certainty == "at_least" else f"{line.count:,}"


def check_ids(group: FindingGroup, shown: int = 8) -> str:
    """Returns the ids of the checks in a group; a long list ends with a number."""
    return shortened([finding.id for finding in group.findings], shown)


def shortened(names: Sequence[str], shown: int = 8) -> str:
    """Returns the names joined; a long list ends with a number."""
    more = len(names) - shown
    return f"{', '.join(names[:shown])} and {more} more" if more > 0 else ", ".join(names)


def settled_line(count: int) -> str:
    """Returns `12 checks are settled`; empty for none."""
    if not count:
        return ""
    return "1 check is settled" if count == 1 else f"{count} checks are settled"


def done_earlier_lines(hop: RunbookHop) -> Iterator[str]:
    """Yields `Done by hop 0.32: legacy_machines_gone`: a line for each earlier hop whose work settles checks of this
    hop, and a line for checks that only a scan after that hop can answer."""
    by_hop: dict[tuple[str, bool], list[str]] = {}
    for earlier_check in hop.done_earlier:
        by_hop.setdefault((earlier_check.hop, earlier_check.seen_again), []).append(earlier_check.check)
    for (earlier, again), checks in by_hop.items():
        heading = f"Asked by hop {earlier}, seen when you scan again" if again else f"Done by hop {earlier}"
        yield f"{heading}: {shortened(checks)}"


def waived_lines(hop: RunbookHop) -> Iterator[str]:
    """Yields a line for each failing check that is accepted, for which there is no step."""
    yield from (f"Waived, so no step fixes it: {row.summary} [{row.check}]" for row in hop.waived)


VERDICTS = {
    "ready": "ready",
    "ready_with_warnings": "ready with warnings",
    "later": "later",
    "needs_facts": "needs facts",
    "blocked": "blocked",
    "in_progress": "in progress",
    "done": "done",
}
STAGES = {
    "no_karpenter": "no Karpenter",
    "alpha": "v1alpha5",
    "mixed": "v1alpha5 and v1beta1 together",
    "beta": "v1beta1",
    "beta_v1": "v1beta1 and v1 together",
    "v1": "v1",
    "unknown": "unknown",
}
OPEN = ("fail", "unknown", "manual")
"""Statuses of findings that still need work or an answer."""


def counts_text(counts: Counts) -> str:
    """Returns `8 pass, 3 fail`: the counts that are not zero."""
    statuses = (
        (counts.fail, "fail"),
        (counts.unknown, "unknown"),
        (counts.manual, "manual"),
        (counts.waived, "waived"),
        (counts.passed, "pass"),
        (counts.not_applicable, "not applicable"),
    )
    return ", ".join(f"{number} {word}" for number, word in statuses if number) or "no checks"


RECORD_FIELDS = ("config", "chart", "info", "manifest")
"""Where evidence about Helm's own record of a release points; what Flux's object says stands below spec."""


def kind_word(row: Evidence) -> str:
    """Returns the kind of the object as it is called in texts. Helm's record of a release has the kind HelmRelease in
    JSON and CSV, as Flux's object has; in texts it is a Helm release."""
    recorded = row.kind == "HelmRelease" and row.path.partition(".")[0] in RECORD_FIELDS
    return "Helm release" if recorded else row.kind


def object_line(row: Evidence) -> str:
    """Returns `Pod shop/cart-1 metadata.annotations: seen x, wanted y (500 objects)`."""
    name = f"{row.namespace}/{row.name}" if row.namespace else row.name
    values = [f"{word} {text}" for word, text in (("seen", row.seen), ("wanted", row.wanted)) if text]
    line = " ".join(part for part in (kind_word(row), name, row.path) if part)
    line += f": {', '.join(values)}" if values else ""
    return plain(line + (f" ({row.count} objects)" if row.count > 1 else ""))


def hidden_evidence_line(finding: Finding, most: int) -> str:
    """Returns a line with the number of objects beyond the first `most` rows of evidence; empty if all are shown."""
    if not finding.evidence_total:
        return ""
    total = sum(row.count for row in finding.evidence[:most])
    missing = finding.evidence_total - total
    if missing <= 0:
        return "" if finding.evidence_exact else "at least these: a list was only partly read"
    return f"and {missing} more" if finding.evidence_exact else f"and at least {missing} more"


def karpenter_line(report: Report) -> str:
    """Returns `0.32.10 (told by image tag)`, a range of minors, or `release unknown`."""
    facts = report.cluster
    if facts.stage == "no_karpenter":
        return "not installed"
    if facts.karpenter_version:
        source = f" (told by {facts.karpenter_told_by})" if facts.karpenter_told_by else ""
        return plain(facts.karpenter_version + source)
    if facts.karpenter_range:
        return plain(f"one of {', '.join(facts.karpenter_range)}")
    return "release unknown"


def path_line(hops: Iterable[ReportHop]) -> str:
    """Returns `0.32 (0.32.10), 0.33+ (0.37.8)`: each hop and its target version."""
    return ", ".join(f"{hop.name} ({hop.release})" for hop in hops)


def nodes_line(report: Report) -> str:
    """Returns `112: 100 karpenter_beta, 12 managed_node_group`, `at least 112: ...`, or that the number is unknown."""
    if report.nodes_certainty == "unknown":
        return "unknown, they could not be read"
    bound = "at least " if report.nodes_certainty == "at_least" else ""
    return f"{bound}{report.nodes.total}: {owners_line(report)}"


def owners_line(report: Report) -> str:
    """Returns `100 karpenter_beta, 12 managed_node_group`: the owners of nodes, most nodes first."""
    rows = sorted(report.nodes.by_owner.items(), key=lambda row: (-row[1], row[0]))
    return ", ".join(f"{count} {owner}" for owner, count in rows if count) or "none"


def completeness(report: Report) -> str:
    """Returns `complete`, or `partial: 3 of 25 parts not read whole`."""
    incomplete = [line for line in report.parts if not line.seen or line.quarantined]
    return "complete" if report.complete else f"partial: {len(incomplete)} of {len(report.parts)} parts not read whole"
