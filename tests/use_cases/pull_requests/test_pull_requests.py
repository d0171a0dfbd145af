"""A fix becomes a request in a repository: previewed, approved, opened once, and nothing half-done is left.

The hosts are stand-ins made from the published API descriptions; no real one was asked.
"""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from migrations_app.checks.changes import ChangeTarget, KarpdashAction, ObjectLabels, ObjectPatch
from migrations_app.clients.git_hosts.github import GitHubRepository
from migrations_app.clients.git_hosts.gitlab import GitLabProject
from migrations_app.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    NotServed,
    PermissionDenied,
    ServerFailed,
    Unauthorized,
    Unreachable,
)
from migrations_app.models.pull_request import PullRequest
from migrations_app.queries.pull_requests import newest_by_check
from migrations_app.use_cases.pull_requests.opening import open_request, refresh_request
from migrations_app.use_cases.pull_requests.preview import PreviewRequest, git_places, proposal_of
from tests.use_cases.people import OPERATE, person, user
from tests.use_cases.pull_requests.stage import (
    CHECK,
    FILE,
    FILES,
    FIXED,
    HOP,
    POOL,
    a_delivered_cluster,
    opened,
    previewed,
    registered,
    verbs,
)

pytestmark = pytest.mark.django_db


def test_a_fix_becomes_a_request_with_its_comments_kept(host, asked, eva):
    row = previewed(asked, eva)
    proposal = proposal_of(row)
    assert host.written() == []
    assert (row.state, row.base, row.commit) == ("previewed", "main", host.branches["main"])
    assert [(one.path, one.old, one.new) for one in proposal.files] == [(FILE, POOL, FIXED)]
    assert '-    consolidateAfter: 0s  # too eager\n+    consolidateAfter: "1m"  # too eager\n' in proposal.diff

    row = opened(row, eva)
    assert (row.state, row.number, row.approved_by_name, row.branch_left) == ("open", 1, "eva", False)
    assert host.commits[host.branches[row.branch]] == FILES | {FILE: FIXED}
    assert host.branches["main"] == row.commit
    assert host.requests[0]["title"] == proposal.title
    assert "never merges" in json.dumps(host.requests[0])
    assert verbs() == [
        "repository.registered", "pull_request.previewed", "pull_request.approved", "pull_request.open",
    ]  # fmt: skip


def test_the_approval_is_written_down_before_the_first_write(host, asked, eva, monkeypatch):
    seen = []

    def made(*_):
        seen.append((PullRequest.objects.get().state, verbs()[-1]))
        raise Conflict("no", code="refused_by_host")

    for client in (GitHubRepository, GitLabProject):
        monkeypatch.setattr(client, "make_branch", made)
    with pytest.raises(Conflict):
        opened(previewed(asked, eva), eva)
    assert seen == [("opening", "pull_request.approved")]


def test_asking_again_finds_the_open_one(host, asked, eva):
    row = opened(previewed(asked, eva), eva)
    assert previewed(asked, eva).pk == row.pk
    assert len(host.requests) == 1


def test_one_that_was_opened_and_forgotten_is_found_on_the_host(host, asked, eva):
    first = opened(previewed(asked, eva), eva)
    PullRequest.objects.all().delete()
    row = opened(previewed(asked, eva), eva)
    assert (row.state, row.number, row.branch) == ("open", 1, first.branch)
    assert len(host.requests) == 1


def test_its_state_is_asked_for_and_told_by_check(host, asked, eva):
    row = opened(previewed(asked, eva), eva)
    host.end(merged=True)
    refresh_request(row.pk, now=timezone.now())
    found = newest_by_check(asked.cluster, HOP)[CHECK]
    assert (found.state, found.number) == ("merged", 1)
    assert found.link.endswith(("/acme/clusters/pull/1", "/acme/clusters/-/merge_requests/1"))
    assert verbs()[-1] == "pull_request.merged"


def test_a_closed_one_leaves_room_for_another(host, asked, eva):
    row = opened(previewed(asked, eva), eva)
    host.end(merged=False)
    refresh_request(row.pk, now=timezone.now())
    assert PullRequest.objects.get().state == "closed"
    del host.branches[row.branch]
    assert opened(previewed(asked, eva), eva).number == 2


def test_the_cluster_tells_where_its_objects_come_from(asked, address):
    (place,) = git_places(asked.cluster)
    assert (place.display_name, place.address, place.path) == (
        "Kustomization flux-system/shop",
        address,
        "clusters/shop",
    )


def test_a_token_that_ended_meanwhile_leaves_nothing(host, asked, eva):
    row = previewed(asked, eva)
    host.token = "another"
    with pytest.raises(Unauthorized):
        opened(row, eva)
    row.refresh_from_db()
    assert (row.state, row.error_code, row.branch_left) == ("failed", "unauthorized", False)
    assert host.written() == []


def test_a_branch_that_is_there_is_not_touched(host, asked, eva):
    row = previewed(asked, eva)
    there = host.push(row.branch, {"x": "y"})
    with pytest.raises(Conflict) as caught:
        opened(row, eva)
    assert caught.value.code == "branch_exists"
    assert host.branches[row.branch] == there
    assert host.written() == []


def test_a_rule_that_protects_branches_leaves_nothing(host, asked, eva):
    row = previewed(asked, eva)
    host.refuses_branches = True
    with pytest.raises(Conflict, match="protected branch rule"):
        opened(row, eva)
    row.refresh_from_db()
    assert (row.state, row.error_code, row.branch_left) == ("failed", "refused_by_host", False)
    assert list(host.branches) == ["main"]


REQUEST_ROUTES = ("/pulls", "/merge_requests")


@pytest.mark.parametrize("status", [403, 422, 500])
def test_a_request_that_is_refused_takes_its_branch_with_it(host, asked, eva, status):
    row = previewed(asked, eva)
    host.breaks = {f"POST {host.base}{one}": status for one in _whole(host)}
    with pytest.raises((Conflict, Forbidden, ServerFailed)):
        opened(row, eva)
    row.refresh_from_db()
    assert (row.state, row.branch_left) == ("failed", False)
    assert list(host.branches) == ["main"]
    assert verbs()[-1] == "pull_request.failed"


def _whole(host):
    at = "/repos/acme/clusters" if host.kind == "github" else "/projects/acme%2Fclusters"
    return [f"{at}{one}" for one in REQUEST_ROUTES]


def test_a_branch_that_cannot_be_deleted_is_told(host, asked, eva):
    row = previewed(asked, eva)
    host.breaks = {f"POST {host.base}{one}": 500 for one in _whole(host)}
    for name in (row.branch, row.branch.replace("/", "%2F")):
        host.breaks |= {
            f"DELETE {host.base}/repos/acme/clusters/git/refs/heads/{name}": 403,
            f"DELETE {host.base}/projects/acme%2Fclusters/repository/branches/{name}": 403,
        }
    with pytest.raises(ServerFailed):
        opened(row, eva)
    row.refresh_from_db()
    assert (row.state, row.branch_left) == ("failed", True)
    assert row.branch in host.branches


def test_an_answer_that_is_lost_is_settled_by_reading(host, asked, eva):
    row = previewed(asked, eva)
    host.drops = {f"POST {host.base}{one}" for one in _whole(host)}
    row = opened(row, eva)
    assert (row.state, row.number) == ("open", 1)
    assert len(host.requests) == 1


def test_a_lost_answer_about_the_branch_says_that_it_may_be_left(host, asked, eva):
    row = previewed(asked, eva)
    host.drops = {"/git/refs", "/repository/commits"}
    with pytest.raises(Unreachable):
        opened(row, eva)
    row.refresh_from_db()
    assert (row.state, row.branch_left, row.branch in host.branches) == ("failed", True, True)


def test_a_file_that_changed_since_the_preview_is_not_overwritten(host, asked, eva):
    row = previewed(asked, eva)
    host.push("main", FILES | {FILE: POOL.replace("weight: 10", "weight: 11")})
    with pytest.raises(Conflict, match="preview again"):
        opened(row, eva)
    assert host.written() == []


def test_another_file_that_changed_is_kept(host, asked, eva):
    row = previewed(asked, eva)
    host.push("main", FILES | {"README.md": "new\n"})
    row = opened(row, eva)
    assert host.commits[host.branches[row.branch]] == FILES | {"README.md": "new\n", FILE: FIXED}


def test_only_what_was_shown_is_opened_and_only_once(host, asked, eva):
    row = previewed(asked, eva)
    with pytest.raises(Conflict, match="stale"):
        open_request(row.pk, eva, digest="0" * 64, now=timezone.now())
    with pytest.raises(Conflict, match="stale"):
        open_request(row.pk, eva, digest=row.digest, now=timezone.now() + timedelta(days=2))
    opened(row, eva)
    with pytest.raises(Conflict, match="used already"):
        opened(row, eva)
    assert len(host.requests) == 1


def test_tokens_and_people_without_the_right_open_none(host, asked, eva):
    row = previewed(asked, eva)
    who = user("tom", OPERATE)
    with pytest.raises(PermissionDenied):
        open_request(row.pk, person(who, method="token"), digest=row.digest, now=timezone.now())
    with pytest.raises(PermissionDenied):
        open_request(row.pk, person(user("vic")), digest=row.digest, now=timezone.now())
    with pytest.raises(PermissionDenied):
        previewed(asked, person(user("wim")))
    assert host.written() == []


def test_an_opening_that_ended_in_the_middle_is_settled(host, asked, eva):
    row = previewed(asked, eva)
    long_ago = timezone.now() - timedelta(minutes=5)
    PullRequest.objects.update(state="opening", approved_at=timezone.now())
    with pytest.raises(Conflict):
        refresh_request(row.pk, now=timezone.now())
    PullRequest.objects.update(approved_at=long_ago)
    host.push(row.branch, FILES)
    refresh_request(row.pk, now=timezone.now())
    row.refresh_from_db()
    assert (row.state, row.error_code, row.branch_left) == ("failed", "interrupted", True)


@pytest.mark.parametrize(
    ("files", "path", "code"),
    [
        ({"clusters/shop/other.yaml": "kind: ConfigMap\n"}, "clusters/shop", "not_in_files"),
        ({FILE: POOL, "clusters/shop/copy.yaml": POOL}, "clusters/shop", "in_several_files"),
        ({FILE: FIXED}, "clusters/shop", "nothing_to_change"),
        ({FILE: POOL + "---\nkind: Secret\n"}, FILE, "secret_in_file"),
        ({FILE: POOL.replace("spec:", "spec: &x")}, FILE, None),
        ({FILE: "{{ if .Values.on }}\n" + POOL + "{{ end }}\n"}, FILE, "not_in_files"),
        ({f"clusters/shop/{number}.yaml": POOL for number in range(61)}, "clusters/shop", "too_many_files"),
        ({FILE: POOL}, "clusters/../x", "bad_path"),
        ({FILE: POOL}, "elsewhere", "no_path"),
    ],
)
def test_a_repository_without_one_place_for_the_fix_is_told(host, asked, eva, files, path, code):
    host.push("main", files)
    if code is None:
        assert proposal_of(previewed(asked, eva, path=path)).files
        return
    with pytest.raises((InvalidInput, NotServed)) as caught:
        previewed(asked, eva, path=path)
    assert caught.value.code == code
    assert not PullRequest.objects.exists()


def test_a_branch_that_is_not_there_is_told(asked, eva):
    with pytest.raises(NotServed) as caught:
        previewed(asked, eva, branch="gone")
    assert caught.value.code == "no_branch"


@pytest.mark.parametrize(
    "change",
    [
        KarpdashAction(action="x"),
        ObjectPatch(target=ChangeTarget("NodePool", "shop"), body={"status": {}}, subresource="status"),
    ],
)
def test_a_fix_that_no_file_holds_is_told(address, host, eva, change):
    cluster = a_delivered_cluster(address, change)
    asked = PreviewRequest(cluster=cluster.pk, check=CHECK, hop=HOP, repository=registered(host, address), path=FILE)
    with pytest.raises(InvalidInput) as caught:
        previewed(asked, eva)
    assert caught.value.code == "no_file_change"


def test_marks_are_changes_of_a_file_too(address, host, eva):
    change = ObjectLabels(target=ChangeTarget("NodePool", "shop"), given={"team": "a"}, removed=("old",))
    cluster = a_delivered_cluster(address, change)
    asked = PreviewRequest(cluster=cluster.pk, check=CHECK, hop=HOP, repository=registered(host, address), path=FILE)
    assert "+  labels:\n+    team: a\n" in proposal_of(previewed(asked, eva)).diff
