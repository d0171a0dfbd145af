"""Our rows against the collected facts, where those lie beside the project; elsewhere these tests are skipped."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from migrations_app.karpenter import crd_sets, stops
from migrations_app.karpenter.label_shape import LabelRow
from migrations_app.karpenter.labels import KEYS
from migrations_app.karpenter.release_shape import MinorRelease
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.versions import Release, minor_order, release

FACTS = Path(__file__).resolve().parents[2].parent / "shared" / "facts"
pytestmark = pytest.mark.skipif(not FACTS.is_dir(), reason="the facts are not beside the project")

Row = dict[str, Any]
MINORS = [row.minor for row in RELEASES]


@pytest.fixture(scope="session")
def facts() -> Row:
    return yaml.safe_load((FACTS / "releases.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def label_facts() -> Row:
    return yaml.safe_load((FACTS / "labels.yaml").read_text(encoding="utf-8"))


@pytest.fixture(params=MINORS)
def pair(request: pytest.FixtureRequest, facts: Row) -> tuple[MinorRelease, Row]:
    ours = next(row for row in RELEASES if row.minor == request.param)
    return ours, next(row for row in facts["releases"] if row["minor"] == request.param)


def by_patch(ours: MinorRelease, ranges: list[Row], value: str) -> dict[str, Any]:
    """The facts' inclusive ranges, spelled out for every patch of the minor."""
    return {
        str(patch): found[value]
        for patch in ours.releases
        for found in ranges
        if release(found["from_patch"]) <= patch <= release(found["to_patch"])
    }


def test_the_same_minors_in_the_same_order(facts: Row) -> None:
    assert [row["minor"] for row in facts["releases"]] == MINORS


def test_patches_and_dates(pair: tuple[MinorRelease, Row]) -> None:
    ours, theirs = pair
    assert [patch._asdict() for patch in ours.patches] == theirs["patches"]


def test_generation_drift_gates_and_port(pair: tuple[MinorRelease, Row]) -> None:
    ours, theirs = pair
    assert (ours.generation, ours.drift) == (theirs["api_generation"], theirs["drift"]["mode"])
    assert {gate.name: gate.default for gate in ours.gates} == theirs["feature_gates_default"]
    assert (ours.metrics_port, ours.tag_prefix) == (theirs["metrics_port_default"], theirs["oci_version_prefix"])


def test_kubernetes_windows(pair: tuple[MinorRelease, Row]) -> None:
    ours, theirs = pair
    window = theirs["kubernetes"]
    special = by_patch(ours, window.get("by_patch", []), "max")
    wanted = {str(patch): (window["min"], special.get(str(patch), window["max"])) for patch in ours.releases}
    assert {str(patch): tuple(ours.kubernetes_window(patch)) for patch in ours.releases} == wanted


def test_crd_sets_of_every_patch(pair: tuple[MinorRelease, Row]) -> None:
    ours, theirs = pair
    found = {str(patch): ours.crd_set(patch) for patch in ours.releases}
    assert found == by_patch(ours, theirs["crd_sets"], "set")


def test_api_versions(pair: tuple[MinorRelease, Row]) -> None:
    ours, theirs = pair
    found = [{"group": api.group, "version": api.version, "kinds": list(api.kinds)} for api in ours.apis]
    assert found == theirs["controller_api"]["reads_writes"]


def hash_version(text: str | None, patch: Release) -> str | None:
    """What the facts' sentence says of one patch: "v2", or "v1 (from 0.32.9; ...)", or "none up to x, v1 from y"."""
    if text is None:
        return "" if patch >= release("0.30.0") else None
    since = re.search(r"(v\d) \(?from (\d+\.\d+\.\d+)", text)
    if since is None:
        return text
    return since[1] if patch >= release(since[2]) else ""


def test_hash_versions(pair: tuple[MinorRelease, Row]) -> None:
    ours, theirs = pair
    told = theirs["hash_versions"]
    wanted = [
        (hash_version(told["nodepool"], patch), hash_version(told["nodeclass"], patch)) for patch in ours.releases
    ]
    assert [ours.hash_versions(patch) for patch in ours.releases] == wanted


def test_webhook_defaults(pair: tuple[MinorRelease, Row]) -> None:
    ours, theirs = pair
    told = theirs["webhooks"]
    enabled = {str(patch): on for patch in ours.releases if (on := ours.webhook_enabled(patch)) is not None}
    assert enabled == by_patch(ours, told["helm_default"], "webhook_enabled")
    chart = {str(patch): tuple(one) for patch in ours.releases if (one := ours.crd_chart_webhook(patch)) is not None}
    ranges = told.get("crd_chart_default", [])
    on, namespace = by_patch(ours, ranges, "webhook_enabled"), by_patch(ours, ranges, "serviceNamespace")
    assert chart == {patch: (on[patch], namespace[patch]) for patch in on}
    assert ([ours.hook_job_patch] if ours.hook_job_patch else []) == told.get("post_install_hook_patches", [])
    assert ours.crd_chart_drops_v1_from == told.get("crd_chart_drops_v1_when_disabled_from", "")


ADMISSION = {
    "always_on": "always_on",
    "on_by_default": "on_by_default",
    "follows_value": "follows webhook.enabled",
    "removed": "removed",
}
CONVERSION = {
    "none": "none",
    "bridge_patches_only": "only in patches whose CRDs serve v1",
    "follows_value": "on when webhook.enabled (default true)",
    "removed": "removed",
}


def test_webhook_modes(pair: tuple[MinorRelease, Row]) -> None:
    ours, theirs = pair
    told = theirs["webhooks"]
    assert ADMISSION[ours.webhooks.admission] == told["admission"]
    assert CONVERSION[ours.webhooks.conversion] == told["conversion"]


def test_predecessors(pair: tuple[MinorRelease, Row]) -> None:
    ours, theirs = pair
    words = " ".join(theirs["upgrade_from"]["allowed"])
    named = re.findall(r"\d+\.\d+", words.replace("0.x", ""))
    oldest = MINORS[0] if "and older" in words else named[0] if named else ""
    wanted = (oldest, max(named, key=minor_order)) if named else None
    assert ours.upgrade_from == wanted


def test_rollback_targets_patch_by_patch(pair: tuple[MinorRelease, Row]) -> None:
    ours, theirs = pair
    found = {
        str(patch)
        for row in RELEASES
        for patch in row.releases
        if any(target.accepts(patch) for target in ours.rollback_to)
    }
    assert found == {str(patch) for text in theirs["rollback"]["to"] for patch in spelled_out(str(text))}


def spelled_out(target: str) -> list[Release]:
    """The known patches of "0.36", "0.35.4+" or "0.33.12"; a text about releases older than the table names none."""
    if not re.fullmatch(r"\d+\.\d+(\.\d+)?\+?", target):
        return []
    patches = [patch for row in RELEASES for patch in row.releases if f"{patch}.".startswith(f"{minor_of(target)}.")]
    if target.count(".") == 1:
        return patches
    floor = release(target.rstrip("+"))
    return [patch for patch in patches if patch == floor or (target.endswith("+") and patch > floor)]


def minor_of(text: str) -> str:
    return ".".join(text.rstrip("+").split(".")[:2])


def test_known_bad_patches(pair: tuple[MinorRelease, Row]) -> None:
    ours, theirs = pair
    found = [([str(patch) for patch in ours.releases if bad.covers(patch)], bad.fixed_in) for bad in ours.bad]
    told = theirs.get("known_bad_patches", [])
    assert found == [(bad["patches"], bad["fixed_in"].split()[0]) for bad in told]


def test_patches_to_leave_from(facts: Row) -> None:
    gate = next(gate for gate in facts["paths"]["gates"] if gate["id"] == "latest-patch-before-1.0")
    bridge = next(stop for stop in stops.STOPS if stop.hop == "0.33+")
    found = {row.minor: row.leave_from for row in RELEASES if bridge.spans(row.newest)}
    assert found == gate["minimum_patches"]
    assert {row.minor: str(row.newest) for row in RELEASES if bridge.spans(row.newest)} == gate["newest_patches"]


def test_sources_are_those_of_the_facts(pair: tuple[MinorRelease, Row]) -> None:
    ours, theirs = pair
    assert list(ours.sources) == [source.split(" (")[0] for source in theirs["sources"]]


def crd_as_told(crd: crd_sets.Crd) -> Row:
    return {
        "name": crd.name,
        "group": crd.kind.group,
        "kind": crd.kind.kind,
        "plural": crd.kind.plural,
        "scope": "Namespaced" if crd.kind.namespaced else "Cluster",
        "short_names": list(crd.short_names),
        "versions": [{**version._asdict(), "deprecated": False} for version in crd.versions],
    }


def test_crd_sets(facts: Row) -> None:
    found = {row.name: [crd_as_told(crd) for crd in row.crds] for row in crd_sets.CRD_SETS}
    assert found == {name: row["crds"] for name, row in facts["crd_sets"].items()}


def test_conversion_of_the_charts(facts: Row) -> None:
    found = {row.name: (row.main_chart_converts, row.crd_chart_converts) for row in crd_sets.CRD_SETS}
    assert found == {
        name: (row["conversion"]["main_chart"] == "Webhook", row["conversion"]["crd_chart"].startswith("Webhook"))
        for name, row in facts["crd_sets"].items()
    }
    services = {tuple(c["main_chart_service"].values()) for c in conversions(facts) if "main_chart_service" in c}
    assert services == {crd_sets.MAIN_CHART_WEBHOOK_SERVICE}
    assert {tuple(c["review_versions"]) for c in conversions(facts) if "review_versions" in c} == {
        crd_sets.REVIEW_VERSIONS
    }


def conversions(facts: Row) -> list[Row]:
    return [row["conversion"] for row in facts["crd_sets"].values()]


def first_seen(row: Row) -> tuple[str, ...]:
    """The releases named before any bracket; none for keys older than the tables or bound to no release."""
    text = row["first_seen"].partition("(")[0]
    if text.startswith("<"):
        return ()
    named = re.findall(r"\d+\.\d+(?:\.\d+)?", text)
    return tuple(sorted(named, key=lambda version: [int(part) for part in version.split(".")]))


def label_as_told(row: Row) -> tuple[object, ...]:
    return (
        row["key"],
        row["kind"],
        tuple(row["generations"]),
        first_seen(row),
        row["last_seen"] or "",
        tuple(row["objects"]),
        row["set_by"],
        tuple(row.get("values", ())),
        row["replacement"] or "",
        row["source"],
    )


def label_as_ours(row: LabelRow) -> tuple[object, ...]:
    return (
        row.key,
        row.kind,
        row.generations,
        row.first_seen,
        row.last_seen,
        row.objects,
        row.set_by,
        row.values,
        row.replacement,
        row.source,
    )


def test_labels(label_facts: Row) -> None:
    assert {label_as_ours(row) for row in KEYS} == {label_as_told(row) for row in label_facts["keys"]}
    assert len(KEYS) == len(label_facts["keys"])
