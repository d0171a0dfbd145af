import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange
from migrations_app.karpenter import releases
from tests.builders.clusters import a_cluster, an_empty_cluster, finding_of, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST_MINOR, NEWEST_RELEASE

CHECK = "way_back_open"
GOOD = ("pass", "A rollback of the upgrade is possible", ())


def closed(version: str, wanted: str) -> tuple[str, str, tuple[Evidence, ...]]:
    path = "spec.template.spec.containers[].image"
    row = Evidence(kind="Deployment", namespace="kube-system", name="karpenter", path=path, seen=version, wanted=wanted)
    return "fail", f"A rollback from the target version to {version} is not known to be possible", (row,)


@pytest.mark.parametrize(("version", "hop"), [("0.37.8", "1.0"), ("0.37.7", "1.0"), ("0.31.4", "0.32")])
def test_the_running_release_can_take_over_again(version, hop):
    assert result_of(CHECK, hop, a_cluster(version, kubernetes="1.26")) == GOOD


def test_an_old_patch_cannot():
    found = result_of(CHECK, "0.33+", a_cluster("0.32.1", kubernetes="1.28"))
    assert found == closed("0.32.1", WAYS)


WAYS = "0.36.9, 0.35.12, 0.35.4, 0.34.13, 0.34.5, 0.33.12, 0.33.4, 0.32.10, 0.32.9"


def test_between_minors_that_no_guide_speaks_of_it_is_for_your_information():
    found = finding_of(CHECK, NEWEST_MINOR, a_cluster("1.3.8", kubernetes="1.32"))
    ways = releases.rollback_targets(NEWEST_RELEASE)
    assert (found.status, found.severity, found.evidence[0].wanted) == (
        "fail",
        "info",
        str(ways[0]),
    )
    assert finding_of(CHECK, "0.33+", a_cluster("0.32.1", kubernetes="1.28")).severity == "warning"


def test_a_patch_of_the_same_minor_is_not_asked():
    assert result_of(CHECK, "0.33+", a_cluster("0.37.1")) == GOOD


def test_a_later_hop_is_asked_when_its_start_runs():
    why = "the upgrade starts from 1.0.14, which does not run yet"
    assert result_of(CHECK, "1.1+", a_cluster()) == ("not_applicable", why, ())


def test_an_unknown_release_is_unknown():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    why = "whether a rollback to the running release is possible is not known: there is no Karpenter Deployment"
    assert found == ("unknown", why, ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_is_a_patch_of_the_running_minor():
    first = remedies(CHECK, "0.33+", a_cluster("0.32.1", kubernetes="1.28"))[0]
    assert isinstance(first.change, HelmChange)
    assert (first.change.when, first.change.version, first.change.values) == ("before", "0.32.10", ())
