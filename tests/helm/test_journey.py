"""A journey in which karpdash upgrades the controller itself, by a real helm on a real API server."""

import pytest

from tests.acceptance import clusters
from tests.acceptance.real_clusters import load
from tests.actions import charts
from tests.helm.own_charts import install, packed, play_controllers, played_beside
from tests.newest import NEWEST
from tests.servers.processes import discard, folder
from tests.use_cases.journeys.test_on_server import CLEAN, shift, standing, ticked
from tests.use_cases.rollouts.crew import crew

HOME = "kube-system"


@pytest.fixture
def place():
    found = folder("journey")
    charts.real_chart(found / "d" / "charts", f"v{NEWEST}", version=NEWEST)
    (found / "d" / "charts" / "next.tgz").write_bytes(packed(NEWEST))
    yield found
    discard(found)


@pytest.fixture
def people(clean_apiserver, place, helm):
    with crew(clean_apiserver, place, module="tests.helm.journey_foreman") as found:
        found.mark = clean_apiserver.audit_mark()
        found.ask("enlist")
        found.ask("configure", helm.program, str(place / "d"))
        yield found


def installed_by_helm(server, helm):
    """The sample cluster, its controller installed by a real helm instead of written by hand."""
    load(server, [one for one in clusters.objects(CLEAN) if not _of_chart(one)])
    install(helm, server, packed(CLEAN.version), {"settings": {"clusterName": "shop"}}, namespace=HOME)
    play_controllers(server, namespace=HOME)


def _of_chart(document):
    name = document["metadata"]["name"]
    ours = (("Deployment", "karpenter"), ("ServiceAccount", "karpenter"), ("ClusterRole", "karpenter-core"))
    record = document["kind"] == "Secret" and name.startswith("sh.helm.release.v1.karpenter.")
    return record or (document["kind"], name) in ours


def test_the_controller_is_upgraded_as_a_step_that_was_shown_and_approved(people, clean_apiserver, helm):
    installed_by_helm(clean_apiserver, helm)
    cluster = people.ask("register", clean_apiserver.kubeconfig(clean_apiserver.admin_token), "shop")
    people.ask("waive", cluster, "kubernetes_inside_window", "running_release_fits_kubernetes")
    journey = people.ask("plan_by_helm", cluster, f"karpenter-{NEWEST}", "next.tgz")
    assert shift(people, journey) == 0
    assert people.ask("shown", journey) == [
        ["upgrade_crds", "shown_in_journey", ""], ["upgrade_controller", "shown_in_journey", ""],
    ]  # fmt: skip
    people.ask("approve", journey)
    with played_beside(lambda: play_controllers(clean_apiserver, namespace=HOME)):
        for _ in range(3):
            assert shift(people, journey) == 0
            ticked(people, journey)
            people.ask("look_again", journey)
    here = standing(people, journey)
    states = {one[3]: one[2] for one in here["steps"] if one[3]}
    assert states == {"upgrade_crds": "done", "upgrade_controller": "done"}, here
    made = people.ask("rollouts", journey)
    assert [people.state(one) for one in made] == ["succeeded", "succeeded"]
    sent = [one for one in clean_apiserver.audit_events(people.mark) if f"action={made[1]}" in one["userAgent"]]
    records = [one["objectRef"]["name"] for one in sent if one["verb"] == "create"]
    assert records == ["sh.helm.release.v1.karpenter.v2"]
    assert people.ask("verbs", journey).count("journey.step_covered") == 2
    assert people.ask("chain") is True
