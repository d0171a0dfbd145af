"""A campaign over two real API servers in two waves: killed, stopped by a wrong release, fixed, resumed and done."""

from contextlib import suppress
from dataclasses import replace

import pytest

from tests.acceptance import chart, clusters
from tests.acceptance.real_clusters import load
from tests.actions import charts
from tests.newest import NEWEST
from tests.servers.api_client import RefusedError
from tests.servers.apiserver import ApiServer
from tests.servers.processes import discard, folder
from tests.use_cases.rollouts import witness
from tests.use_cases.rollouts.crew import KILLED, Crew, crew

pytestmark = pytest.mark.apiserver
OVERSEER = "tests.use_cases.campaigns.overseer"
CLEAN = clusters.find("v1-13")
WRONG = "1.2.3"
"""A release that is neither the one before nor the one that the campaign leads to."""
TOLD_BY_THE_CONTROLLER = ("Deployment", "Secret")


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
    with crew(clean_apiserver, place, module=OVERSEER) as found:
        found.ask("enlist")
        yield found


def oversee(people, campaign, *point) -> int:
    """How a worker ended that walks the campaign until it waits for somebody."""
    people.pids.append(people.ask("oversee", campaign, *point))
    return people.wait(people.pids[-1])


def runs(server, release) -> None:
    """What `helm upgrade` leaves: the Deployment of the release, and its record."""
    for document in chart.objects(replace(CLEAN, version=release).chart):
        if document["kind"] in TOLD_BY_THE_CONTROLLER:
            with suppress(RefusedError):
                server.admin.request("DELETE", server.admin.path_of(document))
            load(server, [document])


def journey(people, campaign, name) -> str:
    return str(people.ask("board", campaign)["clusters"][name][3])


def ticked(people, campaign, name) -> None:
    """Confirms each step of that cluster's journey that waits for a person, and lets a worker go on."""
    made = journey(people, campaign, name)
    while (here := people.ask("standing", made))["waits"] == "tick_needed":
        step = next(one[0] for one in here["steps"] if one[2] == "running")
        people.ask("tick", made, step, f"{step} was weighed")
        assert oversee(people, campaign) == 0


def upgraded(people, campaign, name, server) -> None:
    """From its first tick until its controller is upgraded with the right release and the rest is confirmed."""
    ticked(people, campaign, name)
    made = journey(people, campaign, name)
    assert people.ask("standing", made)["waits"] == "work_outside", people.ask("standing", made)
    runs(server, NEWEST)
    for _ in range(2):
        people.ask("look_again", made)
        assert oversee(people, campaign) == 0
        ticked(people, campaign, name)


def written(server, mark, people, made) -> list[witness.Seen]:
    """What the rollouts of the journey wrote, by the server's own audit log, after our journal was compared with it."""
    found = []
    for rollout in people.ask("rollouts", made):
        seen = Crew(people.process, server, mark)
        assert seen.complaints(rollout) == []
        found += [one for one in witness.requests(server.audit_events(mark), of=rollout) if one.took_effect]
    return found


def test_two_clusters_in_two_waves_one_stopped_fixed_and_resumed(people, clean_apiserver, second):  # R02, A25, A40
    servers = {"blue": clean_apiserver, "green": second}
    marks = {}
    for name, server in servers.items():
        load(server, clusters.objects(CLEAN))
        marks[name] = server.audit_mark()
        cluster = people.ask("register", server.kubeconfig(server.admin_token), name)
        people.ask("waive", cluster, "kubernetes_inside_window", "running_release_fits_kubernetes")
        assert people.ask("scan", cluster) == "done"
    campaign = people.ask("campaign", f"karpenter-{NEWEST}")
    board = people.ask("board", campaign)
    assert (board["state"], {name: one[:2] for name, one in board["clusters"].items()}) == (
        "previewed", {"blue": [0, "waiting"], "green": [1, "waiting"]},
    ), board  # fmt: skip

    people.ask("agree", campaign)
    for point in ("after_prepare", "after_cover", "after_start"):
        assert oversee(people, campaign, point) == KILLED
    assert oversee(people, campaign) == 0
    ticked(people, campaign, "blue")
    blue = journey(people, campaign, "blue")
    runs(clean_apiserver, WRONG)
    people.ask("look_again", blue)
    assert oversee(people, campaign) == 0
    board = people.ask("board", campaign)
    assert (board["state"], board["cause"], board["words"]) == ("paused", "other_release", "blue"), board
    assert [board["clusters"][name][1] for name in servers] == ["stopped", "waiting"]
    assert not [one for one in second.audit_events(marks["green"]) if one["verb"] in ("create", "patch", "update")
                and one["user"]["username"] == "admin" and "karpenter" in one["requestURI"]]  # fmt: skip

    runs(clean_apiserver, NEWEST)
    failed = next(one[0] for one in people.ask("standing", blue)["steps"] if one[2] == "failed")
    people.ask("retry", blue, failed)
    people.ask("look_again", blue)
    assert oversee(people, campaign) == 0
    people.ask("go_on", campaign)
    for _ in range(2):
        assert oversee(people, campaign) == 0
        ticked(people, campaign, "blue")
        people.ask("look_again", blue)
    assert oversee(people, campaign) == 0
    board = people.ask("board", campaign)
    assert (board["state"], board["clusters"]["blue"][1]) == ("running", "done"), board

    upgraded(people, campaign, "green", second)
    board = people.ask("board", campaign)
    assert (board["state"], {one[1] for one in board["clusters"].values()}) == ("succeeded", {"done"}), board
    for name, server in servers.items():
        requests = written(server, marks[name], people, journey(people, campaign, name))
        assert len({one.step for one in requests}) == len(requests) > 0
    assert people.ask("chain") is True
    verbs = people.ask("verbs", campaign)
    assert [verbs.count(f"campaign.member_{word}") for word in ("begun", "covered", "started", "done", "stopped")] == [
        2, 2, 2, 2, 1,
    ]  # fmt: skip
    assert verbs[-1] == "campaign.succeeded"
