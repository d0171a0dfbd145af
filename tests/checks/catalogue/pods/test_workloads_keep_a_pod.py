import pytest

from migrations_app.checks.base import Evidence
from tests.builders.clusters import finding_of, reads, remedies, result_of, result_without
from tests.builders.patches import patch_words
from tests.builders.pods import NOTHING, OLD, OTHER, STAYS, bare, is_shell, owned_pod, pods, rolling, still

CHECK = "workloads_keep_a_pod"
GOOD = ("pass", "No workload on a node that is replaced has only one pod", ())


def row(kind: str = "Deployment", name: str = "web") -> Evidence:
    return Evidence(
        kind=kind,
        namespace="shop",
        name=name,
        path="spec.replicas",
        seen=f"1 pod, on {OLD.node}",
        wanted="a second one",
    )


@pytest.mark.parametrize(
    "docs",
    [
        pods(count=2, nodes=(OLD.node, OTHER.node)),
        pods(nodes=(STAYS,)),
        pods("DaemonSet"),
        [owned_pod("Job", "x")],
        [bare("one")],
        pods(name="cluster-autoscaler"),
    ],
)
def test_workloads_that_go_on(docs):
    assert result_of(CHECK, "0.33+", rolling(*docs)) == GOOD


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet"])
def test_a_single_pod(kind):
    said = "1 single-replica workload will be down"
    assert result_of(CHECK, "0.33+", rolling(*pods(kind))) == ("fail", said, (row(kind),))


def test_the_pods_of_a_workload_are_counted_over_all_of_its_groups():
    marked = pods(annotations={"karpenter.sh/do-not-disrupt": "true"})
    assert result_of(CHECK, "0.33+", rolling(*marked, *pods(nodes=(OTHER.node,)))) == GOOD


def test_nothing_is_replaced():
    assert result_of(CHECK, "0.33+", still().with_docs(*pods())) == NOTHING


def test_it_only_informs():
    assert {finding_of(CHECK, hop, rolling()).severity for hop in ("0.33+", "1.0")} == {"info"}


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.33+", rolling(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_scales_what_can_be_scaled():
    (remedy,) = remedies(CHECK, "0.33+", rolling(*pods(), owned_pod("Rollout", "shiny")))
    command = "kubectl -n shop patch deployment web"
    assert remedy.text.splitlines()[1:5] == [
        "# To take the second pod away again:",
        f"# {command} {patch_words(('/spec/replicas', 2, 1))}",
        f"{command} {patch_words(('/spec/replicas', 1, 2))}",
        "# For a person: run Rollout shiny in shop twice, or replace its node in a quiet hour",
    ]
    assert is_shell(remedy.text)


def test_a_pod_whose_namespace_a_dump_left_out():
    docs = [doc | {"metadata": {**doc["metadata"], "namespace": ""}} for doc in pods()]
    (row,) = result_of(CHECK, "0.33+", rolling(*docs))[2]
    assert (row.kind, row.namespace, row.name) == ("Deployment", "", "web")
    (remedy,) = remedies(CHECK, "0.33+", rolling(*docs))
    assert "kubectl patch deployment web --type=json -p" in remedy.text
