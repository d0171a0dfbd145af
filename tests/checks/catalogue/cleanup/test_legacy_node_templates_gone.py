import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.samples.karpenter_objects import node_template
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

CHECK = "legacy_node_templates_gone"
GOOD = ("pass", "No AWSNodeTemplate is left", ())


def with_templates(*names: str, **metadata):
    made = [node_template(name, cluster="test") for name in names]
    for one in made:
        one["metadata"] |= metadata
    return a_cluster("0.32.10", kubernetes="1.28").with_docs(*made)


def left(name: str, seen: str = "karpenter.k8s.aws/v1alpha1") -> Evidence:
    return Evidence(kind="AWSNodeTemplate", name=name, seen=seen, wanted="an EC2NodeClass in its place")


def test_none_is_left():
    assert result_of(CHECK, "0.33+", with_templates()) == GOOD


def test_each_one_left_is_named():
    found = result_of(CHECK, "0.33+", with_templates("default", "gpu"))
    assert found == ("fail", "2 AWSNodeTemplates still exist", (left("default"), left("gpu")))


def test_one_that_is_being_deleted_is_still_there():
    found = result_of(CHECK, "0.33+", with_templates("gpu", deletionTimestamp="2026-10-01T10:00:00Z"))
    assert found == ("fail", "1 AWSNodeTemplate still exists", (left("gpu", "being deleted"),))


def test_it_blocks_at_0_33_and_is_not_asked_at_0_32():
    cluster = with_templates("gpu")
    assert [finding_of(CHECK, hop, cluster).severity for hop in ("0.33+", "1.0")] == ["blocker", "warning"]
    assert "0.32" not in asked_hops(CHECK)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "0.33+", with_templates(), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )


def test_the_remedy_names_them_all():
    assert without_changes(remedies(CHECK, "0.33+", with_templates("default", "gpu"))) == (
        Remedy(
            how="kubectl",
            text="# When no Provisioner names it any more: the line looks whether there is one at all\n"
            "if kubectl get provisioners.karpenter.sh -o 'jsonpath={.kind}{.items[*].metadata.name}' | grep -qx List; "
            "then kubectl delete awsnodetemplates.karpenter.k8s.aws default gpu; else echo 'not deleted: "
            "awsnodetemplates.karpenter.k8s.aws default gpu; look first at: kubectl get provisioners.karpenter.sh' "
            ">&2; false; fi",
        ),
    )


def test_a_long_list_is_cut():
    (remedy,) = remedies(CHECK, "0.33+", with_templates(*(f"t{number:02}" for number in range(30))))
    lines = remedy.text.splitlines()
    assert " t18 t19; else " in lines[1]
    assert lines[2:] == ["# and 10 more, in the same way"]
