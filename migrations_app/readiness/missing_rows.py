"""Finds rows that the tables of releases lack: facts of a known release, or a release that another table names.

Commands and servers call it at their start, so that a forgotten row is reported there and not in the middle of a scan.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from migrations_app.errors import InvalidSetting
from migrations_app.iam.requirements.features import minor_text
from migrations_app.iam.requirements.gaps import KNOWN, Tables
from migrations_app.iam.requirements.requests import probes_for
from migrations_app.iam.requirements.statement_grant import StatementGrant
from migrations_app.iam.requirements.statements import GRANTS
from migrations_app.karpenter import crds
from migrations_app.karpenter.coverage.entries import CHANGES
from migrations_app.karpenter.crds import FIELD_MARKS
from migrations_app.karpenter.releases import GATE_FATES, HASH_CHANGES, RELEASES, Table
from migrations_app.karpenter.table_types import MinorRelease
from migrations_app.karpenter.tables.annotation_rows import ANNOTATION_ROWS
from migrations_app.karpenter.tables.env_rows import ENV_NAMES
from migrations_app.karpenter.tables.fix_rows import FIX_ROWS
from migrations_app.karpenter.tables.helm_rows import CRD_CHART, MAIN_CHART
from migrations_app.karpenter.tables.label_rows import LABEL_ROWS
from migrations_app.karpenter.tables.mark_rows import MARK_ROWS
from migrations_app.karpenter.tables.metric_rows import METRIC_LABEL_ROWS, METRIC_ROWS, METRIC_VALUE_ROWS
from migrations_app.karpenter.tables.outside_rows import OUTSIDE_ROWS
from migrations_app.karpenter.tables.port_rows import PORTS, ports_of
from migrations_app.karpenter.tables.rbac_rows import RIGHT_ROWS, SURPLUS
from migrations_app.karpenter.versions import minor_order, parse


class ReleaseReference(NamedTuple):
    """A release that a row of a table names: a minor, a patch, or an empty text for no limit."""

    table: str
    row: str
    release: str


def missing_rows(
    *, releases: Table = RELEASES, iam: Tables = KNOWN, grants: tuple[StatementGrant, ...] = GRANTS
) -> tuple[str, ...]:
    """Returns one sentence for each missing row, with table and release; empty if the tables fit together."""
    return (
        *(message for row in releases for message in _missing_for_release(row, releases)),
        *_unknown_releases(_release_references(), releases),
        *dict.fromkeys(message for row in releases for message in _missing_iam_rows(row, iam=iam, grants=grants)),
    )


def require_rows() -> None:
    """Raises InvalidSetting that names every missing row of the tables."""
    if missing := missing_rows():
        raise InvalidSetting("the tables of releases are not complete: " + "; ".join(missing))


def _missing_for_release(row: MinorRelease, releases: Table) -> Iterator[str]:
    """Yields what the other tables lack for that release."""
    known = {other.minor for other in releases}
    for minor in (*(row.upgrade_from or ()), *(target.minor for target in row.rollback_to)):
        if minor not in known:
            yield f"the release rows have none for {minor}, which {row.minor} names"
    for name in sorted({row.crd_set(patch) for patch in row.releases}):
        if crds.find(name) is None:
            yield f"crd_sets has no set {name}, which {row.minor} ships"
    fates = {fate.name for fate in GATE_FATES}
    yield from (f"gate_rows has no row for {gate.name} of {row.minor}" for gate in row.gates if gate.name not in fates)
    if row.metrics_port not in {port.number for port in ports_of(row.newest)}:
        yield f"port_rows has no row for port {row.metrics_port} of {row.minor}"
    versions = {change.version for change in HASH_CHANGES}
    for since in (*row.nodepool_hash, *row.nodeclass_hash):
        if since.value and since.value not in versions:
            yield f"hash_rows has no row for {since.value} of {row.minor}"


def _unknown_releases(names: Iterable[ReleaseReference], releases: Table) -> Iterator[str]:
    """Yields the names of releases that have no row, except those older than the table.

    A patch may be newer than the row of its minor.
    """
    known = {row.minor for row in releases}
    for table, row, text in names:
        release = parse(text)
        minor = release.minor if release else text
        if minor and minor not in known and minor_order(minor) > releases[0].order:
            yield f"{table} names {text} for {row}, and the release rows have none for it"


def _release_references() -> Iterator[ReleaseReference]:
    """Yields every release that a row of another table names."""
    for key in (*MAIN_CHART, *CRD_CHART):
        yield from (ReleaseReference("helm_rows", key.key, text) for text in (key.first, key.last))
    for env in ENV_NAMES:
        yield from (ReleaseReference("env_rows", env.name, text) for text in (env.first, env.last))
    for name, rows in (("label_rows", LABEL_ROWS), ("annotation_rows", ANNOTATION_ROWS), ("mark_rows", MARK_ROWS)):
        yield from (ReleaseReference(name, row.key, text) for row in rows for text in (*row.first_seen, row.last_seen))
    yield from (ReleaseReference("metric_rows", metric.old, metric.release) for metric in METRIC_ROWS)
    yield from (ReleaseReference("metric_rows", value.old, value.release) for value in METRIC_VALUE_ROWS)
    yield from (ReleaseReference("metric_rows", label.old, label.release) for label in METRIC_LABEL_ROWS)
    yield from (ReleaseReference("outside_rows", outside.search, outside.release) for outside in OUTSIDE_ROWS)
    for port in PORTS:
        yield from (ReleaseReference("port_rows", port.name, text) for text in (port.first, port.last))
    for right in (*RIGHT_ROWS, *SURPLUS):
        yield from (
            ReleaseReference("rbac_rows", " ".join(right.resources), text) for text in (right.first, right.last)
        )
    yield from (ReleaseReference("fix_rows", fix.fault, text) for fix in FIX_ROWS for text in fix.since)
    yield from (ReleaseReference("crd_fields", mark.path, mark.first) for mark in FIELD_MARKS)
    yield from (ReleaseReference("hash_rows", change.what, change.first) for change in HASH_CHANGES)
    yield from (ReleaseReference("coverage", change.id, change.release) for change in CHANGES)


def _missing_iam_rows(row: MinorRelease, *, iam: Tables, grants: tuple[StatementGrant, ...]) -> Iterator[str]:
    """Yields the AWS requests of that release that no reason or no grant covers."""
    reasons = {need.action for need in iam.needs if row.order in need.span}
    granted = {
        (action, kind)
        for grant in grants
        if row.order in grant.span
        for action in grant.actions
        for kind in grant.kinds
    }
    for probe in probes_for(row.order, table=iam.probes):
        request = f"{probe.action} in {minor_text(row.order)}"
        if probe.action not in reasons:
            yield f"iam/needs has no row for {request}"
        if (probe.action, probe.kind) not in granted:
            yield f"iam/grants has no row for {request} on {probe.kind}"
