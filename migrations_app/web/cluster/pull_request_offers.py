"""Pull requests on the checklist: which checks offer one, and the state of those that there are."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from migrations_app.queries.cluster.detail import ClusterHead
from migrations_app.queries.pull_requests import newest_by_check
from migrations_app.readiness.pull_requests.object_edits import change_of, is_delivered_by_git
from migrations_app.web.cluster.hops import Hop


def offered_requests(request: HttpRequest, head: ClusterHead, *, hop: Hop) -> dict[str, Any]:
    """The context of the offers: `git_checks` for those who may open one on the newest snapshot. Where no fix could be
    a request, nothing is asked for."""
    failing = (finding for finding in hop.findings if finding.status == "fail")
    found = frozenset(finding.id for finding in failing if is_delivered_by_git(finding) and change_of(finding))
    may = head.is_latest and request.user.has_perm("migrations_app.operate_rollout")
    return {
        "git_checks": found if may else frozenset(),
        "requests": newest_by_check(head.id, hop.hop) if found else {},
        "request_url": reverse("cluster-pull-request-new", args=[head.id]),
    }
