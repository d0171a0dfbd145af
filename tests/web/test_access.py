"""Every address declares who may open it, and the cast gets exactly that."""

import uuid

import pytest
from django.test import Client
from django.urls import reverse

from migrations_app.models.account import TemporaryPassword
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.web import access
from migrations_app.web.urls import urlpatterns
from tests.builders.rows import a_cluster, a_snapshot
from tests.web.rollouts.addresses import DECLARED

pytestmark = pytest.mark.django_db
LOOK = {
    "fleet", "password", "catalogue", "glossary", "cluster", "cluster-nodes", "cluster-parts", "cluster-history",
    "cluster-changes", "cluster-progress", "cluster-convert", "convert", "cluster-iam",
    "cluster-plan", "cluster-plan-slash", "cluster-waivers", "waivers", "tokens", "tool",
    "burndown", "burndown-csv", "burndown-line", "burndown-svg", "groups", "fleet-causes", "fleet-csv", "search",
    "samples",
}  # fmt: skip
OPEN = {"login", "logout", "oidc", "oidc-back"}  # those of the identity provider are tested in sign_in/test_oidc.py
RIGHTS = {
    "cluster-new": "add_cluster",
    "cluster-scan": "add_scan",
    "cluster-connection": "change_cluster",
    "cluster-change": "change_cluster",
    "cluster-remove": "delete_cluster",
    "cluster-waive": "change_cluster",
    "cluster-labels": "change_cluster",
}
RIGHTS_TO_LOOK = dict.fromkeys(("audit", "audit-jsonl", "audit-csv"), "view_auditevent")
FLEET_SCANS = {"fleet-scan": access.SIGNED_IN, "fleet-scan-all": "add_scan"}  # tested in fleet/test_scans.py
WAIVERS = {"waiver-revoke": "change_cluster"}  # tested in clusters/test_waivers.py
GROUPS = {  # tested in fleet/test_groups.py
    "group": access.SIGNED_IN, "fleet-view-keep": access.SIGNED_IN, "fleet-view-forget": access.SIGNED_IN,
    "fleet-scan-chosen": "add_scan",
    "fleet-waive-chosen": "change_cluster",  # tested in fleet/test_bulk_waivers.py
    "fleet-export-chosen": access.SIGNED_IN,
    "fleet-labels": "change_cluster", "fleet-members": "administer_policy", "group-new": "administer_policy",
    "cluster-join": "administer_policy",  # tested in clusters/test_joining.py
    "group-change": "administer_policy", "group-members": "administer_policy", "group-remove": "administer_policy",
}  # fmt: skip
SAMPLES = {"sample": access.SIGNED_IN, "sample-next": access.SIGNED_IN, "sample-sign-in": access.OPEN} | {
    "sample-do": "operate_rollout", "sample-reset": "operate_rollout", "samples-remove": "delete_cluster",
    "samples-add": "add_cluster",
}  # fmt: skip
"""Tested in samples/test_samples.py and tests/access."""
REHEARSALS = {"rollout-rehearse": "operate_rollout"}  # tested in rollouts/test_rehearsal.py
PEOPLE = {
    "people": "change_grant",
    "people-change": "change_grant",
    "services": "change_grant",
    "service": "change_grant",
    "service-token-revoke": "change_grant",
    "provisioning": "change_grant",  # tested in tests/scim/test_tokens.py
    "provisioning-token-revoke": "change_grant",
    "token-revoke": access.SIGNED_IN,
    "oidc-again": access.SIGNED_IN,
}  # tested in settings/test_people.py, test_services.py, test_tokens.py, and sign_in/test_oidc_again.py
FEEDS = {
    "feeds": access.SIGNED_IN,
    "feed-revoke": access.SIGNED_IN,
    "feed": access.OPEN,
}  # tested in feeds/test_feeds.py
NEWS = dict.fromkeys(
    ("notifications", "channel-change", "channel-forget", "channel-rotate", "channel-test", "delivery-resend"),
    "administer_policy",
)  # tested in settings/test_notifications.py
JOURNEYS = dict.fromkeys(("cluster-journey", "journeys", "journey", "journey-live"), access.SIGNED_IN) | {
    "cluster-journey-plan": "operate_rollout", "journey-ask": "operate_rollout", "journey-approve": "approve_rollout",
    "journey-reject": "operate_rollout", "journey-start": "operate_rollout", "journey-pause": "operate_rollout",
    "journey-resume": "operate_rollout", "journey-abort": "operate_rollout", "journey-tick": "operate_rollout",
    "journey-skip": "operate_rollout", "journey-retry": "operate_rollout", "journey-accept": "operate_rollout",
    "journey-take-back": "operate_rollout", "journey-disruption": "operate_rollout",
}  # fmt: skip
"""Tested in journeys/test_pages.py and tests/access."""
CAMPAIGNS = dict.fromkeys(
    ("campaigns", "campaign", "campaign-live", "campaign-receipt", "campaign-calendar",
     "campaign-waiting"), access.SIGNED_IN
) | {
    "campaign-new": "operate_rollout", "campaign-create": "operate_rollout", "campaign-ask": "operate_rollout",
    "campaign-approve": "approve_rollout", "campaign-take-back": "approve_rollout",
    "campaign-decide": "operate_rollout",
    "campaign-reject": "operate_rollout", "campaign-start": "operate_rollout", "campaign-pause": "operate_rollout",
    "campaign-resume": "operate_rollout", "campaign-abort": "operate_rollout", "campaign-open-wave": "operate_rollout",
    "campaign-leave-out": "operate_rollout", "campaign-try-again": "operate_rollout",
}  # fmt: skip
"""Tested in campaigns/test_pages.py and tests/access."""
ORGANIZATIONS = dict.fromkeys(
    (
        "organizations", "organization-new", "organization", "organization-cloudformation", "organization-terraform",
        "organization-look", "organization-register", "organization-remove",
    ),
    "add_cluster",
)  # fmt: skip
"""Tested in organizations/test_pages.py and tests/access."""
PULL_REQUESTS = {
    "repositories": "administer_policy", "repository-limit": "administer_policy",
    "repository-forget": "administer_policy", "pull-request": access.SIGNED_IN,
    "cluster-pull-requests": access.SIGNED_IN, "cluster-pull-request-new": "operate_rollout",
    "pull-request-open": "operate_rollout", "pull-request-refresh": "operate_rollout",
}  # fmt: skip
"""Tested in pull_requests/test_pages.py and tests/access."""
AGENTS = dict.fromkeys(("agent-hello", "agent-poll", "agent-begin", "agent-piece", "agent-bye"), access.OPEN) | {
    "cluster-agent": "change_cluster"
}
"""Tested in agents/test_page.py and tests/agents; agents show a token of their own."""
POST_ONLY = {"logout", "cluster-scan"}
MUTATING = set(RIGHTS) | {"logout", "password", "convert"}


def address(name, cluster=None):
    if not name.startswith("cluster") or name == "cluster-new":
        return reverse(name)
    return reverse(name, args=[cluster.pk if cluster else uuid.UUID(int=5)])


def test_every_address_declares_its_right():
    declared = {route.name: getattr(route.callback, "right", None) for route in urlpatterns}
    expected = (
        dict.fromkeys(LOOK, access.SIGNED_IN) | dict.fromkeys(OPEN, access.OPEN) | RIGHTS | RIGHTS_TO_LOOK | DECLARED
    )
    more = FLEET_SCANS | WAIVERS | GROUPS | SAMPLES | PEOPLE | NEWS | JOURNEYS | CAMPAIGNS | REHEARSALS | ORGANIZATIONS
    assert declared == expected | more | FEEDS | PULL_REQUESTS | AGENTS


@pytest.mark.parametrize("name", sorted(LOOK | set(RIGHTS)))
@pytest.mark.parametrize("method", ["get", "post"])
def test_dan_is_sent_to_the_sign_in(dan, name, method):
    url = address(name, a_cluster())
    answer = getattr(dan, method)(url)
    assert (answer.status_code, answer.url) == (302, f"/login?next={url}")


@pytest.mark.parametrize("name", sorted(LOOK - {"password"}))
def test_ben_may_look(ben, name):
    cluster = a_cluster()
    snapshot = a_snapshot(cluster)
    query = {"before": snapshot.pk, "after": snapshot.pk} if name == "cluster-changes" else {}
    assert ben.get(address(name, cluster), query).status_code == 200


@pytest.mark.parametrize("name", sorted(RIGHTS))
def test_ben_may_not_change(ben, name):
    cluster = a_cluster("kept")
    answer = ben.post(address(name, cluster), {"name": "kept"})
    assert answer.status_code == 403
    assert "Your account may not" in answer.content.decode()
    assert (Scan.objects.count(), Cluster.objects.get().name) == (0, "kept")


def test_cleo_may_scan_and_nothing_else(cleo, woken):
    cluster = a_cluster()
    assert cleo.post(address("cluster-scan", cluster)).status_code == 302
    refused = [name for name in RIGHTS if cleo.post(address(name, cluster)).status_code == 403]
    assert sorted(refused) == sorted(set(RIGHTS) - {"cluster-scan"})


CLUSTERS = sorted({one for one in set(RIGHTS) | LOOK if one.startswith("cluster")} - {"cluster-new"})


@pytest.mark.parametrize("name", CLUSTERS)
def test_absent_clusters_are_404(ada, name):
    method = ada.post if name in RIGHTS else ada.get
    query = {"before": uuid.UUID(int=1), "after": uuid.UUID(int=2)} if name == "cluster-changes" else {"name": "x"}
    assert method(address(name), query).status_code == 404


@pytest.mark.parametrize("name", sorted(POST_ONLY))
def test_no_effect_on_get(ada, name):
    cluster = a_cluster()
    assert ada.get(address(name, cluster)).status_code == 405
    assert Scan.objects.count() == 0


@pytest.mark.parametrize("name", sorted(MUTATING))
def test_no_change_without_the_token(ada, name):
    cluster = a_cluster("kept")
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = ada.cookies
    answer = strict.post(address(name, cluster), {"name": "kept"})
    assert answer.status_code == 403
    assert "Your session expired" in answer.content.decode()
    assert (Scan.objects.count(), Cluster.objects.count()) == (0, 1)


@pytest.mark.parametrize("name", sorted(MUTATING | {"login"}))
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_no_change_from_another_site(ada, name, site):
    cluster = a_cluster("kept")
    answer = ada.post(address(name, cluster), {"name": "kept"}, headers={"Sec-Fetch-Site": site})
    assert (answer.status_code, Cluster.objects.count(), Scan.objects.count()) == (403, 1, 0)


def test_a_one_time_password_opens_one_page(ada):
    TemporaryPassword.objects.create(user_id=ada.session["_auth_user_id"])
    assert ada.get("/").url == reverse("password")
    assert ada.get(reverse("password")).status_code == 200


@pytest.mark.parametrize("path", ["/", "/login", "/catalogue/", "/clusters/new", "/nowhere"])
def test_headers_of_every_page(ada, path):
    headers = ada.get(path).headers
    policy = headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["X-Frame-Options"] == "DENY"
    assert "no-store" in headers["Cache-Control"]
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
