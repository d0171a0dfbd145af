"""The catalogue of checks: what each check asks, why, how, at which hops, its possible results and its sources."""

from functools import cache

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from migrations_app.checks.base import PHASES
from migrations_app.checks.registry import RETIRED, CheckDescription, all_checks, describe
from migrations_app.karpenter.coverage.entries import CHANGES, KNOWN_PROBLEMS, counted
from migrations_app.karpenter.upgrade_path import HOPS
from migrations_app.texts import text as _
from migrations_app.web.access import require_right

SEVERITIES = ("blocker", "warning", "info")


@require_right()
def catalogue(request: HttpRequest) -> HttpResponse:
    """The catalogue by phase, filtered by the query string."""
    q, severity, hop = (request.GET.get(name, "")[:100] for name in ("q", "severity", "hop"))
    descriptions = _descriptions()
    matches = [description for description in descriptions if _matches(description, q=q, severity=severity, hop=hop)]
    phases = [(phase, [description for description in matches if description.check.phase == phase]) for phase in PHASES]
    context = {
        "section": "catalogue",
        "phases": [
            (phase, [_entry(description.check.id) for description in entries]) for phase, entries in phases if entries
        ],
        "retired": RETIRED,
        "coverage": ((_("Changes of releases"), counted(CHANGES)), (_("Known problems"), counted(KNOWN_PROBLEMS))),
        "total": len(descriptions),
        "q": q,
        "severity": severity,
        "hop": hop,
        "severities": SEVERITIES,
        "hops": HOPS,
    }
    return render(request, "catalogue/page.html", context)


@cache
def _entry(check_id: str) -> SafeString:
    """Returns the entry of a check as HTML. Cached: it depends on the release alone, and there are more than a
    hundred.
    """
    entry = next(description for description in _descriptions() if description.check.id == check_id)
    return render_to_string("catalogue/_entry.html", {"entry": entry, "check": entry.check})


@cache
def _descriptions() -> tuple[CheckDescription, ...]:
    return tuple(describe(check) for check in all_checks())


def _matches(description: CheckDescription, *, q: str, severity: str, hop: str) -> bool:
    check = description.check
    if severity in SEVERITIES and severity not in (check.severity, *check.severity_at.values()):
        return False
    if hop in HOPS and not check.applies(hop):
        return False
    covers = " ".join(f"{cover.id} {cover.subject}" for cover in description.covers)
    text = f"{check.id} {check.title} {check.why} {check.how} {covers} {' '.join(check.formerly)}".lower()
    return all(word in text for word in q.lower().split())
