"""The pages of pull requests: from the checklist to an open request, and what is refused on the way."""

import html
import re
import uuid

import pytest
from django.urls import reverse

from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.pull_request import CodeRepository, PullRequest
from tests.builders.pull_requests import a_pull_request
from tests.builders.rows import a_cluster
from tests.fakes.git_hosts import TOKEN, FakeGitHub
from tests.readiness.pull_requests.test_conversion import BETA
from tests.use_cases.pull_requests.stage import CHECK, FILES, HOP, a_delivered_cluster, running

pytestmark = pytest.mark.django_db


@pytest.fixture
def host():
    return FakeGitHub(files=dict(FILES))


@pytest.fixture
def address(host, settings, monkeypatch, tmp_path):
    with running(host, settings, monkeypatch, tmp_path) as url:
        yield url


def page(client, name, *args, **query):
    answer = client.get(reverse(name, args=args), query)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def registered(ada, address, **changed):
    said = {
        "kind": "github",
        "address": address,
        "secret": TOKEN,
        "app": "",
        "installation": "",
        "group": "every",
    } | changed
    return ada.post(reverse("repositories"), said)


def new(ada, cluster, **changed):
    said = {
        "check": CHECK, "hop": HOP, "repository": str(CodeRepository.objects.get().pk), "path": "clusters/shop",
        "branch": "",
    }  # fmt: skip
    return ada.post(reverse("cluster-pull-request-new", args=[cluster.pk]), said | changed)


def test_from_the_checklist_to_an_open_request_and_back(ada, ben, host, address):
    cluster = a_delivered_cluster(address)
    assert registered(ada, address).status_code == 302
    asked = {"hop": HOP}
    assert "Open a pull request" in page(ada, "cluster", cluster.pk, **asked)
    assert "Open a pull request" not in page(ben, "cluster", cluster.pk, **asked)

    form = page(ada, "cluster-pull-request-new", cluster.pk, check=CHECK, hop=HOP)
    assert "Kustomization flux-system/shop" in form
    assert 'value="clusters/shop"' in form
    answer = new(ada, cluster)
    row = PullRequest.objects.get()
    assert answer.url == reverse("pull-request", args=[row.pk])
    preview = page(ada, "pull-request", row.pk)
    assert '+    consolidateAfter: "1m"  # too eager' in preview
    assert "Approve and open it" in preview
    seen = page(ben, "pull-request", row.pk)
    assert ('+    consolidateAfter: "1m"  # too eager' in seen, "Approve and open it" in seen) == (True, False)
    assert host.requests == []

    ada.post(reverse("pull-request-open", args=[row.pk]), {"digest": row.digest})
    assert len(host.requests) == 1
    assert f'href="{address}/pull/1"' in page(ada, "pull-request", row.pk)
    listed = page(ben, "cluster", cluster.pk, **asked)
    assert f'href="{address}/pull/1"' in listed
    assert "Open a pull request" not in page(ada, "cluster", cluster.pk, **asked)
    host.end(merged=True)
    ada.post(reverse("pull-request-refresh", args=[row.pk]))
    assert "merged" in page(ben, "cluster-pull-requests", cluster.pk)


def test_manifests_are_converted_from_the_list_of_requests(ada, ben, host, address):
    cluster = a_delivered_cluster(address)
    registered(ada, address)
    link = "?check=conversion&hop=v1"
    assert f'href="{reverse("cluster-pull-request-new", args=[cluster.pk])}{link}"' in page(
        ada, "cluster-pull-requests", cluster.pk
    )
    assert link not in page(ben, "cluster-pull-requests", cluster.pk)
    form = page(ada, "cluster-pull-request-new", cluster.pk, check="conversion", hop="v1")
    assert "Propose converted manifests" in form

    host.push("main", {"clusters/shop/pool.yaml": BETA})
    answer = new(ada, cluster, check="conversion", hop="v1")
    preview = page(ada, "pull-request", PullRequest.objects.get().pk)
    assert answer.status_code == 302
    assert "+apiVersion: karpenter.sh/v1\n" in preview
    refused = new(ada, cluster, check="conversion", hop="v2")
    assert (refused.status_code, PullRequest.objects.count()) == (422, 1)


def test_a_wrong_token_is_told_beside_the_form_and_not_shown_again(ada, address):
    answer = registered(ada, address, secret="token-of-nobody")
    text = html.unescape(answer.content.decode())
    assert answer.status_code == 422
    assert "the host refuses the credential" in text
    assert not CodeRepository.objects.exists()


def test_the_list_shows_no_credential_and_forgets(ada, address):
    registered(ada, address)
    assert TOKEN not in page(ada, "repositories")
    ada.post(reverse("repository-forget", args=[CodeRepository.objects.get().pk]))
    assert not CodeRepository.objects.exists()


def test_for_which_clusters_a_repository_is(ada, address):
    """Without groups there is no choice; with one, nothing is chosen before."""
    assert '<option value="every">Every cluster' in page(ada, "repositories")
    group = ClusterGroup.objects.create(name="shop")
    assert '<option value="" selected>Choose' in page(ada, "repositories")
    assert registered(ada, address, group="").status_code == 422
    assert registered(ada, address, group=str(uuid.uuid4())).status_code == 422
    assert registered(ada, address, group=str(group.pk)).status_code == 302
    row = CodeRepository.objects.get()
    assert row.group == group
    assert re.search(rf'<option value="{group.pk}" selected>\s*shop', page(ada, "repositories"))
    ada.post(reverse("repository-limit", args=[row.pk]), {"group": "nonsense"})
    assert CodeRepository.objects.get().group == group
    ada.post(reverse("repository-limit", args=[row.pk]), {"group": "every"})
    assert CodeRepository.objects.get().group is None


def test_the_group_of_a_repository_is_chosen_also_beyond_the_groups_that_are_offered(ada, address, monkeypatch):
    """With no option chosen, a browser would choose the first, and Save would give the repository to that group."""
    first, group = (ClusterGroup.objects.create(name=name) for name in ("a", "shop"))
    registered(ada, address, group=str(group.pk))
    monkeypatch.setattr("migrations_app.queries.fleet.groups.MAX_GROUPS", 1)
    table = page(ada, "repositories").partition("</table>")[0]
    offered = re.findall(r'<option value="([^"]+)" (selected)?', table)
    assert offered == [(str(first.pk), ""), (str(group.pk), "selected"), ("every", "")]


def test_the_form_offers_the_repositories_of_the_cluster_alone(ada, address):
    cluster = a_delivered_cluster(address)
    group = ClusterGroup.objects.create(name="others")
    registered(ada, address, group=str(group.pk))
    choice, asked = f"{address}</option>", {"check": CHECK, "hop": HOP}
    form = page(ada, "cluster-pull-request-new", cluster.pk, **asked)
    assert choice not in form
    assert "No repository is registered that you may use for this cluster." in form
    assert new(ada, cluster).status_code == 422
    group.clusters.add(cluster)
    assert choice in page(ada, "cluster-pull-request-new", cluster.pk, **asked)


def test_what_is_refused_stands_in_the_form(ada, address):
    cluster = a_delivered_cluster(address)
    registered(ada, address)
    answer = new(ada, cluster, path="elsewhere")
    assert answer.status_code == 422
    assert "no file or folder elsewhere" in html.unescape(answer.content.decode())
    assert new(ada, cluster, check="other").status_code == 404


def test_a_request_that_was_not_opened_says_why_and_what_is_left(ada, host, address):
    cluster = a_delivered_cluster(address)
    registered(ada, address)
    new(ada, cluster)
    row = PullRequest.objects.get()
    host.push(row.branch, {})
    ada.post(reverse("pull-request-open", args=[row.pk]), {"digest": row.digest})
    told = page(ada, "pull-request", row.pk)
    assert "exists already, without an open pull request" in told
    assert "Nothing was left in the repository." in told
    PullRequest.objects.update(branch_left=True)
    assert "delete it there." in page(ada, "pull-request", row.pk)


def test_text_of_files_and_hosts_is_escaped(ada):
    row = a_pull_request(a_cluster(), state="failed", error="<b>no</b>")
    assert "<b>no</b>" not in ada.get(reverse("pull-request", args=[row.pk])).content.decode()
