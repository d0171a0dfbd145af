import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import provisioner
from tests.builders.clusters import asked_hops, finding_of, reads, remedies, result_of, result_without
from tests.builders.pods import OLD, OTHER, STAYS, bare, is_shell, pods, rolling, still

CHECK = "provisioners_hold_no_nodes"
GOOD = ("pass", "No Provisioner owns nodes", ())
WEB, IDLE = provisioner("web", template="d"), provisioner("idle", template="d")


def row(workloads: int) -> Evidence:
    seen = f"nodes: 2, workloads that run on them alone: {workloads}"
    wanted = "no node, before it is deleted"
    return Evidence(kind="Provisioner", name="web", path="metadata.name", seen=seen, wanted=wanted, count=2)


def test_a_provisioner_without_nodes():
    assert result_of(CHECK, "0.33+", rolling(IDLE)) == GOOD


@pytest.mark.parametrize(
    ("docs", "workloads"),
    [
        ([], 0),
        (pods(count=4, nodes=(OLD.node, OTHER.node)), 1),
        ([*pods(), *pods("StatefulSet", "db"), bare("one")], 3),
        (pods(count=2, nodes=(OLD.node, STAYS)), 0),
        (pods("DaemonSet"), 0),
    ],
)
def test_what_goes_with_it(docs, workloads):
    found = result_of(CHECK, "0.33+", rolling(WEB, IDLE, *docs))
    assert found == ("fail", "2 nodes are still owned by Provisioners", (row(workloads),))


def test_it_does_not_arise():
    assert result_of(CHECK, "0.33+", still()) == ("not_applicable", "no Provisioner is left", ())
    assert asked_hops(CHECK) == ("0.33+",)
    assert finding_of(CHECK, "0.33+", still()).severity == "warning"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.33+", rolling(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_lists_the_machines():
    (remedy,) = remedies(CHECK, "0.33+", rolling(WEB))
    line = "kubectl get machines.karpenter.sh -l 'karpenter.sh/provisioner-name in (web)' -o wide"
    assert remedy.text.splitlines()[1:] == [line]
    assert is_shell(remedy.text)
