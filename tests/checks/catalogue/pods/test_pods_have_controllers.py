import pytest

from migrations_app.checks.base import Evidence
from tests.builders.clusters import finding_of, reads, remedies, result_of, result_without
from tests.builders.pods import NOTHING, OLD, OTHER, STAYS, bare, is_shell, owned_pod, pods, rolling, still

CHECK = "pods_have_controllers"
GOOD = ("pass", "No bare pod runs on a node that is replaced", ())


def row(where: str, *, count: int = 1) -> Evidence:
    return Evidence(
        kind="Pod", namespace="shop", name="one", path="metadata.ownerReferences", seen=f"absent, on {where}",
        wanted="a Deployment, a StatefulSet or a Job", count=count,
    )  # fmt: skip


@pytest.mark.parametrize("docs", [pods(), pods("DaemonSet"), [owned_pod("Job", "x")], [owned_pod("Node", OLD.node)]])
def test_pods_with_controllers(docs):
    assert result_of(CHECK, "0.33+", rolling(*docs)) == GOOD


def test_a_bare_pod_goes_for_good():
    said = "1 bare pod is deleted with its node"
    assert result_of(CHECK, "0.33+", rolling(bare("one"))) == ("fail", said, (row(OLD.node),))


def test_several_of_a_namespace_are_one_row():
    found = result_of(CHECK, "0.33+", rolling(bare("one"), bare("two", OTHER.node), bare("three")))
    said = "3 bare pods are deleted with their nodes"
    assert found == ("fail", said, (row(f"2 nodes, first {OLD.node}", count=3),))


def test_bare_pods_elsewhere_do_not_matter_and_make_the_count_a_bound():
    assert result_of(CHECK, "0.33+", rolling(bare("one", STAYS))) == GOOD
    mixed = rolling(bare("one"), bare("two"), bare("three", STAYS))
    assert result_of(CHECK, "0.33+", mixed)[1] == "at least 1 bare pod is deleted with its node"


def test_nothing_is_replaced():
    assert result_of(CHECK, "0.33+", still().with_docs(bare("one"))) == NOTHING


def test_it_weighs_more_where_every_node_goes():
    assert [finding_of(CHECK, hop, rolling()).severity for hop in ("0.33+", "1.0")] == ["warning", "info"]


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.33+", rolling(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_shows_them():
    (remedy,) = remedies(CHECK, "0.33+", rolling(bare("one")))
    assert remedy.text.splitlines()[3].startswith("kubectl -n shop get pods -o 'custom-columns=NAME:")
    assert is_shell(remedy.text)
