import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import claim, machine
from tests.builders.clusters import a_cluster, asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.pods import NOTHING, OLD, OTHER, STAYS, is_shell, pods, rolling, still

CHECK = "protected_pods_off_rolled_nodes"
NODES = machine(OLD, template="default")[1:]
GOOD = ("pass", "No protected pod runs on a node that is replaced", ())
EVICT, KEEP, DISRUPT = (f"karpenter.sh/do-not-{word}" for word in ("evict", "consolidate", "disrupt"))


def row(key: str, where: str = OLD.node, *, count: int = 1) -> Evidence:
    return Evidence(
        kind="Deployment", namespace="shop", name="web", path=f"metadata.annotations[{key}]", seen=f"true, on {where}",
        wanted="done, or free to move", count=count,
    )  # fmt: skip


@pytest.mark.parametrize("annotations", [{}, {DISRUPT: "false"}, {KEEP: "true"}])
def test_no_pod_asks_to_be_left_alone(annotations):
    assert result_of(CHECK, "0.33+", rolling(*pods(annotations=annotations))) == GOOD


@pytest.mark.parametrize("key", [EVICT, DISRUPT])
def test_pods_that_do(key):
    both = pods(count=2, nodes=(OLD.node, OTHER.node), annotations={key: "true"})
    where = f"2 nodes, first {OLD.node}"
    said = "2 protected pods or nodes block the rollout"
    assert result_of(CHECK, "0.33+", rolling(*both)) == ("fail", said, (row(key, where, count=2),))


def test_pods_elsewhere_do_not_matter():
    assert result_of(CHECK, "0.33+", rolling(*pods(nodes=(STAYS,), annotations={DISRUPT: "true"}))) == GOOD


def test_of_pods_on_both_kinds_of_nodes_the_count_is_a_bound():
    three = pods(count=3, nodes=(OLD.node, STAYS), annotations={DISRUPT: "true"})
    found = finding_of(CHECK, "0.33+", rolling(*three))
    assert (found.summary, found.evidence, found.evidence_exact) == (
        "at least 1 protected pod or node blocks the rollout", (row(DISRUPT),), False,
    )  # fmt: skip


def test_with_one_pod_a_node_the_count_is_exact():
    two = pods(count=2, nodes=(OLD.node, STAYS), annotations={DISRUPT: "true"})
    assert result_of(CHECK, "0.33+", rolling(*two))[1] == "1 protected pod or node blocks the rollout"


@pytest.mark.parametrize("key", [KEEP, DISRUPT])
def test_a_node_that_is_to_stay(key):
    cluster = rolling()
    documents = [one | {"metadata": one["metadata"] | {"annotations": {key: "true"}}} for one in NODES]
    found = result_of(CHECK, "0.33+", cluster.without("nodes").with_docs(*documents))
    path = f"metadata.annotations[{key}]"
    assert found[2] == (Evidence(kind="Node", name=OLD.node, path=path, seen="true", wanted="free to go"),)


def test_1_0_does_not_heed_the_old_name():
    on_beta = [*claim(OLD, node_class="default", version="v1beta1")]
    cluster = a_cluster().with_docs(*on_beta, *pods(annotations={EVICT: "true"}))
    assert result_of(CHECK, "1.0", cluster) == GOOD
    cluster = a_cluster().with_docs(*on_beta, *pods(annotations={DISRUPT: "true"}))
    assert result_of(CHECK, "1.0", cluster)[2] == (row(DISRUPT),)


@pytest.mark.parametrize(
    ("running", "hop", "value", "protects"),
    [
        ("1.11.2", "1.12", "8h", True),
        ("1.11.2", "1.12", "1h30m", True),
        ("1.11.2", "1.12", "0s", False),
        ("1.11.2", "1.12", "-8h", False),
        ("1.11.2", "1.12", "8", False),
        ("1.11.2", "1.12", "yes", False),
        ("0.37.8", "1.0", "8h", False),
    ],
)
def test_a_duration_counts_from_1_12_on(running, hop, value, protects):
    version = "v1" if hop == "1.12" else "v1beta1"
    nodes = claim(OLD, node_class="default", version=version)
    cluster = a_cluster(running).with_docs(*nodes, *pods(annotations={DISRUPT: value}))
    found = result_of(CHECK, hop, cluster)
    wanted = Evidence(
        kind="Deployment", namespace="shop", name="web", path=f"metadata.annotations[{DISRUPT}]",
        seen=f"{value}, on {OLD.node}", wanted="done, or free to move",
    )  # fmt: skip
    assert found[2] == ((wanted,) if protects else ())


def test_nothing_is_replaced():
    assert result_of(CHECK, "0.33+", still().with_docs(*pods(annotations={DISRUPT: "true"}))) == NOTHING


def test_it_is_asked_where_nodes_may_be_replaced():
    assert asked_hops(CHECK)[0] == "0.33+"
    assert [finding_of(CHECK, hop, rolling()).severity for hop in ("0.33+", "1.0")] == ["warning", "info"]


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.33+", rolling(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_names_the_annotation():
    (remedy,) = remedies(CHECK, "0.33+", rolling(*pods(annotations={DISRUPT: "true"})))
    task = f"# For a person: take {DISRUPT} off the pod of Deployment web: kubectl -n shop annotate pod NAME {DISRUPT}-"
    assert remedy.text.splitlines()[1] == task
    assert is_shell(remedy.text)
