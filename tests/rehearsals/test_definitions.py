"""Plans that change definitions and webhooks are rehearsed: what is served, stored and converted follows."""

import msgspec
import pytest

from migrations_app.actions import registry
from migrations_app.actions.base import PlanningContext
from migrations_app.actions.plan import Plan, RolloutLimits, numbered
from migrations_app.actions.rehearsable import why_unplayed
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.collect import collect
from migrations_app.execution.proof import prove_steps
from migrations_app.readiness.runbook.effects.object_lookup import with_parts
from migrations_app.readiness.stage import detect_running_release
from migrations_app.rehearsals.assumptions import assumptions_of
from migrations_app.rehearsals.plan_rehearsal import rehearse_plan
from migrations_app.rehearsals.planning import UNNAMED, plan_on
from migrations_app.rehearsals.play import no_check, play, set_up
from migrations_app.rehearsals.reading import read_objects
from migrations_app.rehearsals.rehearse import NO_FAILURE
from migrations_app.rehearsals.twin_access import RehearsalWriter
from migrations_app.samples.changeable import charts
from migrations_app.samples.fleet import files, find
from migrations_app.twin.ports.reading import TwinReader

LIMITS = RolloutLimits()
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
HOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
POOLS = "nodepools.karpenter.sh"


class Ground:
    """A story on a twin."""

    def __init__(self, story: str) -> None:
        self.api = open_bundle(dict(files(find(story))))
        self.inventory = collect(self.api, cluster=story).inventory
        self.reading = read_objects(self.api, self.inventory)
        behaviour = assumptions_of(self.reading, self.inventory).behaviour
        self.stage = set_up(self.reading, behaviour, identity=UNNAMED, failure=NO_FAILURE)

    def plan(self, action: str, **parameters: object) -> Plan:
        return plan_on(self.stage, self.inventory, action=action, parameters=parameters, limits=LIMITS)

    def upgrade(self, release: str) -> Plan:
        """The plan of the definitions of that release, as a preview makes it from its chart."""
        found = registry.find("upgrade_crds")
        parameters = {"release": release}
        wanted = list(found.objects_to_read(self.inventory, parameters))
        held = {name: self.crd(name) for name in _names(self)}
        context = PlanningContext(
            inventory=self.inventory,
            running=detect_running_release(self.inventory),
            objects={one: held[one.name] for one in wanted if one.name in held},
            now=self.inventory.taken_at,
            limits=LIMITS,
            files=charts.chart(release),
        )
        writer = RehearsalWriter(self.stage.twin, UNNAMED, state=self.stage.simulator.state)
        steps = prove_steps(writer, numbered(found.steps(context, parameters))).steps
        empty = self.plan("adopt_crds", namespace="karpenter", take_over=[*held])
        return msgspec.structs.replace(empty, action=found.id, title=found.title, parameters=parameters, steps=steps)

    def crd(self, name: str = POOLS) -> dict:
        return self.stage.twin.request("GET", f"{CRDS}/{name}").document


def rehearsed(ground: Ground, plan: Plan):
    (found,) = rehearse_plan(ground.api, plan, cluster="x", failures=(), seed=0, check=no_check)
    return found.result


def test_stored_versions_are_rewritten_on_the_twin():
    ground = Ground("v1_beta_stored")
    plan = ground.plan("rewrite_stored_versions")
    assert (why_unplayed(plan), rehearsed(ground, plan).finished) == ("", True)
    assert ground.crd()["status"]["storedVersions"] == ["v1beta1", "v1"]
    assert play(plan, ground.stage).stopped is None
    assert ground.crd()["status"]["storedVersions"] == ["v1"]


def test_definitions_of_the_next_release_are_played_and_their_objects_converted():
    ground = Ground("beta_037")
    plan = ground.upgrade("1.0.14")
    result = rehearsed(ground, plan)
    assert (result.finished, result.steps_done, result.nodes_peak) == (True, len(plan.steps), result.nodes_before)
    assert "schemas_unplayed" in {one.code for one in result.unknown}
    assert play(plan, ground.stage).stopped is None
    pools = ground.stage.twin.request("GET", "/apis/karpenter.sh/v1/nodepools").document["items"]
    assert pools
    assert all("expireAfter" not in one["spec"]["disruption"] for one in pools)
    assert all(one["spec"]["template"]["spec"]["nodeClassRef"]["group"] == "karpenter.k8s.aws" for one in pools)


def test_a_definition_that_lists_another_version_as_stored_than_at_the_preview_stops_the_plan():
    ground = Ground("v1_beta_stored")
    play(ground.plan("rewrite_stored_versions"), ground.stage)
    crds = collect(TwinReader(ground.stage.twin), cluster="x").inventory.crds
    ground.inventory = with_parts(ground.inventory, {"crds": crds})
    result = rehearsed(Ground("v1_beta_stored"), ground.upgrade("1.1.10"))
    assert (result.finished, result.stopped.step, result.stopped.code) == (False, "s001", "changed")


def test_marks_on_definitions_leave_everything_else_as_it_is():
    ground = Ground("beta_037")
    before = ground.crd()
    plan = ground.plan("adopt_crds", namespace="karpenter", take_over=[POOLS, *_names(ground)])
    assert rehearsed(ground, plan).finished
    play(plan, ground.stage)
    assert ground.crd()["spec"] == before["spec"]
    assert ground.crd()["metadata"]["labels"]["app.kubernetes.io/managed-by"] == "Helm"


def test_webhooks_that_nobody_answers_go_from_the_twin():
    ground = Ground("old_settings")
    plan = ground.plan("remove_stale_webhooks")
    assert (why_unplayed(plan), rehearsed(ground, plan).finished) == ("", True)
    play(plan, ground.stage)
    found = ground.stage.twin.request("GET", HOOKS).document["items"]
    assert {one["metadata"]["name"] for one in found}.isdisjoint(step.change.target.name for step in plan.steps)


@pytest.mark.parametrize("story", ["beta_037", "v1_13", "alpha_030"])
def test_the_definitions_of_a_twin_are_those_of_the_reading(story):
    ground = Ground(story)
    for one in ground.reading.of("CustomResourceDefinition"):
        assert ground.crd(one["metadata"]["name"])["spec"]["versions"] == one["spec"]["versions"]


def _names(ground: Ground) -> list[str]:
    return [one["metadata"]["name"] for one in ground.reading.of("CustomResourceDefinition")]
