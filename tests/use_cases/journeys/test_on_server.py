"""A journey of a sample cluster on a real API server: by karpdash, by a person, by time, seen in scans; and killed."""

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from tests.acceptance import chart, clusters
from tests.acceptance.real_clusters import load
from tests.actions import charts
from tests.builders.newest import NEWEST
from tests.servers.api_client import RefusedError
from tests.servers.processes import discard, folder
from tests.use_cases.rollouts import audit_log_reader
from tests.use_cases.rollouts.workers import KILLED, worker_processes

pytestmark = pytest.mark.apiserver
WORKER_MODULE = "tests.use_cases.journeys.worker_process"
CLEAN = clusters.find("v1-13")
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TOLD_BY_THE_CONTROLLER = ("Deployment", "Secret")
"""What tells a scan which release runs: the image, and the record of the Helm release."""


@pytest.fixture
def place():
    found = folder("journey")
    charts.real_chart(found / "d" / "charts", f"v{NEWEST}", version=NEWEST)
    yield found
    discard(found)


@pytest.fixture
def people(clean_apiserver, place):
    with worker_processes(clean_apiserver, place, module=WORKER_MODULE) as found:
        found.mark = clean_apiserver.audit_mark()
        found.ask("enlist")
        yield found


def shift(people, journey, *point) -> int:
    """How a worker ended that walks the journey until it waits for somebody."""
    people.pids.append(people.ask("shift", journey, *point))
    return people.wait(people.pids[-1])


def upgraded(server) -> None:
    """What `helm upgrade` leaves: the Deployment of the new release, and its record."""
    for document in chart.objects(replace(CLEAN, version=NEWEST).chart):
        if document["kind"] in TOLD_BY_THE_CONTROLLER:
            with suppress(RefusedError):
                server.admin.request("DELETE", server.admin.path_of(document))
            load(server, [document])


def standing(people, journey) -> dict[str, Any]:
    return dict(people.ask("standing", journey))


def ticked(people, journey, *point) -> list[str]:
    """Confirms each step that waits for a person, and lets a worker go on; the ids of those steps."""
    found = []
    while (here := standing(people, journey))["waits"] == "tick_needed":
        step = next(one[0] for one in here["steps"] if one[2] == "running")
        people.ask("tick", journey, step, f"{step} was weighed")
        found.append(step)
        last = here["steps"][len(found)][1] != "person"
        ended = shift(people, journey, *(point if last else ()))
        assert ended == (KILLED if last and point else 0), str(standing(people, journey))
    return found


def test_a_journey_is_walked_to_its_end_although_workers_are_killed(people, clean_apiserver):  # R02, A13, A25
    load(clean_apiserver, clusters.objects(CLEAN))
    cluster = people.ask("register", clean_apiserver.kubeconfig(clean_apiserver.admin_token), "shop")
    people.ask("waive", cluster, "kubernetes_inside_window", "running_release_fits_kubernetes")
    journey = people.ask("plan", cluster, f"karpenter-{NEWEST}")
    assert shift(people, journey) == 0
    here = standing(people, journey)
    assert (here["state"], here["lands"], people.ask("shown", journey)) == (
        "previewed", NEWEST, [["upgrade_crds", "shown_in_journey", ""]],
    )  # fmt: skip
    before = {one["metadata"]["name"]: one["spec"] for one in clean_apiserver.admin.items(CRDS)}

    people.ask("approve", journey)
    assert shift(people, journey) == 0
    kinds = [one[1] for one in here["steps"]]
    before_it, after_it = (
        [one[0] for one in part if one[1] == "person"]
        for part in (here["steps"][: kinds.index("rollout")], here["steps"][kinds.index("rollout") :])
    )
    assert ticked(people, journey, "after_draft") == before_it
    assert {one["metadata"]["name"]: one["spec"] for one in clean_apiserver.admin.items(CRDS)} == before
    assert shift(people, journey, "after_start") == KILLED
    assert shift(people, journey) == 0
    here = standing(people, journey)
    assert (here["state"], here["waits"]) == ("running", "work_outside")

    upgraded(clean_apiserver)
    people.ask("look_again", journey)
    assert shift(people, journey) == 0
    assert ticked(people, journey) == after_it
    people.ask("look_again", journey)
    assert shift(people, journey) == 0
    here = standing(people, journey)
    assert (here["state"], {one[2] for one in here["steps"]}) == ("succeeded", {"done"}), here
    by_scan = {one[0] for one in here["steps"] if one[1] not in ("person", "wait")}
    told = {step: proof["verdict"] for step, proof in here["proofs"].items() if step in by_scan}
    assert told == dict.fromkeys(by_scan, "proven")  # a scan is asked of a person's step too: what it showed is kept

    (made,) = people.ask("rollouts", journey)
    assert (people.state(made), people.complaints(made)) == ("succeeded", [])
    written = [
        one for one in audit_log_reader.requests(clean_apiserver.audit_events(people.mark), of=made) if one.took_effect
    ]
    lines = [step for step, _, _, outcome in people.journal(made) if outcome == "applied"]
    assert sorted(one.step for one in written) == sorted(lines)
    assert len(set(lines)) == len(lines) >= len(before)
    assert people.ask("chain") is True
    verbs = people.ask("verbs", journey)
    assert [verbs.count(f"journey.step_{word}") for word in ("planned", "covered", "started")] == [1, 1, 1]
    assert verbs[-1] == "journey.succeeded"


def test_it_is_taken_back_to_a_step_and_asks_before_it_goes_forward(people, clean_apiserver):  # A25, A35, A40, R02
    load(clean_apiserver, clusters.objects(CLEAN))
    cluster = people.ask("register", clean_apiserver.kubeconfig(clean_apiserver.admin_token), "shop")
    people.ask("waive", cluster, "kubernetes_inside_window", "running_release_fits_kubernetes")
    journey = people.ask("plan", cluster, f"karpenter-{NEWEST}")
    assert shift(people, journey) == 0
    before = {one["metadata"]["name"]: one["spec"] for one in clean_apiserver.admin.items(CRDS)}
    people.ask("approve", journey)
    assert shift(people, journey) == 0
    ticked(people, journey)
    here = standing(people, journey)
    assert here["waits"] == "work_outside", here
    rolled = next(one[0] for one in here["steps"] if one[1] == "rollout")
    (forward,) = people.ask("rollouts", journey)
    there = {one["metadata"]["name"]: one["spec"] for one in clean_apiserver.admin.items(CRDS)}
    assert there != before

    shown = people.ask("back", journey, rolled)
    assert (shown[-1], {how for _, how in shown[:-1]}) == ([rolled, "rollback"], {"nothing"})
    assert shift(people, journey, "after_back") == KILLED  # the rollback is drafted, and nobody was woken for it
    assert shift(people, journey, "after_ask") == KILLED
    assert shift(people, journey) == 0
    here = standing(people, journey)
    assert (here["state"], here["waits"]) == ("running", "approval_needed"), here
    assert {one["metadata"]["name"]: one["spec"] for one in clean_apiserver.admin.items(CRDS)} == there

    made = people.ask("agree_back", journey)
    assert shift(people, journey, "after_start") == KILLED
    assert shift(people, journey) == 0
    here = standing(people, journey)
    assert (here["state"], here["cause"]) == ("paused", "taken_back"), here
    assert next(one[2] for one in here["steps"] if one[0] == rolled) == "ready"
    now = {one["metadata"]["name"]: one["spec"] for one in clean_apiserver.admin.items(CRDS)}
    assert {name: now[name] for name in before} == before
    # CRDs that were made stay: deleting them would delete their objects. That is told, not hidden.
    assert all(name in here["words"] for name in now.keys() - before.keys()), here
    assert (people.state(made), people.complaints(made), people.complaints(forward)) == ("succeeded", [], [])
    written = [
        one for one in audit_log_reader.requests(clean_apiserver.audit_events(people.mark), of=made) if one.took_effect
    ]
    assert sorted(one.step for one in written) == sorted({one.step for one in written}) != []

    # The cluster is not as it was when the plan was shown: forward again, the new plan stops and asks people.
    people.ask("resume", journey)
    assert shift(people, journey) == 0
    here = standing(people, journey)
    assert (here["state"], here["cause"]) == ("paused", "plan_differs"), here
    assert {one["metadata"]["name"]: one["spec"] for one in clean_apiserver.admin.items(CRDS)} == now
    assert len(people.ask("rollouts", journey)) == 2
    assert people.ask("chain") is True
    verbs = people.ask("verbs", journey)
    assert [verbs.count(f"journey.{word}") for word in ("taking_back", "step_taken_back", "step_covered")] == [1, 1, 1]
