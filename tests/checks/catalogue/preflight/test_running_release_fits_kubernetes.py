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

CHECK = "running_release_fits_kubernetes"
GOOD = ("pass", "The running version supports this Kubernetes", ())


@pytest.mark.parametrize(("version", "kubernetes"), [("1.0.2", "1.30"), ("1.0.5", "1.31"), ("1.0.14", "1.31")])
def test_inside_its_window(version, kubernetes):
    assert result_of(CHECK, "1.1+", a_cluster(version, kubernetes=kubernetes)) == GOOD


@pytest.mark.parametrize(
    ("version", "hop", "kubernetes", "seen", "wanted"),
    [
        ("1.0.2", "1.1+", "1.31", "1.31; 1.0.2 supports 1.25 to 1.30", "Karpenter 1.0.9 or later"),
        ("0.37.8", "1.0", "1.31", "1.31; 0.37.8 supports 1.23 to 1.30", "a release of a later minor"),
    ],
)
def test_outside_its_window(version, hop, kubernetes, seen, wanted):
    row = Evidence(kind="Cluster", name="test", path="gitVersion", seen=seen, wanted=wanted)
    assert result_of(CHECK, hop, a_cluster(version, kubernetes=kubernetes)) == (
        "fail",
        f"The running version does not support Kubernetes {seen}",
        (row,),
    )


def test_a_version_that_says_nothing_is_unknown():
    cluster = a_cluster("1.0.2").with_kubernetes("latest")
    assert result_of(CHECK, "1.1+", cluster)[0] == "unknown"


def test_without_a_controller_nothing_is_known():
    cluster = an_empty_cluster().with_kubernetes("v1.29.4")
    assert result_of(CHECK, "1.0", cluster, start="0.37.8")[0] == "unknown"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_is_the_hop_or_a_patch_before_it():
    assert without_changes(remedies(CHECK, "1.1+", a_cluster("1.0.2", kubernetes="1.31"))) == (
        Remedy(
            how="kubectl",
            text="# For a person: upgrade to 1.0.9 first where the upgrade has to wait\n"
            "# the target version 1.1.10 is judged on its own",
        ),
    )
