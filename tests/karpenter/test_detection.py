from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.karpenter import crds as crd_sets
from migrations_app.karpenter.detection import (
    AUTO_MODE,
    NO_CONTROLLER,
    CrdSeen,
    DetectedRelease,
    ReleaseEvidence,
    chart_release,
    detect,
    image_release,
)
from migrations_app.karpenter.releases import RELEASES, between
from migrations_app.karpenter.versions import Release, release
from tests.builders.newest import NEWEST, NEWEST_MINOR

BUFFER = "capacitybuffers.autoscaling.x-k8s.io"
OVERLAY = "nodeoverlays.karpenter.sh"
POOLS = "nodepools.karpenter.sh"


def seen(*set_names: str) -> dict[str, CrdSeen]:
    """The CRDs that a cluster has after those sets were applied one after the other."""
    shipped = [crd for name in set_names for crd in (crd_sets.find(name) or crd_sets.CRD_SETS[0]).crds]
    return {crd.name: CrdSeen(crd.served, crd.storage) for crd in shipped}


def minors(first: str, last: str) -> tuple[str, ...]:
    return tuple(row.minor for row in between(first, last))


def exact(text: str, how: str, *disagreements: str) -> DetectedRelease:
    found = release(text)
    return DetectedRelease(
        release=found, minors=(found.minor,), how=how, certainty="exact", disagreements=disagreements
    )


EVERYTHING = {
    "helm_app_version": "0.32.1",
    "helm_chart_version": "v0.32.2",
    "deployment_version": "0.32.3",
    "chart_label": "karpenter-v0.32.4",
    "image": "public.ecr.aws/karpenter/controller:v0.32.5@sha256:" + "0" * 64,
}
SOURCES = [
    ("image", "image tag", "0.32.5"),
    ("helm_app_version", "Helm release, app version", "0.32.1"),
    ("helm_chart_version", "Helm release, chart version", "0.32.2"),
    ("deployment_version", "Deployment label app.kubernetes.io/version", "0.32.3"),
    ("chart_label", "Deployment label helm.sh/chart", "0.32.4"),
]


@pytest.mark.parametrize("place", range(len(SOURCES)))
def test_the_first_source_in_order_decides_and_the_others_are_told(place: int) -> None:
    left = SOURCES[place:]
    evidence = ReleaseEvidence(**{field: EVERYTHING[field] for field, _, _ in left})
    _, how, text = left[0]
    told = [f"{other} says {version}, {how} says {text}" for _, other, version in left[1:]]
    found = detect(evidence)
    assert replace(found, misrecorded=()) == exact(text, how, *told)
    assert found.misrecorded == (tuple(told) if how == "image tag" else ())


def test_the_image_is_what_runs_and_shape_is_no_record() -> None:
    """As a landing with --reuse-values leaves it: record and labels of 1.0.14, the image of 0.37.8."""
    evidence = ReleaseEvidence(
        helm_app_version="1.0.14", deployment_version="1.0.14", image="k:0.37.8", crds=seen("v1_storage_beta_served")
    )
    found = detect(evidence)
    assert str(found.release) == "0.37.8"
    assert found.misrecorded == (
        "Helm release, app version says 1.0.14, image tag says 0.37.8",
        "Deployment label app.kubernetes.io/version says 1.0.14, image tag says 0.37.8",
    )
    assert found.disagreements == (*found.misrecorded, "shape of the CRDs fits 1.0, image tag says 0.37.8")


def test_sources_that_agree_say_nothing() -> None:
    evidence = ReleaseEvidence(
        deployment_version="0.37.8", chart_label="karpenter-0.37.8", image="mirror:5000/k/controller:0.37.8"
    )
    assert detect(evidence) == exact("0.37.8", "image tag")


def test_an_unreadable_source_is_passed_over() -> None:
    evidence = ReleaseEvidence(helm_app_version="stable", deployment_version="latest", image="karpenter:1.0.5")
    assert detect(evidence) == exact("1.0.5", "image tag")


@pytest.mark.parametrize(
    ("image", "found"),
    [
        ("public.ecr.aws/karpenter/controller:v0.32.1", Release(0, 32, 1)),
        ("registry.corp:5000/mirror/karpenter:1.0.5", Release(1, 0, 5)),
        ("registry.corp:5000/mirror/karpenter", None),
        ("karpenter@sha256:" + "a" * 64, None),
        ("karpenter:1.0.5@sha256:" + "a" * 64, Release(1, 0, 5)),
        ("karpenter:v1.0.5-corp.3", Release(1, 0, 5)),
        ("karpenter:1.0.0-rc.1", Release(1, 0, 0, "rc.1")),
        ("karpenter:v0-33d9f6e", None),
        ("karpenter:latest", None),
        ("", None),
    ],
)
def test_image_tags(image: str, found: Release | None) -> None:
    assert image_release(image) == found


@pytest.mark.parametrize(
    ("label", "found"),
    [
        ("karpenter-v0.32.1", Release(0, 32, 1)),
        ("karpenter-1.0.0", Release(1, 0, 0)),
        ("platform-karpenter-1.0.0", None),
        ("karpenter-crd-1.0.0", None),
        ("karpenter", None),
        ("", None),
    ],
)
def test_chart_labels(label: str, found: Release | None) -> None:
    assert chart_release(label) == found


@pytest.mark.parametrize(
    ("sets", "first", "last"),
    [
        (("alpha",), "0.28", "0.31"),
        (("alpha_and_beta",), "0.32", "0.37"),
        (("beta",), "0.32", "0.37"),
        (("beta_storage_v1_served",), "0.33", "0.37"),
        (("alpha", "beta_storage_v1_served"), "0.33", "0.37"),
        (("v1_storage_beta_served",), "1.0", "1.0"),
        (("alpha", "v1_storage_beta_served"), "1.0", "1.0"),
        (("v1",), "1.1", "1.6"),
        (("v1_overlay",), "1.7", "1.13"),
        (("v1_overlay_buffer",), "1.14", NEWEST_MINOR),
    ],
)
def test_the_shape_of_the_crds_gives_a_range(sets: tuple[str, ...], first: str, last: str) -> None:
    found = detect(ReleaseEvidence(crds=seen(*sets), controller_seen=True))
    assert found == DetectedRelease(minors=minors(first, last), how="shape of the CRDs", certainty="range")


@pytest.mark.parametrize(
    ("names", "gates", "settings", "found"),
    [
        (["LOG_LEVEL"], "", True, minors("0.28", "0.31")),
        (["CLUSTER_NAME"], "", True, ("0.32",)),
        (["CLUSTER_NAME", "FEATURE_GATES"], "Drift=true", None, minors("0.32", "0.37")),
        (["DISABLE_WEBHOOK", "LOG_OUTPUT_PATHS"], "", None, ("1.0",)),
        (["LOG_OUTPUT_PATHS"], "", None, minors("1.0", NEWEST_MINOR)),
        (["FEATURE_GATES"], "NodeRepair=false,ReservedCapacity=true", None, minors("1.3", NEWEST_MINOR)),
        (["FEATURE_GATES"], "NodeOverlay=false", None, minors("1.7", NEWEST_MINOR)),
        (["FEATURE_GATES"], "StaticCapacity=false", None, minors("1.8", NEWEST_MINOR)),
        (["FEATURE_GATES"], "CapacityBuffer=false", None, minors("1.14", NEWEST_MINOR)),
    ],
)
def test_the_environment_gives_a_range(
    names: list[str], gates: str, settings: bool | None, found: tuple[str, ...]
) -> None:
    evidence = ReleaseEvidence(env_names=names, feature_gates=gates, global_settings=settings)
    assert detect(evidence) == DetectedRelease(minors=found, how="environment of the controller", certainty="range")


def test_crds_and_environment_narrow_each_other_down() -> None:
    evidence = ReleaseEvidence(crds=seen("beta"), env_names=["CLUSTER_NAME"], global_settings=True)
    how = "shape of the CRDs and environment of the controller"
    assert detect(evidence) == DetectedRelease(minors=("0.32",), how=how, certainty="range")


def test_crds_win_over_an_environment_that_contradicts_them() -> None:
    found = detect(ReleaseEvidence(crds=seen("v1"), env_names=["FEATURE_GATES"], feature_gates="Drift=true"))
    told = ("environment of the controller fits 0.32 to 0.37",)
    assert found == DetectedRelease(
        minors=minors("1.1", "1.6"), how="shape of the CRDs", certainty="range", disagreements=told
    )


def test_marks_that_contradict_each_other_tell_nothing() -> None:
    found = detect(ReleaseEvidence(env_names=["LOG_OUTPUT_PATHS", "FEATURE_GATES"], feature_gates="Drift=true"))
    assert found == DetectedRelease(how="nothing that was seen names a release")


def test_crds_of_another_release_are_told() -> None:
    found = detect(ReleaseEvidence(deployment_version="1.0.5", crds=seen("beta")))
    how = "Deployment label app.kubernetes.io/version"
    assert found == exact("1.0.5", how, f"shape of the CRDs fits 0.32 to 0.37, {how} says 1.0.5")


@pytest.mark.parametrize("text", ["1.8.0", NEWEST])
def test_the_autoscalers_capacity_buffer_contradicts_nothing(text: str) -> None:
    crds = seen("v1_overlay") | {BUFFER: CrdSeen(("v1alpha1",), "v1alpha1")}
    assert detect(ReleaseEvidence(image=f"k:{text}", crds=crds)) == exact(text, "image tag")


def test_a_config_map_left_behind_contradicts_nothing() -> None:
    evidence = ReleaseEvidence(image="k:0.37.8", env_names=["CLUSTER_NAME"], global_settings=True)
    assert detect(evidence) == exact("0.37.8", "image tag")


def test_a_release_beyond_the_tables_is_exact_and_not_doubted() -> None:
    assert detect(ReleaseEvidence(image="k:1.99.0", crds=seen("v1_overlay_buffer"))) == exact("1.99.0", "image tag")


def test_auto_mode_is_not_a_release() -> None:
    evidence = ReleaseEvidence(crds=seen("v1"), controller_seen=False, node_class_groups=["eks.amazonaws.com"])
    assert detect(evidence) == DetectedRelease(how=AUTO_MODE)


def test_auto_mode_beside_a_controller_does_not_hide_it() -> None:
    evidence = ReleaseEvidence(image="k:1.2.8", controller_seen=True, node_class_groups=["eks.amazonaws.com"])
    assert detect(evidence) == exact("1.2.8", "image tag")


def test_crds_without_a_controller_are_no_release() -> None:
    assert detect(ReleaseEvidence(crds=seen("v1"), controller_seen=False)) == DetectedRelease(
        how=NO_CONTROLLER, absent=True
    )


@pytest.mark.parametrize(
    "crds",
    [
        None,
        {},
        {OVERLAY: CrdSeen(("v1alpha1",), "v1alpha1")},
        {POOLS: CrdSeen((), "")},
        {POOLS: CrdSeen(("v2",), "v2")},
    ],
)
def test_nothing_to_tell_from(crds: dict[str, CrdSeen] | None) -> None:
    assert detect(ReleaseEvidence(crds=crds)) == DetectedRelease(how="nothing that was seen names a release")


NAMED = ["0.32.1", "v1.0.0", "karpenter-1.1.0", "k:1.4.0", "1.0.0-rc.1"]
TEXTS = st.one_of(st.text(max_size=40), st.sampled_from(NAMED))
SERVED = st.lists(st.sampled_from(["v1", "v1beta1", "v1alpha1"]), max_size=3).map(tuple)
SEEN = st.builds(CrdSeen, SERVED, st.sampled_from(["", "v1", "v1beta1"]))
EVIDENCE = st.builds(
    ReleaseEvidence,
    helm_app_version=TEXTS,
    deployment_version=TEXTS,
    chart_label=TEXTS,
    image=TEXTS,
    crds=st.none() | st.dictionaries(st.sampled_from([POOLS, OVERLAY, BUFFER, "provisioners.karpenter.sh"]), SEEN),
    env_names=st.none() | st.lists(st.sampled_from(["CLUSTER_NAME", "LOG_OUTPUT_PATHS", "X"])),
    feature_gates=st.sampled_from(["", "Drift=true", "NodeRepair=true", ",,="]),
    global_settings=st.sampled_from([None, True, False]),
    controller_seen=st.sampled_from([None, True, False]),
)


@given(EVIDENCE)
def test_certainty_and_content_always_agree(evidence: ReleaseEvidence) -> None:
    found = detect(evidence)
    known = {row.minor for row in RELEASES}
    match found.certainty:
        case "exact":
            assert found.release is not None
            assert found.minors == (found.release.minor,)
        case "range":
            assert found.release is None
            assert found.minors
            assert set(found.minors) <= known
        case "unknown":
            assert (found.release, found.minors) == (None, ())
    assert found.how
