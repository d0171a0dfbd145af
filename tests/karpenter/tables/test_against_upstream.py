"""Our tables against what upstream's repositories say (tests/upstream), row by row."""

import re
from collections.abc import Iterable
from typing import Any

import pytest

from migrations_app.karpenter import crds, hops
from migrations_app.karpenter.labels import KEYS
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.table_types import LabelRow, MinorRelease
from migrations_app.karpenter.versions import Release, release
from tests import upstream
from tests.upstream import rows

Pair = tuple[MinorRelease, rows.Release]
MINORS = [row.minor for row in RELEASES]


@pytest.fixture(params=MINORS)
def pair(request: pytest.FixtureRequest) -> Pair:
    """Our row and upstream's."""
    ours = next(row for row in RELEASES if row.minor == request.param)
    return ours, next(row for row in upstream.releases().releases if row.minor == request.param)


def by_patch(ours: MinorRelease, ranges: Iterable[Any], value: str) -> dict[str, Any]:
    """That field of upstream's ranges of patches, spelled out for every patch of the minor."""
    return {
        str(patch): getattr(found, value)
        for patch in ours.releases
        for found in ranges
        if release(found.first) <= patch <= release(found.last)
    }


def test_the_same_minors_in_the_same_order() -> None:
    assert [row.minor for row in upstream.releases().releases] == MINORS


def test_patches_and_dates(pair: Pair) -> None:
    ours, theirs = pair
    assert [tuple(patch) for patch in ours.patches] == [(patch.version, patch.date) for patch in theirs.patches]


def test_generation_drift_gates_and_port(pair: Pair) -> None:
    ours, theirs = pair
    assert (ours.generation, ours.drift) == (theirs.generation, theirs.drift)
    assert {gate.name: gate.default for gate in ours.gates} == theirs.gates
    assert (ours.metrics_port, ours.tag_prefix) == (theirs.metrics_port, theirs.tag_prefix)


def test_kubernetes_windows(pair: Pair) -> None:
    ours, theirs = pair
    window = theirs.kubernetes
    special = by_patch(ours, window.special, "max")
    wanted = {str(patch): (window.min, special.get(str(patch), window.max)) for patch in ours.releases}
    assert {str(patch): tuple(ours.kubernetes_window(patch)) for patch in ours.releases} == wanted


def test_crd_sets_of_every_patch(pair: Pair) -> None:
    ours, theirs = pair
    found = {str(patch): ours.crd_set(patch) for patch in ours.releases}
    assert found == by_patch(ours, theirs.crd_sets, "set")


def test_api_versions(pair: Pair) -> None:
    ours, theirs = pair
    found = [(api.group, api.version, tuple(api.kinds)) for api in ours.apis]
    assert found == [(api.group, api.version, api.kinds) for api in theirs.apis]


def hash_version(told: tuple[rows.HashVersion, ...], patch: Release) -> str | None:
    """What upstream writes at that patch; None where it writes no hash."""
    begun = [one.version for one in told if release(one.first) <= patch]
    return begun[-1] if begun else None


def test_hash_versions(pair: Pair) -> None:
    ours, theirs = pair
    told = theirs.hashes
    wanted = [(hash_version(told.nodepool, patch), hash_version(told.nodeclass, patch)) for patch in ours.releases]
    assert [ours.hash_versions(patch) for patch in ours.releases] == wanted


def test_webhook_defaults(pair: Pair) -> None:
    ours, theirs = pair
    told = theirs.webhooks
    enabled = {str(patch): on for patch in ours.releases if (on := ours.webhook_enabled(patch)) is not None}
    assert enabled == by_patch(ours, told.enabled, "value")
    chart = {str(patch): tuple(one) for patch in ours.releases if (one := ours.crd_chart_webhook(patch)) is not None}
    on, namespace = by_patch(ours, told.crd_chart, "enabled"), by_patch(ours, told.crd_chart, "namespace")
    assert chart == {patch: (on[patch], namespace[patch]) for patch in on}
    assert ((ours.hook_job_patch,) if ours.hook_job_patch else ()) == told.hook_job_patches
    assert ours.crd_chart_drops_v1_from == told.v1_left_out_from


def test_webhook_modes(pair: Pair) -> None:
    ours, theirs = pair[0].webhooks, pair[1].webhooks
    assert (ours.admission, ours.conversion) == (theirs.admission, theirs.conversion)


def test_predecessors(pair: Pair) -> None:
    ours, theirs = pair
    told = theirs.upgrade_from
    assert ours.upgrade_from == (None if told is None else (told.oldest, told.newest))


def test_rollback_targets_patch_by_patch(pair: Pair) -> None:
    ours, theirs = pair
    found = {
        str(patch)
        for row in RELEASES
        for patch in row.releases
        if any(target.accepts(patch) for target in ours.rollback_to)
    }
    assert found == {str(patch) for target in theirs.rollback_to for patch in spelled_out(target)}


def spelled_out(target: str) -> list[Release]:
    """The known patches of "0.36", "0.35.4+" or "0.33.12"."""
    assert re.fullmatch(r"\d+\.\d+(\.\d+\+?)?", target)
    patches = [patch for row in RELEASES for patch in row.releases if f"{patch}.".startswith(f"{minor_of(target)}.")]
    if target.count(".") == 1:
        return patches
    floor = release(target.rstrip("+"))
    return [patch for patch in patches if patch == floor or (target.endswith("+") and patch > floor)]


def minor_of(text: str) -> str:
    return ".".join(text.rstrip("+").split(".")[:2])


def test_known_bad_patches(pair: Pair) -> None:
    ours, theirs = pair
    found = [(tuple(str(patch) for patch in ours.releases if bad.covers(patch)), bad.fixed_in) for bad in ours.bad]
    assert found == [(bad.patches, bad.fixed_in) for bad in theirs.bad]


def test_patches_to_leave_from() -> None:
    told = upstream.releases().last_stop_before_1_0
    bridge = next(stop for stop in hops.STOPS if stop.hop == "0.33+")
    assert {row.minor: row.leave_from for row in RELEASES if bridge.spans(row.newest)} == told.minimum
    assert {row.minor: str(row.newest) for row in RELEASES if bridge.spans(row.newest)} == told.newest


def test_sources_are_those_of_the_rows(pair: Pair) -> None:
    ours, theirs = pair
    assert tuple(ours.sources) == theirs.sources


def crd_as_told(crd: crds.Crd) -> rows.Crd:
    return rows.Crd(
        name=crd.name,
        group=crd.kind.group,
        kind=crd.kind.kind,
        plural=crd.kind.plural,
        scope="Namespaced" if crd.kind.namespaced else "Cluster",
        short_names=tuple(crd.short_names),
        versions=tuple(rows.CrdVersion(**version._asdict()) for version in crd.versions),
    )


def test_crd_sets() -> None:
    found = {row.name: tuple(crd_as_told(crd) for crd in row.crds) for row in crds.CRD_SETS}
    assert found == {name: row.crds for name, row in upstream.crd_sets().sets.items()}


def test_conversion_of_the_charts() -> None:
    told = upstream.crd_sets()
    found = {row.name: (row.main_chart_converts, row.crd_chart_converts) for row in crds.CRD_SETS}
    assert found == {name: (row.main_chart_converts, row.crd_chart_converts) for name, row in told.sets.items()}
    service = told.webhook_service
    assert tuple(crds.MAIN_CHART_WEBHOOK_SERVICE) == (service.name, service.namespace, service.port)
    assert told.review_versions == crds.REVIEW_VERSIONS


def as_told(row: LabelRow) -> rows.Key:
    return rows.Key(
        key=row.key,
        kind=row.kind,
        generations=row.generations,
        first_seen=row.first_seen,
        last_seen=row.last_seen,
        objects=row.objects,
        set_by=row.set_by,
        values=row.values,
        replacement=row.replacement,
        source=row.source,
    )


def test_labels() -> None:
    assert [as_told(row) for row in sorted(KEYS, key=lambda row: (row.key, row.kind))] == sorted(
        upstream.keys(), key=lambda row: (row.key, row.kind)
    )
