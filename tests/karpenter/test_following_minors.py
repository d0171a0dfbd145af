"""A minor release is stated as it differs from the one before it."""

from dataclasses import fields

import pytest

from migrations_app.karpenter.next_minor import NextMinor, following
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.table_types import (
    UNGUIDED,
    BadPatch,
    FeatureGate,
    MinorRelease,
    Patch,
    RollbackTarget,
    Since,
)

PATCHES = (Patch("9.1.0", "2030-01-01"), Patch("9.1.1", "2030-02-01"))


def after(before: MinorRelease, **differing: object) -> MinorRelease:
    return NextMinor(minor="9.1", patches=PATCHES, **differing).after(before)  # type: ignore[arg-type]  # rows of tests


@pytest.mark.parametrize("before", RELEASES, ids=lambda row: row.minor)
def test_what_is_not_stated_is_that_of_the_newest_patch_of_the_minor_before(before: MinorRelease) -> None:
    row = after(before)
    wide = (before.newest, row.newest)
    assert row.kubernetes_window(row.newest) == before.kubernetes_window(wide[0])
    assert row.crd_set(row.newest) == before.crd_set(wide[0])
    assert row.hash_versions(row.newest) == before.hash_versions(wide[0])
    for name in ("generation", "apis", "drift", "drift_switch", "metrics_port", "webhooks", "tag_prefix", "sources"):
        assert getattr(row, name) == getattr(before, name)
    assert set(row.gates) == set(before.gates)


@pytest.mark.parametrize("before", RELEASES, ids=lambda row: row.minor)
def test_what_belongs_to_the_patches_of_one_minor_is_not_taken_over(before: MinorRelease) -> None:
    row = after(before)
    assert (row.bad, row.hook_job_patch, row.leave_from, row.crd_chart_drops_v1_from) == ((), "", "", "")
    assert (row.upgrade_note, row.upgrade_needs) == ("", ())
    assert all(since.patch == "9.1.0" for rows in (row.kubernetes, row.crds, row.nodepool_hash) for since in rows)


def test_one_comes_from_where_the_minor_before_was_reached_and_goes_back_to_it_unguided() -> None:
    first, second = RELEASES[:2]
    assert after(first).upgrade_from == (first.minor, first.minor)
    assert second.upgrade_from
    assert after(second).upgrade_from == (second.upgrade_from[0], second.minor)
    assert after(second).rollback_to == (RollbackTarget(second.minor),)
    assert after(second).rollback_caveats == (UNGUIDED,)


def test_what_is_stated_replaces_the_value_even_by_nothing() -> None:
    bad = (BadPatch("9.1.0", "9.1.0", "does not start", "9.1.1"),)
    row = after(RELEASES[0], rollback_caveats=(), tag_prefix="", crds=(Since("9.1.1", "v1"),), bad=bad)
    assert (row.rollback_caveats, row.tag_prefix, row.crds, row.bad) == ((), "", (Since("9.1.1", "v1"),), bad)


def test_gates_are_added_changed_and_removed_by_name() -> None:
    before = after(RELEASES[0], gates=(FeatureGate("A", default=False), FeatureGate("B", default=False)))
    row = after(before, gates=(FeatureGate("B", default=True), FeatureGate("C", default=False)), gates_gone=("A",))
    assert row.gate_default("A") is None
    assert row.gate_default("B") is True
    assert row.gate_default("C") is False


def test_each_minor_follows_the_one_before_it() -> None:
    one = NextMinor(minor="9.1", patches=PATCHES, tag_prefix="x")
    two = NextMinor(minor="9.2", patches=(Patch("9.2.0", "2030-03-01"),))
    rows = following(RELEASES[-1], one, two)
    assert [row.minor for row in rows] == ["9.1", "9.2"]
    assert rows[1].tag_prefix == "x"
    assert rows[1].rollback_to == (RollbackTarget("9.1"),)


def test_a_row_states_every_field_of_a_release_or_takes_it_over() -> None:
    """A field that MinorRelease gets has to be named in NextMinor too, or no later minor can state it."""
    stated = {field.name for field in fields(NextMinor)} - {"gates_gone"}
    assert stated == {field.name for field in fields(MinorRelease)}
