import pytest

from migrations_app.checks.base import Evidence
from tests.builders.clusters import a_cluster, an_empty_cluster, reads, remedies, result_of, result_without
from tests.checks.catalogue.nodes.test_hashes_carry_over import CLASS, POOL, hashed

CHECK = "hashes_not_newer"
GOOD = ("pass", "No drift hash is newer than the running version", ())


@pytest.mark.parametrize("here", [("v2", "v2"), ("v1", "v1"), (None, None)])
def test_hashes_that_the_controller_knows(here):
    assert result_of(CHECK, "1.0", hashed(here=here)) == GOOD


def test_after_a_way_back_they_are_newer():
    rows = (
        Evidence(
            kind="NodePool", name="general", path=f"metadata.annotations[{POOL}]", seen="v3",
            wanted="v2, as 0.37.8 writes it",
        ),
        Evidence(
            kind="EC2NodeClass", name="default", path=f"metadata.annotations[{CLASS}]", seen="v4",
            wanted="v2, as 0.37.8 writes it",
        ),
    )  # fmt: skip
    found = result_of(CHECK, "1.0", hashed(here=("v3", "v4")))
    assert found == ("fail", "2 objects have drift hashes that the running version does not know", rows)


def test_a_release_without_versions_knows_none():
    cluster = hashed("0.33.1", here=("v2", None), kubernetes="1.28")
    _, _, rows = result_of(CHECK, "0.33+", cluster)
    assert [(row.name, row.wanted) for row in rows] == [("general", "no version, as 0.33.1 writes it")]
    assert remedies(CHECK, "0.33+", cluster)[0].text.startswith("# 0.33.12 knows hash versions;")


def test_after_a_rollback_to_alpha_nobody_reads_the_hashes():
    cluster = hashed("0.31.5", here=("v1", "v1"), kubernetes="1.27")
    assert result_of(CHECK, "0.32", cluster) == ("not_applicable", "0.31.5 acts on no NodePool, and hashes none", ())


def test_what_is_no_version_is_unknown():
    why = f"NodePool general: metadata.annotations[{POOL}] is no version"
    assert result_of(CHECK, "1.0", hashed(here=("newest", "v2"))) == ("unknown", why, ())


def test_without_pools_there_is_nothing_to_ask():
    found = result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")
    assert found == ("not_applicable", "there is no NodePool and no EC2NodeClass yet", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_where_the_release_is_the_newest_it_writes_its_own():
    (only,) = remedies(CHECK, "1.0", hashed(here=("v3", "v4")))
    assert only.how == "kubectl"
    assert only.text.splitlines()[0] == "# 0.37.8 writes its own versions: wait"
    assert only.text.splitlines()[-1].startswith("kubectl get nodepools.karpenter.sh,ec2nodeclasses.karpenter.k8s.aws")
