"""Workers that are killed in the middle of a rehearsal: it is played again, or ends; nothing else is lost."""

import pytest

from tests.installations.installation import Installation, kill_all, kill_pool
from tests.installations.slow_cluster import SlowCluster
from tests.servers.waiting import eventually

STATE = "SELECT state, attempts, error_code, length(result) > 0 FROM migrations_app_rehearsal"
PLAN = "SELECT state, version FROM migrations_app_rollout"
RECORDED = "SELECT verb, outcome FROM migrations_app_auditevent WHERE verb LIKE 'rehearsal.%' ORDER BY seq"


def wait_until_pods_are_asked_for(slow: SlowCluster) -> None:
    assert slow.asked.acquire(timeout=90), "nobody lists the pods"


def ended(site: Installation) -> tuple[object, ...]:
    """State, attempts, error, and whether there is a result."""
    eventually(lambda: site.rows(STATE)[0][0] in ("finished", "failed"), what="the rehearsal to end", seconds=90)
    state, attempts, code, kept = site.rows(STATE)[0]
    return state, attempts, code, bool(kept)


@pytest.mark.parametrize("kill", [kill_all, kill_pool])
def test_a_rehearsal_whose_worker_is_killed_is_played_again(  # R02
    site: Installation, slow: SlowCluster, kill: object
) -> None:
    assert callable(kill)
    site.beat()
    worker = site.worker()
    site.ask("rehearse", site.ask("register", slow.kubeconfig, "slow"))
    wait_until_pods_are_asked_for(slow)
    kill(worker)
    assert site.rows(STATE)[0][0] == "running"
    if kill is kill_all:
        site.worker()
    wait_until_pods_are_asked_for(slow)
    slow.go_on.set()
    assert (ended(site), site.rows(PLAN)) == (("finished", 2, "", True), [("previewed", 1)])
    assert site.rows(RECORDED) == [("rehearsal.requested", "requested"), ("rehearsal.finished", "finished")]


def test_a_rehearsal_that_kills_every_worker_fails_and_costs_nothing_else(  # R36
    site: Installation, slow: SlowCluster
) -> None:
    site.beat()
    worker = site.worker()
    site.ask("rehearse", site.ask("register", slow.kubeconfig, "slow"))
    for _ in range(2):
        wait_until_pods_are_asked_for(slow)
        kill_pool(worker)
    assert (ended(site), site.rows(PLAN)) == (("failed", 2, "worker_lost", False), [("previewed", 1)])
    assert site.rows(RECORDED)[-1] == ("rehearsal.failed", "worker_lost")
