import re
from itertools import pairwise

import pytest

from migrations_app.karpenter import crds, kinds, releases
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.table_types import HOOK_JOB, CrdChartWebhook, MinorRelease, SupportedKubernetes
from migrations_app.karpenter.versions import minor_order, release
from tests.builders.newest import NEWEST_MINOR, NEXT_MINOR, table_to


def texts(found: tuple[object, ...]) -> list[str]:
    return [str(one) for one in found]


@pytest.fixture(params=RELEASES, ids=lambda row: row.minor)
def row(request: pytest.FixtureRequest) -> MinorRelease:
    return request.param


def test_minors_and_patches_ascend() -> None:
    everything = [patch for row in RELEASES for patch in row.releases]
    assert all(low < high for low, high in pairwise(everything))
    assert len({row.minor for row in RELEASES}) == len(RELEASES)


def test_every_row_is_of_one_piece(row: MinorRelease) -> None:
    assert {patch.minor for patch in row.releases} == {row.minor}
    assert all(re.fullmatch(r"20\d\d-\d\d-\d\d", patch.date) for patch in row.patches)
    assert [patch.date for patch in row.patches] == sorted(patch.date for patch in row.patches)
    for since in (row.kubernetes, row.crds, row.nodepool_hash, row.nodeclass_hash, row.webhooks.enabled):
        starts = [release(part.patch) for part in since]
        assert starts == sorted(starts)
        assert set(starts) <= set(row.releases)


def test_every_window_and_set_makes_sense(row: MinorRelease) -> None:
    assert all(minor_order(part.value.min) <= minor_order(part.value.max) for part in row.kubernetes)
    assert row.kubernetes[0].patch == row.crds[0].patch == str(row.releases[0])
    assert all(crds.find(part.value) is not None for part in row.crds)
    assert all(kinds.find(kind, group=api.group) is not None for api in row.apis for kind in api.kinds)


def test_every_bad_patch_is_fixed_later(row: MinorRelease) -> None:
    assert row.newest_good == row.newest
    for bad in row.bad:
        assert release(bad.first) <= release(bad.last) < release(bad.fixed_in) <= row.newest


def test_what_a_row_points_at_exists(row: MinorRelease) -> None:
    known = {str(patch) for patch in row.releases}
    assert {name for name in (row.leave_from, row.hook_job_patch, row.crd_chart_drops_v1_from) if name} <= known
    for minor in (*(row.upgrade_from or ()), *(target.minor for target in row.rollback_to)):
        assert minor_order(minor) < row.order
        assert releases.find(minor) is not None


def test_the_newest_release() -> None:
    assert str(releases.newest(table=table_to("1.13"))) == "1.13.1"
    assert releases.newest().minor == RELEASES[-1].minor


def test_finds_by_minor_and_by_release() -> None:
    assert releases.find("1.10") is releases.find(release("1.10.1"))
    assert releases.find("0.38") is None
    assert releases.find(release("2.0.0")) is None


def test_between_counts_as_numbers_do() -> None:
    assert [row.minor for row in releases.between("1.8", "1.11")] == ["1.8", "1.9", "1.10", "1.11"]


@pytest.mark.parametrize(
    ("running", "fixed"),
    [
        ("0.28.0", ["0.28.1"]),
        ("0.29.1", ["0.29.2"]),
        ("0.37.0", []),
        ("0.37.1", ["0.37.3"]),
        ("0.37.2", ["0.37.3"]),
        ("0.37.3", []),
        ("0.33.7", ["0.33.8"]),
        ("1.0.0", ["1.0.1", "1.0.4", "1.0.9"]),
        ("1.0.5", ["1.0.6", "1.0.9"]),
        ("1.0.9", []),
        ("1.1.3", ["1.1.4"]),
        ("1.3.0", ["1.3.1"]),
        ("1.7.0", ["1.7.1"]),
        ("1.8.0", ["1.8.1"]),
        ("1.8.4", ["1.8.5"]),
        ("1.9.0", []),
        ("1.10.0", ["1.10.1"]),
        ("1.11.0", ["1.11.1", "1.11.2"]),
        ("1.11.1", ["1.11.2"]),
        ("1.12.0", []),
        ("9.9.9", []),
    ],
)
def test_known_bad_patches(running: str, fixed: list[str]) -> None:
    assert [bad.fixed_in for bad in releases.bad_reasons(release(running))] == fixed


def test_a_patch_with_the_hook_job_is_bad() -> None:
    found = [
        str(patch)
        for row in RELEASES
        for patch in row.releases
        for bad in row.bad_reasons(patch)
        if bad.why == HOOK_JOB
    ]
    assert found == ["0.33.6", "0.34.7", "0.35.6", "0.36.3", "0.37.1", "1.0.0"]


def test_ten_patches_convert_by_halves() -> None:
    """Their CRDs ask the webhook, which is off: the first of each pair comes with the hook Job as well."""
    found = [str(patch) for row in RELEASES[5:10] for patch in row.releases if row.bad_reasons(patch)]
    assert found == [
        f"{minor}.{patch}"
        for minor, patches in (("0.33", (6, 7)), ("0.34", (7, 8)), ("0.35", (6, 7)), ("0.36", (3, 4)), ("0.37", (1, 2)))
        for patch in patches
    ]


@pytest.mark.parametrize(
    ("running", "window"),
    [
        ("0.28.0", SupportedKubernetes("1.23", "1.25")),
        ("0.28.1", SupportedKubernetes("1.23", "1.27")),
        ("0.37.8", SupportedKubernetes("1.23", "1.30")),
        ("1.0.4", SupportedKubernetes("1.25", "1.30")),
        ("1.0.5", SupportedKubernetes("1.25", "1.31")),
        ("1.0.99", SupportedKubernetes("1.25", "1.31")),
        ("9.9.9", None),
    ],
)
def test_kubernetes_windows_by_patch(running: str, window: SupportedKubernetes | None) -> None:
    assert releases.kubernetes_window(release(running)) == window


def test_a_window_compares_minors_as_numbers() -> None:
    window = SupportedKubernetes("1.9", "1.25")
    assert [minor for minor in ("1.8", "1.9", "1.10", "1.25", "1.26") if window.holds(minor)] == ["1.9", "1.10", "1.25"]
    assert str(window) == "1.9 to 1.25"


@pytest.mark.parametrize(
    ("running", "name"),
    [
        ("0.31.5", "alpha"),
        ("0.32.0", "alpha_and_beta"),
        ("0.37.0", "beta"),
        ("0.37.1", "beta_storage_v1_served"),
        ("1.0.0-rc.1", "v1_storage_beta_served"),
        ("1.6.8", "v1"),
        ("1.7.0", "v1_overlay"),
        ("1.14.7", "v1_overlay_buffer"),
    ],
)
def test_crd_sets_by_patch(running: str, name: str) -> None:
    assert releases.crd_set(release(running)) == crds.find(name)


def test_unknown_releases_have_no_facts() -> None:
    strange = release("2.0.0")
    assert releases.crd_set(strange) is None
    assert releases.serves(strange, "v1") is None
    assert releases.rollback_targets(strange) == ()
    with pytest.raises(LookupError, match=r"no row for 2\.0\.0"):
        releases.row_of(strange)


def test_beyond_the_table_is_newer_than_every_row() -> None:
    assert [
        text
        for text in ("0.27.0", f"{NEWEST_MINOR}.99", f"{NEXT_MINOR}.0", "2.0.0")
        if releases.beyond_table(release(text))
    ] == [
        f"{NEXT_MINOR}.0",
        "2.0.0",
    ]


def test_which_generations_a_controller_acts_on() -> None:
    found = {
        text: [one for one in ("alpha", "beta", "v1") if releases.serves(release(text), one)]
        for text in ("0.31.0", "0.32.0", "0.33.0", "1.0.0", "1.1.0")
    }
    assert found == {
        "0.31.0": ["alpha"],
        "0.32.0": ["alpha", "beta"],
        "0.33.0": ["beta"],
        "1.0.0": ["v1"],
        "1.1.0": ["v1"],
    }


@pytest.mark.parametrize(
    ("running", "targets"),
    [
        ("0.32.4", ["0.31.5", "0.31.4"]),
        ("1.0.14", ["0.37.8", "0.37.7", "0.36.9", "0.35.12", "0.34.13", "0.33.12"]),
        ("1.1.10", ["1.0.14", "1.0.13", "1.0.12", "1.0.11", "1.0.10", "1.0.9"]),
        ("1.9.0", ["1.8.8", "1.8.7", "1.8.6", "1.8.5", "1.8.3", "1.8.2", "1.8.1"]),
        ("0.28.0", []),
    ],
)
def test_rollback_targets_leave_out_bad_patches(running: str, targets: list[str]) -> None:
    assert texts(releases.rollback_targets(release(running))) == targets


def test_webhook_defaults_change_within_a_minor() -> None:
    row = releases.row_of(release("0.37.0"))
    assert [row.webhook_enabled(patch) for patch in row.releases] == [False] * 3 + [True] * 6
    assert row.crd_chart_webhook(release("0.37.0")) is None
    assert row.crd_chart_webhook(release("0.37.1")) == CrdChartWebhook(False, "kube-system")
    assert row.crd_chart_webhook(release("0.37.9")) == CrdChartWebhook(True, "")
    assert releases.row_of(release("1.1.0")).webhook_enabled(release("1.1.0")) is None


def test_hash_versions_change_within_a_minor() -> None:
    row = releases.row_of(release("0.32.0"))
    assert row.hash_versions(release("0.32.8")) == ("", "")
    assert row.hash_versions(release("0.32.9")) == ("v1", "v1")
    assert releases.row_of(release("0.29.0")).hash_versions(release("0.29.0")) == (None, None)


def test_gate_defaults() -> None:
    row = releases.row_of(release("1.6.0"))
    assert (row.gate_default("ReservedCapacity"), row.gate_default("NodeRepair"), row.gate_default("Drift")) == (
        True,
        False,
        None,
    )


@pytest.mark.parametrize(
    ("before", "after", "ends"),
    [("1.0.14", "1.1.10", True), ("0.37.8", "1.0.14", False), ("0.37.1", "0.37.8", False), ("1.1.10", "9.9.9", False)],
)
def test_a_release_ends_a_version_that_the_crds_before_it_serve(before, after, ends):
    assert releases.drops_versions(release(before), release(after)) is ends
