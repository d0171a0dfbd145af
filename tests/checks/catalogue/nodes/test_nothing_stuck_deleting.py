import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import claim, machine, node_class, pool, provisioner
from tests.builders.clusters import a_cluster, finding_of, reads, remedies, result_of, result_without
from tests.builders.pods import OLD, is_shell

CHECK = "nothing_stuck_deleting"
GOOD = ("pass", "No Karpenter object is stuck terminating", ())
LONG, JUST = "2026-10-01T11:00:00Z", "2026-10-01T11:50:00Z"


def going(one, *, since: str = LONG, finalizers=("karpenter.sh/termination",)):
    return one | {"metadata": one["metadata"] | {"deletionTimestamp": since, "finalizers": list(finalizers)}}


CLASS = node_class("d", cluster="test", version="v1")
CLAIM, NODE = claim(OLD, node_class="d", version="v1")


def on_v1(*docs):
    return a_cluster("1.0.8").with_docs(*docs)


def row(kind: str, name: str, seen: str = "karpenter.sh/termination") -> Evidence:
    return Evidence(kind=kind, name=name, path="metadata.finalizers", seen=f"since {LONG}, {seen}", wanted="gone")


@pytest.mark.parametrize(
    "docs",
    [
        [],
        [CLASS, CLAIM],
        [going(CLAIM, since=JUST)],
        [going(CLASS, finalizers=())],
        [going(NODE, finalizers=["x.example/own"])],
    ],
)
def test_nothing_hangs(docs):
    assert result_of(CHECK, "1.1+", on_v1(*docs)) == GOOD


@pytest.mark.parametrize(
    ("one", "kind"),
    [
        (CLAIM, "NodeClaim"),
        (NODE, "Node"),
        (pool("web", node_class="d", version="v1"), "NodePool"),
        (CLASS, "EC2NodeClass"),
        (provisioner("web", template="d"), "Provisioner"),
        (machine(OLD, template="d")[0], "Machine"),
    ],
)
def test_one_that_hangs(one, kind):
    found = result_of(CHECK, "1.1+", on_v1(going(one)))
    assert found == ("fail", "1 object is stuck terminating", (row(kind, one["metadata"]["name"]),))


def test_of_a_node_only_karpenters_finalizers_are_told():
    node = going(NODE, finalizers=("x.example/own", "karpenter.sh/termination"))
    assert result_of(CHECK, "1.1+", on_v1(node))[2] == (row("Node", NODE["metadata"]["name"]),)


def test_a_class_is_told_with_what_uses_it():
    found = result_of(CHECK, "1.1+", on_v1(going(CLASS), CLAIM))
    assert found[2] == (row("EC2NodeClass", "d", "karpenter.sh/termination, 1 NodeClaims use it"),)


@pytest.mark.parametrize("since", ["yesterday", "2026-10-01T11:00:00"])
def test_an_odd_time_is_unknown(since):
    why = "EC2NodeClass d: metadata.deletionTimestamp cannot be read"
    assert result_of(CHECK, "1.1+", on_v1(going(CLASS, since=since))) == ("unknown", why, ())


def test_it_warns():
    assert finding_of(CHECK, "1.1+", on_v1()).severity == "warning"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.1+", on_v1(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_looks_first():
    (remedy,) = remedies(CHECK, "1.1+", on_v1(going(CLASS)))
    assert remedy.text.splitlines()[1] == "kubectl describe ec2nodeclasses.karpenter.k8s.aws d"
    assert is_shell(remedy.text)


def test_the_remedy_describes_a_node_by_its_plain_kind():
    (remedy,) = remedies(CHECK, "1.1+", on_v1(going(NODE)))
    assert remedy.text.splitlines()[1] == f"kubectl describe nodes {NODE['metadata']['name']}"
