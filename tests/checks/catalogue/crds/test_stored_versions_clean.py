import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.installation import Crds, crds
from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    asked_hops,
    helm_crds,
    reads,
    remedies,
    result_of,
    result_without,
)
from tests.builders.newest import NEWEST_MINOR
from tests.builders.patches import patch_words

CHECK = "stored_versions_clean"
NAMES = ("nodepools.karpenter.sh", "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws")


def stored(*versions: str):
    return a_cluster("1.0.14").without("crds").with_docs(*helm_crds("1.0.14", stored=versions))


def listed(seen: str) -> tuple[Evidence, ...]:
    path = "status.storedVersions"
    return tuple(
        Evidence(kind="CustomResourceDefinition", name=name, path=path, seen=seen, wanted="v1") for name in NAMES
    )


def test_only_v1_is_stored():
    assert result_of(CHECK, "1.1+", stored("v1")) == ("pass", "Only v1 objects are stored", ())


@pytest.mark.parametrize(
    ("versions", "seen"),
    [(("v1beta1", "v1"), "v1beta1, v1"), (("v1beta1",), "v1beta1"), (("v1", "v1beta1"), "v1, v1beta1")],
)
def test_v1beta1_is_still_listed(versions, seen):
    found = result_of(CHECK, "1.1+", stored(*versions))
    assert found == ("fail", "3 CRDs still list v1beta1 as stored", listed(seen))


def test_it_is_asked_from_1_1_on():
    hops = asked_hops(CHECK)
    assert (hops[:2], "1.0" in hops) == (("1.1+", "1.2"), False)


def test_an_empty_list_is_unknown():
    odd = helm_crds("1.0.14", stored=("v1",))
    odd[1]["status"]["storedVersions"] = []
    found = result_of(CHECK, "1.1+", a_cluster("1.0.14").without("crds").with_docs(*odd))
    assert found == ("unknown", "nodeclaims.karpenter.sh: status.storedVersions is empty", ())


def test_alpha_crds_are_not_converted():
    cluster = a_cluster("0.30.0", kubernetes="1.26")
    assert result_of(CHECK, "1.1+", cluster) == (
        "not_applicable",
        "none of the CRDs that 1.0 converts is installed yet",
        (),
    )
    assert result_of(CHECK, "1.1+", an_empty_cluster(), start="0.37.8")[0] == "not_applicable"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.1+", stored("v1"), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_waits_before_it_patches():
    lines = remedies(CHECK, "1.1+", stored("v1beta1", "v1"))[0].text.splitlines()
    assert lines[1] == (
        f"kubectl get crd {' '.join(NAMES)} -o custom-columns=NAME:.metadata.name,STORED:.status.storedVersions"
    )
    assert lines[3] == (
        f"if kubectl get {NAMES[0]} --no-headers -o "
        "'custom-columns=DONE:.metadata.annotations.karpenter\\.sh/stored-version-migrated' | sort -u | "
        "tr -d '[:space:]' | grep -qx true; then "
        f"kubectl patch crd {NAMES[0]} --subresource=status "
        f"{patch_words(('/status/storedVersions', ['v1beta1', 'v1'], ['v1']))}; "
        f"else echo 'not patched: crd {NAMES[0]}; look first at: kubectl get {NAMES[0]}' >&2; false; fi"
    )


def test_a_release_after_1_0_rewrites_nothing():
    shape = Crds(version="1.0.14", stored=("v1beta1", "v1"))
    later = a_cluster("1.1.9", kubernetes="1.31").without("crds").with_docs(*crds(shape))
    assert remedies(CHECK, NEWEST_MINOR, later)[0].text.splitlines()[0] == (
        "# Releases from 1.1 on rewrite nothing: roll the controller back to the latest 1.0. What is stored:"
    )
