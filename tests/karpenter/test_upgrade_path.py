import pytest

from migrations_app.errors import InvalidInput
from migrations_app.karpenter.detection import NO_CONTROLLER, DetectedRelease
from migrations_app.karpenter.table_types import SupportedKubernetes
from migrations_app.karpenter.upgrade_path import HOPS, PathHop, hop_of, path, resolve_target
from migrations_app.karpenter.versions import Release, release
from tests.builders.newest import NEWEST, NEWEST_MINOR, NEXT_MINOR

LEAVING_BETA = "Upgrade to the latest patch of the running minor before 1.0: older patches may have no rollback"


def road(current: str, target: str | None = None, *, kubernetes: str | None = None) -> list[tuple[str, str]]:
    return [(hop.name, str(hop.release)) for hop in path(current, target=target, kubernetes=kubernetes).hops]


def only(current: str, target: str, *, kubernetes: str | None = None) -> PathHop:
    (hop,) = path(current, target=target, kubernetes=kubernetes).hops
    return hop


def texts(found: tuple[Release, ...]) -> list[str]:
    return [str(one) for one in found]


def test_the_whole_road_from_alpha() -> None:
    assert road("0.28.1", kubernetes="1.27") == [
        ("0.31", "0.31.5"),
        ("0.32", "0.32.10"),
        ("0.33+", "0.37.8"),
        ("1.0", "1.0.14"),
        ("1.1+", "1.1.10"),
        (NEWEST_MINOR, NEWEST),
    ]


@pytest.mark.parametrize(
    ("current", "target", "kubernetes", "hops"),
    [
        ("0.27.3", "0.28", "1.25", [("0.28", "0.28.1")]),
        ("0.31.4", "0.32", "1.28", [("0.32", "0.32.10")]),
        ("0.31.3", "0.32", "1.28", [("0.31", "0.31.5"), ("0.32", "0.32.10")]),
        ("0.32.1", "1.1+", "1.28", [("0.33+", "0.37.8"), ("1.0", "1.0.14"), ("1.1+", "1.1.10")]),
        ("0.32.10", "0.33+", "1.30", [("0.33+", "0.37.8")]),
        ("0.32.10", "0.35.12", "1.28", [("0.33+", "0.35.12")]),
        ("0.33.12", "1.0", "1.28", [("1.0", "1.0.14")]),
        ("0.33.2", "1.0", "1.28", [("0.33+", "0.33.12"), ("1.0", "1.0.14")]),
        ("0.33.2", "1.0", "1.29", [("0.33+", "0.37.8"), ("1.0", "1.0.14")]),
        ("0.37.7", "1.0.9", "1.31", [("1.0", "1.0.9")]),
        ("1.0.3", "1.1", "1.30", [("1.0", "1.0.14"), ("1.1+", "1.1.10")]),
        ("1.0.9", "1.4", "1.31", [("1.1+", "1.1.10"), ("1.4", "1.4.4")]),
        ("1.0.14", "1.4.2", None, [("1.1+", "1.1.10"), ("1.4", "1.4.2")]),
        ("1.0.14", "1.14", "1.33", [("1.1+", "1.5.8"), ("1.14", "1.14.1")]),
        ("1.0.14", "1.5", "1.33", [("1.1+", "1.5.8")]),
        ("1.1.10", "1.14.0", "1.31", [("1.14", "1.14.0")]),
        ("1.4.0", "1.4", "1.31", [("1.4", "1.4.4")]),
        (f"{NEWEST_MINOR}.0", None, "1.31", [(NEWEST_MINOR, NEWEST)]),
        (NEWEST, None, "1.31", []),
    ],
)
def test_roads(current: str, target: str | None, kubernetes: str | None, hops: list[tuple[str, str]]) -> None:
    assert road(current, target, kubernetes=kubernetes) == hops


@pytest.mark.parametrize("kubernetes", ["1.31", "v1.31.2-eks-1", "1.31+"])
def test_1_0_on_kubernetes_1_31_lands_on_a_patch_that_supports_it(kubernetes: str) -> None:
    hop = only("0.37.8", "1.0", kubernetes=kubernetes)
    assert (hop.kubernetes, hop.kubernetes_fits, hop.kubernetes_change) == (
        SupportedKubernetes("1.25", "1.31"),
        True,
        "",
    )


def test_kubernetes_has_to_be_raised_first() -> None:
    hop = only("0.33.12", "1.0", kubernetes="1.24")
    wanted = "Before this step raise Kubernetes from 1.24 to 1.25; up to 1.28 fits both releases"
    assert (hop.kubernetes_fits, hop.kubernetes_change) == (False, wanted)
    assert wanted in hop.notes


def test_kubernetes_once_raised_stays_raised() -> None:
    hops = path("0.37.8", kubernetes="1.24").hops
    assert [(hop.name, hop.kubernetes_fits) for hop in hops] == [
        ("1.0", False),
        ("1.1+", True),
        (NEWEST_MINOR, False),
    ]
    assert hops[-1].kubernetes_change.startswith("Before this step raise Kubernetes from 1.25 to 1.26")


def test_no_bridge_release_supports_the_clusters_kubernetes() -> None:
    hops = path("0.32.10", target="1.0", kubernetes="1.31").hops
    assert [(str(hop.release), hop.kubernetes_fits) for hop in hops] == [("0.37.8", False), ("1.0.14", True)]
    assert hops[0].kubernetes_change == (
        "0.37.8 supports Kubernetes 1.23 to 1.30 and the cluster runs 1.31, which cannot be rolled back: "
        "pass through without staying, outside the supported window, or build a new cluster"
    )


def test_without_kubernetes_nothing_is_judged_and_that_is_said() -> None:
    found = path("0.37.8", target="1.0")
    assert found.notes == ("Kubernetes version not known: whether it fits was not judged",)
    assert [(hop.kubernetes_fits, hop.kubernetes_change) for hop in found.hops] == [(None, "")]


def test_a_hop_in_full() -> None:
    assert only("1.0.14", "1.1", kubernetes="1.30") == PathHop(
        name="1.1+",
        start=release("1.0.14"),
        release=release("1.1.10"),
        kubernetes=SupportedKubernetes("1.25", "1.31"),
        kubernetes_fits=True,
        rollback_to=(release("1.0.14"), release("1.0.9")),
        rollback_caveats=(
            "That 1.0.9 can take over is inferred from its commit about downgrades; no guide describes this rollback",
            "No rollback below 1.0",
        ),
        mandatory=False,
        why="1.1 removes v1beta1. Upgrade to it on its own, so that a failure has one cause",
        needs=(
            "status.storedVersions is exactly v1 on the three CRDs",
            "nodeClassRef.group and kind are set on every NodePool and NodeClaim",
            "Kubelet settings live on the EC2NodeClass",
        ),
    )


@pytest.mark.parametrize(
    ("current", "target", "back"),
    [
        ("0.31.5", "0.32", ["0.31.5", "0.31.4"]),
        ("0.37.7", "1.0", ["0.37.7", "0.37.8", "0.36.9", "0.35.12", "0.34.13", "0.33.12"]),
        ("0.32.10", "0.36.9", ["0.32.10", "0.35.12", "0.35.4", "0.34.13", "0.34.5", "0.33.12", "0.33.4", "0.32.9"]),
        ("1.1.10", "1.4", ["1.3.8"]),
        ("1.8.6", "1.8.8", ["1.8.6", "1.7.6"]),
        ("1.8.4", "1.8.8", ["1.7.6"]),
    ],
)
def test_ways_back_start_with_the_release_one_comes_from(current: str, target: str, back: list[str]) -> None:
    assert texts(only(current, target).rollback_to) == back


def test_a_start_that_cannot_take_over_again_is_told() -> None:
    hop = only("0.32.1", "0.37.8", kubernetes="1.29")
    assert hop.rollback_caveats == (
        "Rolling back to older patches may drift every node",
        "0.32.1, where this step starts, is not known to be able to take over again",
        "Kubernetes 1.29 is outside what these support: 0.33.12, 0.33.4, 0.32.10, 0.32.9",
    )


def test_the_way_back_from_1_0_needs_the_older_policy_again() -> None:
    caveats = only("0.37.7", "1.0").rollback_caveats
    assert (
        "The controller's role has to have the policy of the older release again, before its controller runs" in caveats
    )


def test_what_is_passed_over_is_told() -> None:
    hop = only("1.1.10", "1.4", kubernetes="1.31")
    assert (hop.skipped, hop.entered) == (("1.2", "1.3"), ("1.2", "1.3", "1.4"))
    assert hop.notes == ("Passes over 1.2 to 1.3: read their release notes too",)
    assert only("1.4.0", "1.4").entered == ()


def test_needs_of_skipped_minors_are_kept() -> None:
    assert only("0.32.10", "0.37").needs == (
        "No Provisioner, AWSNodeTemplate or Machine is left",
        "CRDs are upgraded before the controller",
    )
    assert only("1.8.0", "1.8").needs == ()


def test_the_bridge_within_a_minor_says_why() -> None:
    hops = path("0.35.2", target="1.0").hops
    assert [hop.notes for hop in hops] == [
        (LEAVING_BETA,),
        ("Passes over 0.36 to 0.37: read their release notes too",),
    ]
    assert [hop.mandatory for hop in hops] == [True, True]


def test_a_newer_patch_of_the_running_minor_is_told_before_1_0() -> None:
    assert only("0.37.7", "1.0").notes == (f"0.37.8 is out. {LEAVING_BETA}",)


def test_an_open_hop_means_the_running_minor_once_inside() -> None:
    assert road("0.34.5", "0.33+") == [("0.33+", "0.34.13")]
    assert road("1.4.4", "1.1+") == []
    assert road("1.3.0", "1.1+") == [("1.3", "1.3.8")]


def test_a_known_fault_of_the_running_release_is_told() -> None:
    found = path("1.8.4", target="1.8.5", kubernetes="1.30")
    assert len(found.notes) == 1
    assert found.notes[0].startswith("1.8.4 has a known fault: can leave pods")


def test_a_release_older_than_the_tables() -> None:
    found = path("0.27.3", target="0.32", kubernetes="1.27")
    assert found.notes == ("0.27.3 is older than 0.28, where the tables begin: read the notes of its minors first",)
    assert found.hop_names == ("0.31", "0.32")


def test_a_release_newer_than_the_tables_has_nowhere_to_go() -> None:
    found = path(f"{NEXT_MINOR}.0")
    assert (found.hops, found.target, found.next) == ((), release(f"{NEXT_MINOR}.0"), None)
    assert found.notes == (f"{NEXT_MINOR}.0 is newer than the tables know, which end at {NEWEST}",)


def test_a_range_starts_from_its_oldest_release() -> None:
    running = DetectedRelease(minors=("0.33", "0.34"), how="shape of the CRDs", certainty="range")
    found = path(running, target="1.0", kubernetes="1.28")
    assert (found.assumed, found.current, found.hop_names) == (True, release("0.33.0"), ("0.33+", "1.0"))
    assert found.notes == ("only known to run 0.33 to 0.34; the path starts from the oldest, 0.33.0",)


def test_an_exact_detection_is_its_release() -> None:
    running = DetectedRelease(release=release("1.4.0"), minors=("1.4",), how="image tag", certainty="exact")
    assert path(running, kubernetes="1.30") == path("1.4.0", kubernetes="1.30")
    assert path(running, target=release("1.4.4")).next == only("1.4.0", "1.4.4")


@pytest.mark.parametrize(
    ("current", "target", "code"),
    [
        (None, None, "no_karpenter"),
        (DetectedRelease(how=NO_CONTROLLER, absent=True), None, "no_karpenter"),
        (DetectedRelease(how="nothing"), None, "unknown_current"),
        (DetectedRelease(minors=("9.9",), certainty="range"), None, "unknown_current"),
        ("garbage", None, "unknown_current"),
        ("0.38.0", None, "unknown_current"),
        ("1.4.0", "1.0", "target_below_current"),
        ("1.4.0", "0.33+", "target_below_current"),
        ("1.4.4", "1.4.1", "target_below_current"),
        (f"{NEXT_MINOR}.0", NEWEST, "target_below_current"),
        ("1.4.0", "1.99", "unknown_target"),
        ("1.4.0", f"{NEWEST_MINOR}.77", "unknown_target"),
        ("1.4.0", f"{NEXT_MINOR}.0", "unknown_target"),
        ("1.4.0", "soon", "unknown_target"),
        ("1.4.0", "", "unknown_target"),
        ("1.4.0", "x" * 5000, "unknown_target"),
        ("1.4.0", "1.8.4", "bad_target"),
        ("0.37.8", "1.0.4", "bad_target"),
        ("0.32.10", "0.33.6", "bad_target"),
    ],
)
def test_what_cannot_be_answered_is_refused(
    current: str | DetectedRelease | None, target: str | None, code: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        path(current, target=target)
    assert refused.value.code == code
    assert 0 < len(refused.value.message) < 250


@pytest.mark.parametrize("kubernetes", ["", "latest", "29+"])
def test_a_kubernetes_version_that_is_none_is_refused(kubernetes: str) -> None:
    with pytest.raises(InvalidInput, match="is not a Kubernetes version"):
        path("1.4.0", kubernetes=kubernetes)


def test_a_refused_target_names_what_to_take_instead() -> None:
    with pytest.raises(InvalidInput, match=r"1\.8\.4 must not be stopped at: .*; take 1\.8\.8"):
        resolve_target("1.8.4", current=release("1.7.0"))


@pytest.mark.parametrize(
    ("start", "landing", "hop"),
    [
        ("0.30.0", "0.31.5", "0.31"),
        ("0.31.5", "0.32.10", "0.32"),
        ("0.33.2", "0.33.12", "0.33+"),
        ("0.37.8", "1.0.14", "1.0"),
        ("1.0.14", "1.1.10", "1.1+"),
        ("1.0.14", "1.5.8", "1.1+"),
        ("1.1.0", "1.1.10", "1.1+"),
        ("1.1.10", "1.5.8", "1.5"),
        ("0.29.0", "0.30.0", "0.30"),
    ],
)
def test_names_of_hops(start: str, landing: str, hop: str) -> None:
    assert hop_of(release(landing), start=release(start)) == hop


def test_the_hops_of_the_road() -> None:
    assert HOPS == ("0.32", "0.33+", "1.0", "1.1+")
