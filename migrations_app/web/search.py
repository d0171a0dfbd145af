"""Search over clusters, checks, actions, pages and glossary words, as a page and for the command palette."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import resolve, reverse
from django.views.decorators.http import require_safe

from migrations_app.actions.registry import all_actions
from migrations_app.checks.registry import all_checks
from migrations_app.queries.fleet.all_clusters import named_clusters
from migrations_app.queries.glossary import glossary
from migrations_app.texts import text as _
from migrations_app.web.access import may_open, require_right

MAX_HITS = 8
PAGES: tuple[tuple[str, str], ...] = (
    (_("Fleet"), "fleet"),
    (_("Causes: what blocks several clusters"), "fleet-causes"),
    (_("Progress"), "burndown"),
    (_("Rollouts"), "rollouts"),
    (_("Plans that wait for approval"), "rollouts-waiting"),
    (_("Upgrades step by step"), "journeys"),
    (_("Campaigns: many clusters in waves"), "campaigns"),
    (_("Plan a campaign"), "campaign-new"),
    (_("Calendar of campaigns"), "campaign-calendar"),
    (_("Kill switch"), "kill-switch"),
    (_("Policy of rollouts"), "policy"),
    (_("Register a cluster"), "cluster-new"),
    (_("AWS organizations"), "organizations"),
    (_("Groups"), "groups"),
    (_("Waivers"), "waivers"),
    (_("Convert manifests"), "convert"),
    (_("Check catalogue"), "catalogue"),
    (_("Glossary"), "glossary"),
    (_("Audit log"), "audit"),
    (_("Sample clusters to try"), "samples"),
    (_("Notifications"), "notifications"),
    (_("Repositories for pull requests"), "repositories"),
    (_("People and roles"), "people"),
    (_("Service accounts"), "services"),
    (_("API tokens"), "tokens"),
    (_("Feed links"), "feeds"),
    (_("Change your password"), "password"),
    (_("API documentation"), "api-docs"),
)
"""Title and route of every page without parameters; pages that the person may not open are left out."""


@dataclass(frozen=True, slots=True)
class Hit:
    word: str
    url: str
    note: str = ""


@require_right()
@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """The matches of the query; without a query the pages. The palette requests the list alone."""
    q = request.GET.get("q", "").strip()[:100]
    results = {
        "Clusters": _clusters(q) if q else (),
        "Pages": _pages(request, q),
        "Checks": _checks(q) if q else (),
        "Actions": _actions(q) if q else (),
        "Words": _terms(q) if q else (),
    }
    name = "palette/_found.html" if request.headers.get("HX-Request") else "palette/page.html"
    return render(request, name, {"q": q, "found": {kind: hits for kind, hits in results.items() if hits}})


def _clusters(q: str) -> tuple[Hit, ...]:
    rows = named_clusters(q, limit=MAX_HITS)
    return tuple(Hit(name, reverse("cluster", args=[key]), environment) for key, name, environment in rows)


def _pages(request: HttpRequest, q: str) -> tuple[Hit, ...]:
    fit = ((word, reverse(name)) for word, name in PAGES if _matches(q, word))
    open_to = (Hit(word, path) for word, path in fit if may_open(request, resolve(path).func))
    return tuple(open_to)[: MAX_HITS if q else len(PAGES)]


def _terms(q: str) -> tuple[Hit, ...]:
    terms = (line for section in glossary() for line in section.terms if _matches(q, line.words))
    return tuple(Hit(line.words, f"{reverse('glossary')}#{line.key}", line.meaning) for line in terms)[:MAX_HITS]


def _checks(q: str) -> tuple[Hit, ...]:
    fit = (
        Hit(check.title, f"{reverse('catalogue')}#{check.id}", check.id)
        for check in all_checks()
        if _matches(q, f"{check.id} {check.title}")
    )
    return tuple(fit)[:MAX_HITS]


def _actions(q: str) -> tuple[Hit, ...]:
    """Actions lead to the checks that they resolve; a rollout begins at a cluster."""
    fit = (
        Hit(action.title, f"{reverse('catalogue')}?q={action.id}", action.id)
        for action in all_actions()
        if _matches(q, f"{action.id} {action.title}")
    )
    return tuple(fit)[:MAX_HITS]


def _matches(q: str, text: str) -> bool:
    return all(word in text.lower() for word in q.lower().split())
