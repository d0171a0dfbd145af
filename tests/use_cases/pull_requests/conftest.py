"""Fixtures of pull requests: a Git host, a cluster, a person."""

import pytest

from migrations_app.queries.visibility import ALL, visibility_scope
from migrations_app.use_cases.pull_requests.preview import PreviewRequest
from tests.fakes.git_hosts import FakeGitHub, FakeGitLab
from tests.use_cases.people import OPERATE, person, user
from tests.use_cases.pull_requests.stage import CHECK, FILES, HOP, a_delivered_cluster, registered, running


@pytest.fixture(params=[FakeGitHub, FakeGitLab], ids=["github", "gitlab"])
def host(request):
    return request.param(files=dict(FILES))


@pytest.fixture
def address(host, settings, monkeypatch, tmp_path):
    with running(host, settings, monkeypatch, tmp_path) as url, visibility_scope(ALL):
        yield url


@pytest.fixture
def eva(db):
    return person(user("eva", OPERATE))


@pytest.fixture
def asked(host, address):
    cluster = a_delivered_cluster(address)
    repository = registered(host, address)
    return PreviewRequest(cluster=cluster.pk, check=CHECK, hop=HOP, repository=repository, path="clusters/shop")
