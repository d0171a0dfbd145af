"""Discovers the checks of `catalogue/` and describes each one: its declaration, its tools and its coverage.

Also lists retired checks, because old snapshots and waivers contain their ids.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from migrations_app.checks import catalogue
from migrations_app.checks.base import EVERY, Check, RemedyTool, Severity
from migrations_app.karpenter.coverage import entries
from migrations_app.karpenter.coverage.entry import Extent
from migrations_app.karpenter.coverage.proofs import PROVEN
from migrations_app.karpenter.hops import every_hop


class CoveredEntry(NamedTuple):
    """A change or known problem that a check covers; `release` is empty for a problem. `extent` says how far all checks
    together cover it, `proven` whether a test plants it."""

    id: str
    subject: str
    release: str
    extent: Extent = "judged"
    proven: bool = False


class CheckDescription(NamedTuple):
    """What the catalogue says about one check. `introduced_by` is the oldest Karpenter minor whose change it covers;
    empty if it covers none."""

    check: Check
    remedies: tuple[RemedyTool, ...]
    covers: tuple[CoveredEntry, ...]
    introduced_by: str

    @property
    def hops(self) -> str:
        return hops_text(self.check.hops)

    @property
    def elsewhere(self) -> tuple[tuple[Severity, str], ...]:
        return severities(self.check)


def describe(check: Check) -> CheckDescription:
    """The description of that check for the catalogue."""
    covers = tuple(
        CoveredEntry(cover.id, cover.subject, cover.release, cover.extent, cover.id in PROVEN)
        for cover in entries.covers(check.id)
    )
    return CheckDescription(check, check.tools, covers, entries.introduced_by(check.id))


def hops_text(hops: tuple[str, ...]) -> str:
    """The hops as text, in path order: "every hop", or each hop; three or more consecutive hops as "first to last"."""
    if hops == EVERY:
        return "every hop"
    road = every_hop()
    runs: list[list[str]] = []
    for hop in sorted(hops, key=road.index):
        if runs and road.index(hop) == road.index(runs[-1][-1]) + 1:
            runs[-1].append(hop)
        else:
            runs.append([hop])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(run) for run in runs)


def severities(check: Check) -> tuple[tuple[Severity, str], ...]:
    """Each severity that differs from the usual one, with its hops as text."""
    hops_by_severity: dict[Severity, list[str]] = {}
    for hop, severity in check.severity_at.items():
        hops_by_severity.setdefault(severity, []).append(hop)
    return tuple(
        (severity, hops_text(tuple(hops))) for severity, hops in hops_by_severity.items() if severity != check.severity
    )


@cache
def all_checks() -> tuple[Check, ...]:
    """Every check, ordered by id. Raises TypeError if a module of the catalogue declares none."""
    module_infos = pkgutil.walk_packages(catalogue.__path__, f"{catalogue.__name__}.")
    return tuple(
        sorted((_load(module.name) for module in module_infos if not module.ispkg), key=lambda check: check.id)
    )


def ids_of(name: str) -> tuple[str, ...]:
    """Every id of the check that has or had that id, today's first; the name alone if there is no such check.

    Older snapshots and waivers hold the ids from before a check was renamed.
    """
    return _ids_by_name().get(name, (name,))


def current_id(name: str) -> str:
    """Today's id of the check that has or had that id; empty if there is no such check."""
    return next(iter(_ids_by_name().get(name, ())), "")


def renamed_checks() -> tuple[tuple[str, ...], ...]:
    """Every id of each check that was renamed, today's first."""
    return tuple((check.id, *check.formerly) for check in all_checks() if check.formerly)


@cache
def _ids_by_name() -> Mapping[str, tuple[str, ...]]:
    every = [(check.id, *check.formerly) for check in all_checks()]
    return {name: ids for ids in every for name in ids}


def _load(name: str) -> Check:
    module = importlib.import_module(name)
    check = getattr(module, "check", None)
    if not isinstance(check, Check):
        raise TypeError(f"{module.__name__} declares no check")
    return check


class Retired(NamedTuple):
    """A check that no longer exists. `since` and `until` are the first and last release of karpdash with it; `instead`
    names its replacements."""

    id: str
    title: str
    since: str
    until: str
    why: str
    instead: tuple[str, ...] = ()


RETIRED: tuple[Retired, ...] = ()
