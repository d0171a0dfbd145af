import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange
from migrations_app.samples.cluster_builder import ClusterBuilder
from migrations_app.samples.installation import Install, controller
from migrations_app.samples.kubernetes_objects import node
from tests.builders.clusters import NODE, a_cluster, an_empty_cluster, reads, remedies, result_of, result_without

CHECK = "controller_runs_redundantly"
GOOD = ("pass", "Every controller replica can be scheduled", ())
FEW = "1 cause keeps a controller replica pending"
NOTHING = ("not_applicable", "fewer than two replicas are wanted, or no node was seen", ())


def some_nodes(*zones: str, **more):
    return [
        node(f"n{place}", kubelet="v1.29.1", provider_id=f"aws:///{zone}/i-{place}", labels=_labels(zone), **more)
        for place, zone in enumerate(zones)
    ]


def _labels(zone: str):
    return {"topology.kubernetes.io/zone": zone, "eks.amazonaws.com/nodegroup": "system"}


def a_row(path: str, seen: str, wanted: str) -> tuple[Evidence, ...]:
    path = f"spec.template.spec.{path}"
    return (
        Evidence(kind="Deployment", namespace="kube-system", name="karpenter", path=path, seen=seen, wanted=wanted),
    )


def placed(**spec):
    """The controller of 0.37.8 with these fields in its pods' spec."""
    deployment, *rest = controller(Install(cluster="test", version="0.37.8"), [NODE])
    deployment["spec"]["template"]["spec"] |= spec
    return a_cluster().without("controller", "controller_pods").with_docs(deployment, *rest)


def test_two_zones_are_enough():
    assert result_of(CHECK, "1.0", a_cluster().with_docs(*some_nodes("eu-a", "eu-b"))) == GOOD


def test_one_zone_is_too_few_from_1_0_on():
    rows = a_row(
        "topologySpreadConstraints",
        "zones open to it: eu-a",
        "nodes in 2 zones, one replica, or whenUnsatisfiable ScheduleAnyway",
    )
    cluster = a_cluster().with_docs(*some_nodes("eu-a", "eu-a"))
    assert result_of(CHECK, "1.0", cluster) == ("fail", FEW, rows)


def test_before_1_0_one_zone_is_enough():
    cluster = a_cluster("0.32.10", kubernetes="1.27").with_docs(*some_nodes("eu-a", "eu-a"))
    assert result_of(CHECK, "0.33+", cluster) == GOOD


def test_values_of_ones_own_decide():
    values = {"topologySpreadConstraints": [{"topologyKey": "topology.kubernetes.io/zone"}]}
    assert result_of(CHECK, "1.0", a_cluster().with_docs(*some_nodes("eu-a", "eu-a")).with_values(values)) == GOOD


def test_one_node_is_too_few():
    rows = a_row("affinity", "1 node would take it: n0", "2 nodes that it does not manage")
    assert result_of(CHECK, "1.0", a_cluster().with_docs(*some_nodes("eu-a"))) == ("fail", FEW, rows)


def test_karpenters_own_nodes_do_not_count():
    own = node("k", kubelet="v1", provider_id="aws:///eu-b/i-9", labels={"karpenter.sh/nodepool": "general"})
    rows = a_row("affinity", "1 node would take it: n0", "2 nodes that it does not manage")
    assert result_of(CHECK, "1.0", a_cluster().with_docs(*some_nodes("eu-a"), own)) == ("fail", FEW, rows)


@pytest.mark.parametrize(
    ("toleration", "status"),
    [
        ([], "fail"),
        ([{"key": "CriticalAddonsOnly", "operator": "Exists"}], "pass"),
        ([{"operator": "Exists"}], "pass"),
        ([{"key": "CriticalAddonsOnly", "value": "true"}], "pass"),
        ([{"key": "CriticalAddonsOnly", "value": "no"}], "fail"),
        ([{"key": "CriticalAddonsOnly", "operator": "Exists", "effect": "NoExecute"}], "fail"),
    ],
)
def test_taints_count_unless_they_are_tolerated(toleration, status):
    taints = [{"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"}]
    cluster = placed(tolerations=toleration).with_docs(*some_nodes("eu-a", "eu-b", taints=taints))
    assert result_of(CHECK, "1.0", cluster)[0] == status


def test_cordoned_and_unready_nodes_do_not_count():
    down, cordoned = some_nodes("eu-a", "eu-b")
    down["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    cordoned["spec"]["unschedulable"] = True
    rows = a_row("affinity", "0 nodes would take it: none", "2 nodes that it does not manage")
    assert result_of(CHECK, "1.0", a_cluster().with_docs(down, cordoned)) == ("fail", FEW, rows)


def test_a_label_that_is_not_kept_leaves_it_open():
    cluster = placed(nodeSelector={"role": "system"}).with_docs(*some_nodes("eu-a", "eu-b"))
    why = "the controller's nodes are chosen by role, which is not kept"
    assert result_of(CHECK, "1.0", cluster) == ("unknown", why, ())


def test_linux_is_everywhere_and_a_node_group_may_be_chosen():
    spec = {"kubernetes.io/os": "linux", "eks.amazonaws.com/nodegroup": "system"}
    assert result_of(CHECK, "1.0", placed(nodeSelector=spec).with_docs(*some_nodes("eu-a", "eu-b"))) == GOOD
    other = placed(nodeSelector=spec | {"eks.amazonaws.com/nodegroup": "other"}).with_docs(*some_nodes("eu-a", "eu-b"))
    assert result_of(CHECK, "1.0", other)[0] == "fail"


def test_fargate_makes_a_node_for_each():
    fargate = node(NODE, kubelet="v1", provider_id="", labels={"eks.amazonaws.com/compute-type": "fargate"})
    found = result_of(CHECK, "1.0", a_cluster().with_docs(fargate))
    assert found == ("not_applicable", "the controller runs on Fargate, which makes a node for each replica", ())


def test_one_replica_needs_no_second_node():
    assert result_of(CHECK, "1.0", a_cluster(replicas=1).with_docs(*some_nodes("eu-a"))) == NOTHING
    assert result_of(CHECK, "1.0", a_cluster()) == NOTHING
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8") == NOTHING


def test_a_node_group_over_three_zones_is_good():
    site = ClusterBuilder("test", "1.29")
    site.node_group("system", 3)
    assert result_of(CHECK, "1.0", a_cluster().with_docs(*site.docs)) == GOOD


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_is_one_replica_for_the_time_being():
    first = remedies(CHECK, "1.0", a_cluster().with_docs(*some_nodes("eu-a")))[0]
    assert isinstance(first.change, HelmChange)
    assert first.change.given == {"replicas": "1"}
