import pytest

from migrations_app.checks.base import Evidence
from migrations_app.checks.changes import HelmChange
from tests.builders.clusters import a_cluster, an_empty_cluster, finding_of, reads, remedies, result_of, result_without
from tests.builders.newest import NEWEST_MINOR

CHECK = "controller_off_bad_patches"
GOOD = ("pass", "The running version has no known bug", ())


def told_faults(version: str, hop: str) -> list[tuple[str, str]]:
    found = result_of(CHECK, hop, a_cluster(version))
    assert found[0] == "fail"
    return [(row.seen, row.wanted) for row in found[2]]


@pytest.mark.parametrize(("version", "hop"), [("0.37.8", "1.0"), ("1.0.14", "1.1+"), ("1.3.3", NEWEST_MINOR)])
def test_a_good_patch(version, hop):
    assert result_of(CHECK, hop, a_cluster(version)) == GOOD


def test_a_patch_with_a_hook_job():
    found = result_of(CHECK, "0.33+", a_cluster("0.37.1"))
    row = found[2][0]
    assert found[1] == f"Known bug in Karpenter {row.seen}"
    wanted = Evidence(
        kind="Deployment",
        namespace="kube-system",
        name="karpenter",
        path="spec.template.spec.containers[].image",
        seen=row.seen,
        wanted="0.37.3 or later",
    )
    assert (row, row.seen.startswith("0.37.1: the main chart patches the CRDs from a post-install hook Job")) == (
        wanted,
        True,
    )


def test_every_fault_of_a_patch_is_told():
    assert [wanted for _, wanted in told_faults("1.0.3", "1.0")] == ["1.0.4 or later", "1.0.9 or later"]


def test_before_1_1_a_bad_patch_blocks():
    assert finding_of(CHECK, "1.0", a_cluster("1.0.3")).severity == "warning"
    assert finding_of(CHECK, "1.1+", a_cluster("1.0.3")).severity == "blocker"


def test_a_release_that_nobody_knows_is_unknown():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    why = "whether the running patch is a bad one is not known: there is no Karpenter Deployment"
    assert found == ("unknown", why, ())


def test_a_minor_beyond_the_tables_is_unknown():
    assert result_of(CHECK, "1.0", a_cluster("1.99.0"), start="0.37.8")[0] == "unknown"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_is_the_newest_good_patch_of_the_minor():
    first = remedies(CHECK, "0.33+", a_cluster("0.37.1"))[0]
    assert isinstance(first.change, HelmChange)
    assert (first.change.when, first.change.version, first.change.values) == ("before", "0.37.8", ())
