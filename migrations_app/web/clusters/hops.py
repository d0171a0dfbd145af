"""Values for the pages of a cluster: each upgrade of its path with its findings and whether it is done, current or
later.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote

from migrations_app.checks.base import Finding
from migrations_app.readiness.report import HopLine, Report, ReportHop
from migrations_app.web.clusters.sections import section_of

HopPlace = Literal["done", "now", "later"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hop:
    """One upgrade. `findings` leave out those that an earlier upgrade asks for; `reasons` say what is left to do after
    an upgrade that is done.
    """

    hop: str = ""
    verdict: str = ""
    release: str = ""
    place: HopPlace = "done"
    chosen: bool = False
    path_hop: ReportHop | None = None
    findings: tuple[Finding, ...] = ()
    reasons: tuple[str, ...] = ()

    @property
    def is_upgraded(self) -> bool:
        """Whether the cluster runs the release of this upgrade and no check was evaluated for it."""
        return self.path_hop is None and not self.findings

    @property
    def tone(self) -> str:
        """The verdict that colours the page; empty for a later upgrade, which is never shown as wrong."""
        return "" if self.place == "later" else self.verdict

    @property
    def blockers(self) -> int:
        return self._count("blockers")

    @property
    def unknowns(self) -> int:
        return self._count("unknown")

    @property
    def manual(self) -> int:
        return self._count("manual")

    @property
    def warnings(self) -> int:
        return self._count("warnings")

    @property
    def waived(self) -> int:
        return self._count("waived")

    @property
    def passed(self) -> int:
        return self._count("passed")

    def _count(self, section: str) -> int:
        return sum(section_of(finding) == section for finding in self.findings)


@dataclass(frozen=True, slots=True, kw_only=True)
class RailStop:
    """A release on the rail, the row of releases above the page; `url` is empty if there is no page for it."""

    release: str
    place: HopPlace
    verdict: str = ""
    url: str = ""
    chosen: bool = False
    ahead: int = 0
    """The number of blockers of a later upgrade that can be fixed now."""
    running: bool = False
    """Whether it is the running release, and the upgrade to it is complete."""


def hops_of(report: Report, *, chosen: str) -> tuple[Hop, ...]:
    """Returns the upgrades in the order of the path; exactly one is chosen if there are any."""
    path_hops = {path_hop.name: path_hop for path_hop in report.target.path}
    names = [line.hop for line in report.hops]
    chosen_hop = (
        chosen if chosen in names else next((name for name in names if name in path_hops), names[-1] if names else "")
    )
    first = next(iter(path_hops), "")
    return tuple(
        _hop(line, path_hops.get(line.hop), report=report, chosen=line.hop == chosen_hop, first=first)
        for line in report.hops
    )


def _hop(line: HopLine, path_hop: ReportHop | None, *, report: Report, chosen: bool, first: str) -> Hop:
    behind = path_hop is None and bool(report.target.path)
    place = _place(line, path_hop, first=first)
    return Hop(
        hop=line.hop,
        verdict=line.verdict,
        release=path_hop.release if path_hop else "",
        place=place,
        chosen=chosen,
        path_hop=path_hop,
        findings=() if behind else tuple(_findings_at(report.checks, line.hop, later=place == "later")),
        reasons=() if path_hop else line.reasons,
    )


def _place(line: HopLine, path_hop: ReportHop | None, *, first: str) -> HopPlace:
    if path_hop is not None:
        return "now" if path_hop.name == first else "later"
    return "done" if first or line.verdict in ("done", "in_progress") else "now"


def _findings_at(findings: Iterable[Finding], hop: str, *, later: bool) -> Iterable[Finding]:
    return (finding for finding in findings if finding.hop == hop and not (later and finding.asked_earlier))


def rail_of(report: Report, hops: Sequence[Hop], *, base: str) -> tuple[RailStop, ...]:
    """Returns the running release and the releases still to be installed; `base` is the URL up to the hop."""
    done = next((hop for hop in hops if hop.path_hop is None), None)
    running = report.cluster.karpenter_version or " or ".join(report.cluster.karpenter_range)
    if not running and not hops:
        return ()
    start = RailStop(
        release=running or "unknown release",
        place="now" if done and done.place == "now" else "done",
        verdict=done.verdict if done else "",
        url=base + quote(done.hop) if done else "",
        chosen=bool(done and done.chosen),
        running=done is None or (done.verdict == "done" and len(hops) > 1),
    )
    return (start, *(_stop(hop, base=base) for hop in hops if hop.path_hop is not None))


def _stop(hop: Hop, *, base: str) -> RailStop:
    return RailStop(
        release=hop.release,
        place=hop.place,
        verdict=hop.verdict,
        url=base + quote(hop.hop),
        chosen=hop.chosen,
        ahead=hop.blockers if hop.place == "later" else 0,
    )
