"""All checks: what each asks, why, at which hops, and where that is written."""

from typing import NamedTuple

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from migrations_app.checks.base import Check
from migrations_app.checks.registry import all_checks
from migrations_app.checks.values import EVERY, PHASES
from migrations_app.karpenter.hops import HOPS
from migrations_app.web.access import page

SEVERITIES = ("blocker", "warning", "info")


class Entry(NamedTuple):
    """One check as the page shows it; `hops` is a sentence."""

    id: str
    title: str
    phase: str
    severity: str
    severity_at: tuple[tuple[str, str], ...]
    hops: str
    why: str
    reads: tuple[str, ...]
    sources: tuple[str, ...]


@page()
def catalogue(request: HttpRequest) -> HttpResponse:
    """The catalogue by phase, filtered by what the address asks for."""
    q, severity, hop = (request.GET.get(name, "")[:100] for name in ("q", "severity", "hop"))
    fitting = [_entry(check) for check in all_checks() if _fits(check, q=q, severity=severity, hop=hop)]
    phases = [(phase, [entry for entry in fitting if entry.phase == phase]) for phase in PHASES]
    context = {
        "section": "catalogue",
        "phases": [(phase, entries) for phase, entries in phases if entries],
        "total": len(all_checks()),
        "q": q,
        "severity": severity,
        "hop": hop,
        "severities": SEVERITIES,
        "hops": HOPS,
    }
    return render(request, "catalogue/page.html", context)


def _entry(check: Check) -> Entry:
    hops = "every hop" if check.hops == EVERY else ", ".join(check.hops)
    return Entry(
        check.id,
        check.title,
        check.phase,
        check.severity,
        tuple(check.severity_at.items()),
        hops,
        check.why,
        check.reads,
        check.sources,
    )


def _fits(check: Check, *, q: str, severity: str, hop: str) -> bool:
    if severity in SEVERITIES and severity not in (check.severity, *check.severity_at.values()):
        return False
    if hop in HOPS and not check.applies(hop):
        return False
    text = f"{check.id} {check.title} {check.why}".lower()
    return all(word in text for word in q.lower().split())
