import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import claim
from tests.builders.clusters import a_cluster, finding_of, reads, remedies, result_of, result_without
from tests.builders.pods import OLD, is_shell

CHECK = "no_taint_left_behind"
GOOD = ("pass", "No node has a stale Karpenter taint", ())
BETA, V1, UNREGISTERED = (f"karpenter.sh/{word}" for word in ("disruption", "disrupted", "unregistered"))
JUST = "2026-10-01T11:50:00Z"


def tainted(key: str, *, version: str = "1.0.8", claims: bool = True, born: str = "", going: str = "", **status: str):
    made, node = claim(OLD, node_class="d", version="v1" if version >= "1" else "v1beta1", status=status)
    node["spec"]["taints"] = [{"key": "other", "effect": "NoSchedule"}, {"key": key, "effect": "NoSchedule"}]
    if born:
        node["metadata"]["creationTimestamp"] = born
    if going:
        {"node": node, "claim": made}[going]["metadata"]["deletionTimestamp"] = JUST
    return a_cluster(version).with_docs(*([made] if claims else []), node)


def row(key: str, seen: str) -> Evidence:
    return Evidence(kind="Node", name=OLD.node, path=f"spec.taints[{key}]", seen=seen, wanted="absent")


@pytest.mark.parametrize(
    ("hop", "cluster"),
    [
        ("1.1+", tainted("dedicated")),
        ("1.1+", tainted(V1, going="claim")),
        ("1.1+", tainted(V1, going="node", claims=False)),
        ("1.1+", tainted(V1, Drifted="True")),
        ("1.1+", tainted(V1, DisruptionReason="True")),
        ("1.0", tainted(BETA, version="0.37.8", Expired="True")),
        ("1.1+", tainted(UNREGISTERED, born=JUST)),
        ("1.1+", tainted(UNREGISTERED, born="odd")),
    ],
)
def test_taints_that_are_explained(hop, cluster):
    assert result_of(CHECK, hop, cluster) == GOOD


@pytest.mark.parametrize(
    ("hop", "cluster", "found"),
    [
        ("1.1+", tainted(BETA, Drifted="True"), row(BETA, "1.0.8 does not know it")),
        ("1.1+", tainted(V1), row(V1, "nothing is being disrupted")),
        ("1.1+", tainted(V1, claims=False), row(V1, "nothing is being disrupted")),
        ("1.0", tainted(BETA, version="0.37.8"), row(BETA, "nothing is being disrupted")),
        ("1.1+", tainted(UNREGISTERED), row(UNREGISTERED, "not registered")),
    ],
)
def test_taints_that_are_left(hop, cluster, found):
    assert result_of(CHECK, hop, cluster) == ("fail", "1 node has a stale Karpenter taint", (found,))


def test_it_warns():
    assert finding_of(CHECK, "1.1+", tainted(V1)).severity == "warning"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.1+", a_cluster("1.0.8"), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )


def test_the_remedy_takes_it_off():
    (remedy,) = remedies(CHECK, "1.1+", tainted(V1))
    assert remedy.text.splitlines()[1:] == [f"kubectl taint node {OLD.node} {V1}-"]
    assert is_shell(remedy.text)
