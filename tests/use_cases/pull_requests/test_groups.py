"""A repository may be for the clusters of one group: to all others it is not there (T11)."""

import threading
import uuid

import pytest
from django.db import connection
from django.utils import timezone

from migrations_app.clients.git_hosts.github import GitHubRepository
from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.account import Grant
from migrations_app.models.cluster import ClusterGroup
from migrations_app.models.pull_request import CodeRepository, PullRequest
from migrations_app.queries.pull_requests import repository_rows
from migrations_app.queries.visibility import VisibilityScope, permissions_of, visibility_scope
from migrations_app.use_cases.clusters.groups import remove_group
from migrations_app.use_cases.pull_requests import repositories
from migrations_app.use_cases.pull_requests.repositories import limit_repository
from tests.fakes.git_hosts import FakeGitHub
from tests.use_cases.people import OPERATE, person, user
from tests.use_cases.pull_requests.stage import FILES, opened, previewed, registered, verbs

pytestmark = pytest.mark.django_db


@pytest.fixture
def host():
    return FakeGitHub(files=dict(FILES))


def a_group(name: str, *clusters: uuid.UUID) -> ClusterGroup:
    group = ClusterGroup.objects.create(name=name)
    group.clusters.add(*clusters)
    return group


def an_operator(name: str, *groups: ClusterGroup):
    """A person who may prepare and start rollouts of these groups alone."""
    made = user(name)
    for group in groups:
        Grant.objects.create(person=made, role="operator", over=group)
    return made


def seen_by(who, cluster: uuid.UUID | None = None) -> list[str]:
    with visibility_scope(VisibilityScope(permissions_of(who), cluster)):
        return [row.address for row in repository_rows(cluster)]


def test_an_operator_of_one_group_gets_nothing_of_the_repository_of_another(asked, address):
    mine, theirs = a_group("mine", asked.cluster), a_group("theirs")
    ann = an_operator("ann", mine)
    limit_repository(asked.repository, theirs.pk)
    with pytest.raises(NotFound, match="not for this cluster"):
        previewed(asked, person(ann))
    assert (PullRequest.objects.count(), seen_by(ann), seen_by(ann, asked.cluster)) == (0, [], [])

    limit_repository(asked.repository, mine.pk)
    assert previewed(asked, person(ann)).repository_id == asked.repository
    assert seen_by(ann) == seen_by(ann, asked.cluster) == [address]


def test_a_cluster_in_two_groups_opens_only_what_the_person_operates(asked, address):
    """The cluster is in both groups; the person operates one of them."""
    mine, theirs = a_group("mine", asked.cluster), a_group("theirs", asked.cluster)
    ann, both = an_operator("ann", mine), an_operator("both", mine, theirs)
    limit_repository(asked.repository, theirs.pk)
    with pytest.raises(NotFound):
        previewed(asked, person(ann))
    assert (seen_by(ann, asked.cluster), seen_by(both, asked.cluster)) == ([], [address])
    assert previewed(asked, person(both)).repository_id == asked.repository


def test_who_operates_every_cluster_is_held_to_the_clusters_of_the_repository(asked, address, eva):
    theirs = a_group("theirs")
    limit_repository(asked.repository, theirs.pk)
    with pytest.raises(NotFound):
        previewed(asked, eva)
    ivo = user("ivo", OPERATE)
    assert (seen_by(ivo), seen_by(ivo, asked.cluster)) == ([address], [])


def test_a_repository_that_is_limited_after_the_preview_gets_no_branch(asked, host, eva):
    row = previewed(asked, eva)
    limit_repository(asked.repository, a_group("theirs").pk)
    with pytest.raises(Conflict, match="not for this cluster") as refused:
        opened(row, eva)
    assert refused.value.code == "repository_of_others"
    assert (PullRequest.objects.get().state, host.requests) == ("previewed", [])


def test_those_of_before_stay_for_every_cluster(asked, eva):
    assert CodeRepository.objects.get().group is None
    assert previewed(asked, eva).repository_id == asked.repository


def test_a_group_is_kept_while_a_repository_is_for_it_alone(asked):
    group = a_group("mine", asked.cluster)
    limit_repository(asked.repository, group.pk)
    with pytest.raises(Conflict) as refused:
        remove_group(group.pk)
    assert refused.value.code == "repository_of_group"
    limit_repository(asked.repository, None)
    remove_group(group.pk)
    assert not ClusterGroup.objects.exists()
    assert verbs().count("repository.limited") == 2


def test_what_is_no_group_is_refused(asked, host, address):
    with pytest.raises(InvalidInput, match="no group"):
        limit_repository(asked.repository, uuid.uuid4())
    with pytest.raises(InvalidInput, match="no group"):
        registered(host, address + "-other", group=uuid.uuid4())
    with pytest.raises(NotFound):
        limit_repository(uuid.uuid4(), None)


def test_a_group_that_is_removed_while_the_host_answers_is_told(host, address, monkeypatch):
    group, head = a_group("mine"), GitHubRepository.head

    def answered(repository, branch):
        remove_group(group.pk)
        return head(repository, branch)

    monkeypatch.setattr(GitHubRepository, "head", answered)
    with pytest.raises(InvalidInput, match="no group"):
        registered(host, address, group=group.pk)
    assert not CodeRepository.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_group_is_not_removed_while_a_repository_gets_it(monkeypatch):
    if connection.vendor == "sqlite":
        pytest.skip("an SQLite in memory lets no writer wait")
    group = a_group("mine")
    row = CodeRepository.objects.create(kind="github", address="https://x.test/a/b", sealed=b"", made_at=timezone.now())
    told: list[str] = []

    def remove() -> None:
        try:
            remove_group(group.pk)
            told.append("removed")
        except Conflict as refused:
            told.append(refused.code)
        finally:
            connection.close()

    thread = threading.Thread(target=remove)
    record = repositories.record_audit_event

    def recorded(*given, **more):
        """The last step of the transaction: the removal waits for its end, or is over before."""
        thread.start()
        thread.join(1)
        record(*given, **more)

    monkeypatch.setattr(repositories, "record_audit_event", recorded)
    limit_repository(row.pk, group.pk)
    thread.join(30)
    assert (told, CodeRepository.objects.get().group) == (["repository_of_group"], group)
