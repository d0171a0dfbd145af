import pytest

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.samples.installation import Crds, Install, controller, crds
from tests.builders.clusters import (
    NODE,
    ACluster,
    a_cluster,
    an_empty_cluster,
    reads,
    remedies,
    result_of,
    result_without,
    without_changes,
)

CHECK = "running_release_known"


def contrary(seen: str, wanted: str) -> Evidence:
    path = "spec.template.spec.containers[].image"
    return Evidence(kind="Deployment", namespace="kube-system", name="karpenter", path=path, seen=seen, wanted=wanted)


def test_all_sources_agree():
    assert result_of(CHECK, "1.0", a_cluster()) == ("pass", "Every source agrees on the running version", ())


def test_the_helm_record_against_the_image_is_the_question_of_another_check():
    assert result_of(CHECK, "1.0", a_cluster().with_values({}, version="0.37.7"))[0] == "pass"


def test_crds_of_another_release():
    cluster = a_cluster().without("crds").with_docs(*crds(Crds(version="1.1.10")))
    seen = "shape of the CRDs fits 1.1 to 1.6, image tag says 0.37.8"
    one = "1 source contradicts the running version"
    assert result_of(CHECK, "1.0", cluster) == ("fail", one, (contrary(seen, "0.37.8"),))


def test_a_range_is_unknown():
    cluster = an_empty_cluster().with_kubernetes("v1.29.4").with_docs(*crds(Crds(version="1.0.14")))
    found = result_of(CHECK, "1.0", cluster, start="0.37.8")
    assert found == (
        "unknown",
        "no source names the running release exactly: there is no Karpenter Deployment",
        (),
    )


def of_image(image: str) -> ACluster:
    """A cluster whose controller has that image; its labels say 0.37.8."""
    docs = controller(Install(cluster="test", version="0.37.8"), [NODE])
    (deployment,) = (one for one in docs if one["kind"] == "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = image
    return an_empty_cluster().with_kubernetes("v1.29.4").with_docs(*docs, *crds(Crds(version="0.37.8")))


def test_a_tag_that_is_no_version_leaves_open_what_runs():
    found = result_of(CHECK, "1.0", of_image("registry.example/karpenter:latest"))
    label = "Deployment label app.kubernetes.io/version"
    why = f"what runs is not known: the image's tag latest names no release, and the {label} says 0.37.8"
    assert found == ("unknown", why, ())


@pytest.mark.parametrize("image", [f"registry.example/karpenter@sha256:{'3d' * 32}", "registry.example:5000/karpenter"])
def test_an_image_without_a_tag_is_the_one_that_is_recorded(image):
    assert result_of(CHECK, "1.0", of_image(image))[0] == "pass"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_looks_in_the_real_namespace():
    cluster = a_cluster(namespace="karpenter").without("crds").with_docs(*crds(Crds(version="1.1.10")))
    assert without_changes(remedies(CHECK, "1.0", cluster)) == (
        Remedy(
            how="kubectl",
            text="kubectl -n karpenter get deployment karpenter -o yaml | grep -E 'image:|/version:'\n"
            "helm -n karpenter history karpenter",
        ),
    )
