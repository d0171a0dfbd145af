import pytest

from migrations_app.checks.base import Evidence
from tests.builders.clusters import finding_of, reads, remedies, result_of, result_without
from tests.builders.pods import NOTHING, OLD, STAYS, bare, is_shell, pods, rolling, still

CHECK = "local_data_left_behind"
GOOD = ("pass", "No pod keeps data on a node that is replaced", ())
EMPTY, HOST = {"name": "d", "emptyDir": {}}, {"name": "h", "hostPath": {"path": "/data"}}
MEMORY = {"name": "m", "emptyDir": {"medium": "Memory"}}
CLAIM = {"name": "c", "persistentVolumeClaim": {"claimName": "d"}}


def row(kind: str, name: str, seen: str) -> Evidence:
    return Evidence(
        kind=kind, namespace="shop", name=name, path="spec.volumes", seen=f"{seen}, on {OLD.node}",
        wanted="a PersistentVolumeClaim, or a copy",
    )  # fmt: skip


@pytest.mark.parametrize(
    "docs",
    [
        pods(volumes=[EMPTY]),
        pods("StatefulSet", volumes=[CLAIM, MEMORY]),
        pods("DaemonSet", volumes=[HOST]),
        pods("StatefulSet", volumes=[EMPTY], nodes=(STAYS,)),
        pods(volumes=None),
    ],
)
def test_nothing_is_lost(docs):
    assert result_of(CHECK, "0.33+", rolling(*docs)) == GOOD


@pytest.mark.parametrize(
    ("kind", "volumes", "seen"),
    [
        ("StatefulSet", [EMPTY], "emptyDir"),
        ("StatefulSet", [EMPTY, HOST], "emptyDir and hostPath"),
        ("Deployment", [EMPTY, HOST], "hostPath"),
    ],
)
def test_what_goes_with_the_disk(kind, volumes, seen):
    found = result_of(CHECK, "0.33+", rolling(*pods(kind, volumes=volumes)))
    assert found == ("fail", "1 pod loses the data on its node's disk", (row(kind, "web", seen),))


def test_a_bare_pod_keeps_its_scratch_space_for_a_reason():
    assert result_of(CHECK, "0.33+", rolling(bare("one", volumes=[EMPTY])))[2] == (row("Pod", "one", "emptyDir"),)


def test_of_pods_on_both_kinds_of_nodes_the_count_is_a_bound():
    three = pods("StatefulSet", count=3, nodes=(OLD.node, STAYS), volumes=[EMPTY])
    assert result_of(CHECK, "0.33+", rolling(*three))[1] == "at least 1 pod loses the data on its node's disk"


def test_nothing_is_replaced():
    assert result_of(CHECK, "0.33+", still().with_docs(*pods(volumes=[HOST]))) == NOTHING


def test_it_only_informs():
    assert {finding_of(CHECK, hop, rolling()).severity for hop in ("0.33+", "1.0")} == {"info"}


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.33+", rolling(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_shows_the_volumes():
    (remedy,) = remedies(CHECK, "0.33+", rolling(*pods(volumes=[HOST])))
    assert remedy.text.splitlines()[3:] == ["kubectl -n shop get deployment web -o yaml"]
    assert is_shell(remedy.text)
