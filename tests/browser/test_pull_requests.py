"""The pages of pull requests: no barrier, and nothing beyond the edge of a phone."""

import os
from pathlib import Path

import pytest

from migrations_app.models.pull_request import PullRequest
from migrations_app.queries.visibility import ALL, visibility_scope
from migrations_app.use_cases.pull_requests.preview import PreviewRequest
from tests.browser.barriers import WIDTHS, faults
from tests.fakes.git_hosts import FakeGitHub
from tests.use_cases.people import OPERATE, person, user
from tests.use_cases.pull_requests.stage import (
    CHECK,
    FILES,
    HOP,
    a_delivered_cluster,
    opened,
    previewed,
    registered,
    running,
)


@pytest.fixture
def cluster(settings, transactional_db, monkeypatch, tmp_path):
    """A cluster with a preview, and the same request open for another check's name."""
    host = FakeGitHub(files=dict(FILES))
    with running(host, settings, monkeypatch, tmp_path) as address, visibility_scope(ALL):
        found = a_delivered_cluster(address)
        eva = person(user("eva", OPERATE))
        asked = PreviewRequest(
            cluster=found.pk, check=CHECK, hop=HOP, repository=registered(host, address), path="clusters/shop"
        )
        row = opened(previewed(asked, eva), eva)
        PullRequest.objects.filter(pk=row.pk).update(check_id="another")
        host.branches.pop(row.branch)
        host.requests.clear()
        previewed(asked, eva)
        yield found


@pytest.mark.parametrize("width", WIDTHS)
def test_no_barriers_and_no_sideways_scroll(browse, cluster, width):
    page = browse(viewport={"width": width, "height": 800})
    preview = PullRequest.objects.get(state="previewed")
    paths = {
        "repositories": "/settings/repositories",
        "list": f"/clusters/{cluster.pk}/pull-requests",
        "new": f"/clusters/{cluster.pk}/pull-requests/new?check={CHECK}&hop={HOP}",
        "preview": f"/pull-requests/{preview.pk}/",
    }
    for name, path in paths.items():
        page.goto(path)
        if folder := os.environ.get("KARPDASH_SCREENSHOTS"):
            page.screenshot(path=Path(folder) / f"requests-{name}-{width}.png", full_page=True)
        assert (name, faults(page)) == (name, [])
