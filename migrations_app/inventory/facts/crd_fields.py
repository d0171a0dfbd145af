"""Compares the fields of an installed CRD with those of a release's CRD."""

from migrations_app.inventory.objects.karpenter import CRD, CRDVersion
from migrations_app.karpenter.crds import Crd, marks_of
from migrations_app.karpenter.versions import Release


def missing_fields(crd: CRD, row: Crd, *, release: Release) -> tuple[str, ...]:
    """The fields that the release's CRD has and the installed CRD lacks, in the versions that both serve."""
    return tuple(
        mark.path
        for version in _shared(crd, row)
        for mark in marks_of(row.name, version.name, running=release)
        if version.fields is not None and mark.path not in version.fields
    )


def is_schema_unseen(crd: CRD, row: Crd, *, release: Release) -> bool:
    """Whether a version that both serve has fields to compare, but its schema was not seen."""
    return any(
        version.fields is None and marks_of(row.name, version.name, running=release) for version in _shared(crd, row)
    )


def _shared(crd: CRD, row: Crd) -> tuple[CRDVersion, ...]:
    return tuple(version for version in crd.spec.versions or () if version.served and version.name in row.served)
