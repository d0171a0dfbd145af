import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.samples.karpenter_objects import Launched, machine
from tests.builders.clusters import (
    a_cluster,
    asked_hops,
    finding_of,
    reads,
    remedies,
    result_of,
    result_without,
    without_changes,
)

CHECK = "legacy_machines_gone"
GOOD = ("pass", "No Machine is left", ())
OLD = Launched(pool="web", number=1, cluster="test", kubelet="v1.28.4")


def with_machine(**changes):
    found, node = machine(OLD, template="default")
    found["metadata"] |= changes.pop("metadata", {})
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(found | changes, node)


def left(seen: str) -> tuple[str, str, tuple[Evidence, ...]]:
    row = Evidence(kind="Machine", name=OLD.claim, seen=seen, wanted="a NodeClaim in its place")
    return "fail", "1 Machine still exists", (row,)


def test_none_is_left():
    assert result_of(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.28")) == GOOD


def test_one_with_its_node():
    assert result_of(CHECK, "0.33+", with_machine()) == left(f"behind {OLD.node}")


@pytest.mark.parametrize("status", [None, {}, {"providerID": "aws:///a/i-0"}])
def test_one_without_a_node(status):
    assert result_of(CHECK, "0.33+", with_machine(status=status)) == left("behind no node")


def test_one_that_is_being_deleted_is_still_there():
    cluster = with_machine(metadata={"deletionTimestamp": "2026-10-01T10:00:00Z"})
    assert result_of(CHECK, "0.33+", cluster) == left("being deleted")


def test_it_blocks_where_alpha_is_left():
    assert [finding_of(CHECK, hop, with_machine()).severity for hop in ("0.33+", "1.0")] == ["blocker", "warning"]
    assert asked_hops(CHECK)[0] == "0.33+"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    cluster = a_cluster("0.32.10", kubernetes="1.28")
    assert result_without(CHECK, "0.33+", cluster, part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_a_machine_that_could_not_be_read_leaves_it_unknown():
    cluster = a_cluster("0.32.10", kubernetes="1.28").quarantined("machines")
    found = result_of(CHECK, "0.33+", cluster)
    assert found == ("unknown", "1 of machines could not be read, first broken at $.spec", ())


def test_the_remedy_deletes_one_after_the_other():
    assert without_changes(remedies(CHECK, "0.33+", with_machine())) == (
        Remedy(
            how="kubectl",
            text="# On 0.32, with a NodePool that fits ready: "
            "each deletion drains one node and terminates its instance\n"
            f"kubectl delete machines.karpenter.sh {OLD.claim}",
        ),
    )


def test_where_no_controller_acts_on_machines_a_person_ends_them():
    """From 0.33 on the finalizer is taken off by nobody, so a deletion waits for ever."""
    made, node = machine(OLD, template="default")
    (only,) = remedies(CHECK, "1.0", a_cluster("0.33.12", kubernetes="1.28").with_docs(made, node))
    provider_id = made["status"]["providerID"]
    task = f"{OLD.claim}: drain {OLD.node}, end its instance, then take the finalizers off Machine and Node"
    assert only.text.splitlines() == [
        "# 0.33.12 acts on no Machine: kubectl delete waits for ever. Each one by hand, or all with 0.32 again",
        f"# For a person: {task}",
        "# no controller that runs does any of this",
        f"# Look at: kubectl drain {OLD.node} --ignore-daemonsets --delete-emptydir-data; {provider_id} in EC2",
    ]
