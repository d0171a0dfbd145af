"""Text for Flux: values of a HelmRelease, suspending and resuming its objects, and what to change in a repository."""

from textwrap import indent

from migrations_app.checks.changes import Change, DeliveryPause, DeliveryResume, HelmChange
from migrations_app.checks.render.sources import source_text
from migrations_app.checks.render.values import json_scalar, reasons, tag_of, under_key, yaml_of
from migrations_app.checks.shell import note, word
from migrations_app.inventory.facts.managers import Managed

_KINDS = {"HelmRelease": "helmrelease", "Kustomization": "kustomization"}


def text(change: Change, by: Managed) -> str:
    """The change for Flux; empty if Flux does not manage what it changes."""
    match change:
        case HelmChange():
            return values_text(by, tree=yaml_of(change.given), version=tag_of(change), about=reasons(change))
        case DeliveryPause() | DeliveryResume() if change.target.kind in _KINDS:
            verb = "suspend" if isinstance(change, DeliveryPause) else "resume"
            where = f"{word(change.target.name)} --namespace {word(change.target.namespace)}"
            lines = (*map(note, change.notes), f"flux {verb} {_KINDS[change.target.kind]} {where}")
            return "\n".join(lines)
    return source_text(change, by, tool="flux")


def applied_text(by: Managed) -> str:
    """The command that reconciles a HelmRelease at once and waits until it is ready."""
    where = f"{word(by.name)} --namespace {word(by.namespace)}" if by.namespace else word(by.name)
    return f"flux reconcile helmrelease {where} --with-source  # once it says so; ends when the new pods are ready"


def values_text(by: Managed, *, tree: str, version: str, about: str) -> str:
    """The text for the HelmRelease's values; `tree` is YAML, `about` lines of comments, both may be empty."""
    name = f" {f'{by.namespace}/{by.name}'.strip('/')}" if by.by == "flux" and by.name else ""
    if not version:
        return f"{note(f'HelmRelease{name}, spec.values')}\n{about}{tree}".rstrip()
    values = under_key("values", tree, depth=2)
    return f"{note(f'HelmRelease{name}, spec')}\n{about}chart:\n  spec:\n    version: {version}\n{values}".rstrip()


def crd_release(chart: str, *, version: str, namespace: str, tree: str = "") -> str:
    """A HelmRelease for the CRD chart; `tree` is YAML of its values, or empty."""
    values = f"\n{indent(under_key('values', tree, depth=2), '  ')}" if tree else ""
    return (
        f"# New HelmRelease of {chart} in the repository, ready before the controller changes.\n"
        "# In that of karpenter: install.crds and upgrade.crds Skip.\n"
        "# Its namespace and sourceRef are those of the HelmRelease of karpenter\n"
        f"apiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata:\n  name: {chart}\n"
        f"  namespace: flux-system\nspec:\n  interval: 30m\n  releaseName: {chart}\n"
        f"  targetNamespace: {json_scalar(namespace)}\n  chart:\n    spec:\n      chart: {chart}\n"
        f"      version: {version}\n      sourceRef:\n        kind: HelmRepository\n        name: karpenter{values}"
    )
