import msgspec
import pytest

from migrations_app.inventory.facts.workloads import CRON_TEMPLATE, Mention, mark_mentions, placement_mentions
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import (
    Constraint,
    ControllerPlacement,
    JobTemplate,
    JobTemplateSpec,
    Metadata,
    PodGroup,
    PodTemplate,
    StatusCondition,
    Workload,
    WorkloadSpec,
)
from migrations_app.inventory.objects.workloads import WorkloadStatus
from migrations_app.inventory.parts import Seen

OLD = "karpenter.sh/do-not-evict"
SELECTOR = "karpenter.sh/provisioner-name"


def template() -> PodTemplate:
    return PodTemplate(
        metadata=Metadata(annotations={OLD: "true"}), spec=ControllerPlacement(node_selector={SELECTOR: "web"})
    )


def workload(name: str) -> Workload:
    return Workload(metadata=Metadata(name=name, namespace="shop"), spec=WorkloadSpec(template=template()))


def group(kind: str, name: str, count: int, **more) -> PodGroup:
    whole = {"markers": {OLD: "true"}, "placement": [], "samples": [f"{name}-1"], "nodes": []} | more
    return PodGroup(namespace="shop", owner_kind=kind, owner_name=name, count=count, **whole)


def an_inventory(**parts) -> Inventory:
    return Inventory(cluster="c", taken_at="", **{name: Seen(tuple(items)) for name, items in parts.items()})


def mention(kind: str, name: str, path: str, *, count: int, key: str = OLD, value: str = "true") -> Mention:
    return Mention(kind=kind, namespace="shop", name=name, path=path, key=key, value=value, count=count)


def test_a_template_and_its_pods_are_one_row():
    inventory = an_inventory(
        deployments=[workload("web")], pods=[group("Deployment", "web", 3), group("Deployment", "web", 4, nodes=["n"])]
    )
    assert mark_mentions(inventory, {OLD}) == (
        mention("Deployment", "web", f"spec.template.metadata.annotations[{OLD}]", count=7),
    )


def test_a_template_without_pods_counts_once():
    assert mark_mentions(an_inventory(statefulsets=[workload("db")]), {OLD}) == (
        mention("StatefulSet", "db", f"spec.template.metadata.annotations[{OLD}]", count=1),
    )


def test_pods_without_an_owner_are_named_by_their_first_sample():
    inventory = an_inventory(pods=[group("", "", 2, samples=["naked-a", "naked-b"])])
    assert mark_mentions(inventory, {OLD}) == (mention("Pod", "naked-a", f"metadata.annotations[{OLD}]", count=2),)


def test_cron_jobs_have_their_template_one_deeper():
    spec = WorkloadSpec(job_template=JobTemplate(spec=JobTemplateSpec(template=template())))
    cron = Workload(metadata=Metadata(name="nightly", namespace="shop"), spec=spec)
    assert placement_mentions(an_inventory(cronjobs=[cron]), {SELECTOR}) == (
        mention("CronJob", "nightly", f"{CRON_TEMPLATE}.spec.nodeSelector", count=1, key=SELECTOR, value="web"),
    )


def a_job(*conditions: tuple[str, str]) -> Workload:
    told = [StatusCondition(type=kind, status=status) for kind, status in conditions]
    return msgspec.structs.replace(workload("nightly-1"), status=WorkloadStatus(conditions=told))


@pytest.mark.parametrize("ending", ["Complete", "Failed"])
def test_a_job_that_has_ended_starts_no_pod_any_more(ending):
    inventory = an_inventory(jobs=[a_job(("SuccessCriteriaMet", "True"), (ending, "True"))])
    assert (mark_mentions(inventory, {OLD}), placement_mentions(inventory, {SELECTOR})) == ((), ())


@pytest.mark.parametrize("conditions", [(), (("Suspended", "True"),), (("Complete", "False"),)])
def test_a_job_that_has_not_ended(conditions):
    found = mark_mentions(an_inventory(jobs=[a_job(*conditions)]), {OLD})
    assert found == (mention("Job", "nightly-1", f"spec.template.metadata.annotations[{OLD}]", count=1),)


def test_conditions_of_other_workloads_end_nothing():
    ended = a_job(("Complete", "True"))
    assert len(mark_mentions(an_inventory(deployments=[ended]), {OLD})) == 1


def test_placements_of_a_template_and_its_pods_are_one_row():
    rows = [Constraint(path="spec.nodeSelector", key=SELECTOR, value="web")]
    inventory = an_inventory(
        deployments=[workload("web")], pods=[group("Deployment", "web", 5, markers={}, placement=rows)]
    )
    assert placement_mentions(inventory, {SELECTOR}) == (
        mention("Deployment", "web", "spec.template.spec.nodeSelector", count=5, key=SELECTOR, value="web"),
    )


def test_other_keys_are_left_alone():
    assert mark_mentions(an_inventory(deployments=[workload("web")]), {"karpenter.sh/do-not-disrupt"}) == ()
