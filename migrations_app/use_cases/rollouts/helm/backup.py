"""The sealed backup of a Helm release before it is changed, and the diff of its objects for the preview."""

from collections.abc import Iterable

import msgspec

from migrations_app.actions.helm.request import HelmRun
from migrations_app.actions.plan import Step
from migrations_app.actions.undo import restorable
from migrations_app.clients.helm.records import ReleaseRecord
from migrations_app.conversion.chart_values.trees import hidden
from migrations_app.models.rollout import Rollout
from migrations_app.use_cases.rollouts.backups import HIDDEN, DiffSides, store_sealed_backup
from migrations_app.use_cases.rollouts.helm.planning import HelmPreview


def export_release(row: Rollout, helm_preview: HelmPreview) -> None:
    """Stores two backups of the release: one without secrets for the download, and a complete one that is never
    shown.
    """
    run, former = helm_preview.proposal.run, helm_preview.former
    public = _document(run, former) | {
        "values": hidden(former.values),
        "objects": [restorable(tree) for tree in former.objects().values()],
    }
    full = _document(run, former) | {"values": former.values, "manifest": former.manifest}
    store_sealed_backup(row, run.former.path, plain=msgspec.json.encode(public, order="deterministic"))
    store_sealed_backup(row, run.former.path + HIDDEN, plain=msgspec.json.encode(full, order="deterministic"))


def _document(run: HelmRun, former: ReleaseRecord) -> dict[str, object]:
    metadata = {"name": run.release, "namespace": run.namespace}
    chart = f"{former.chart.metadata.name}-{former.chart.metadata.version}"
    return {
        "apiVersion": "karpdash.io/v1", "kind": "HelmRelease", "metadata": metadata,
        "revision": former.revision, "chart": chart,
    }  # fmt: skip


def diffs_of_runs(steps: Iterable[Step], helm_preview: HelmPreview) -> dict[str, DiffSides]:
    """The objects before and after the run, by the step that runs it."""
    sides: DiffSides = ({"objects": helm_preview.before}, {"objects": helm_preview.after})
    return {step.id: sides for step in steps if step.change is not None and step.change.verb == "helm"}
