"""A campaign over two real API servers: killed at every named point, stopped by a wrong release, fixed and done."""

import pytest

from tests.actions import charts
from tests.builders.newest import NEWEST
from tests.servers.apiserver import ApiServer
from tests.servers.processes import discard, folder
from tests.use_cases.campaigns.walk import CAMPAIGN_WORKER, ELSEWHERE, Walk, each_once
from tests.use_cases.rollouts.workers import worker_processes

pytestmark = [pytest.mark.apiserver, pytest.mark.timeout(900)]  # some ninety seconds, and more where others work


@pytest.fixture
def place():
    found = folder("campaign")
    charts.real_chart(found / "d" / "charts", f"v{NEWEST}", version=NEWEST)
    yield found
    discard(found)


@pytest.fixture
def second():
    server = ApiServer()
    yield server
    server.stop()


@pytest.fixture
def people(clean_apiserver, place):
    with worker_processes(clean_apiserver, place, module=CAMPAIGN_WORKER) as found:
        yield found


def test_two_clusters_in_two_waves_with_a_kill_at_every_named_point(people, clean_apiserver, second):  # R02, A25, A40
    points = [one for one in people.ask("points") if one not in ELSEWHERE]
    walk = Walk(people, {"blue": clean_apiserver, "green": second}, deadly=each_once(points))
    walk.whole()
    assert sorted(walk.died) == sorted(points)
