import pytest

from migrations_app.checks.base import Evidence, Remedy
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    reads,
    remedies,
    result_of,
    result_without,
    without_changes,
)

CHECK = "hop_start_runs"
LATER = Evidence(
    kind="Deployment",
    namespace="kube-system",
    name="karpenter",
    path="metadata.labels[app.kubernetes.io/version]",
    seen="0.37.8",
    wanted="1.0.14 or later",
)


def test_the_first_hop_starts_from_what_runs():
    assert result_of(CHECK, "1.0", a_cluster()) == (
        "pass",
        "The cluster runs the version that this upgrade starts from",
        (),
    )


def test_a_later_hop_waits_for_the_one_before():
    assert result_of(CHECK, "1.1+", a_cluster()) == (
        "fail",
        "Take the earlier upgrades first: Karpenter 0.37.8 is running",
        (LATER,),
    )


def test_a_patch_within_the_minor_comes_first():
    found = result_of(CHECK, "1.0", a_cluster("0.37.1"))
    assert (found[0], [row.wanted for row in found[2]]) == ("fail", ["0.37.8 or later"])


def test_an_unknown_release_is_unknown():
    told_by = "nothing that was seen names a release"
    found = result_of(CHECK, "1.0", an_empty_cluster().with_kubernetes("v1.29.4").unseen("controller"), start="0.37.8")
    assert found == ("unknown", "controller could not be read: forbidden", ())
    found = result_of(CHECK, "1.0", a_cluster(helm=False).without("controller", "crds"), start="0.37.8")
    assert found == ("unknown", f"which release runs is not known: {told_by}".replace(told_by, NO_CONTROLLER), ())


NO_CONTROLLER = "there is no Karpenter Deployment"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_names_both_releases():
    text = "# For a person: take the earlier upgrades first\n# this one starts from 1.0.14, 0.37.8 runs"
    assert without_changes(remedies(CHECK, "1.1+", a_cluster())) == (Remedy(how="kubectl", text=text),)
