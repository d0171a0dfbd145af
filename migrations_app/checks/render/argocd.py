"""Text for Argo CD: values of an Application, pausing and resuming its automated sync, and what to change in its
source."""

from collections.abc import Sequence
from textwrap import indent
from typing import Final

from migrations_app.checks.changes import Change, DeliveryPause, DeliveryResume, HelmChange
from migrations_app.checks.render.sources import source_text
from migrations_app.checks.render.values import json_scalar, reasons, tag_of, under_key, yaml_of
from migrations_app.checks.shell import note, quoted, word
from migrations_app.inventory.facts.managers import Managed


def text(change: Change, by: Managed) -> str:
    """The change for Argo CD; empty if Argo CD does not manage what it changes."""
    match change:
        case HelmChange():
            return values_text(by, tree=yaml_of(change.given), version=tag_of(change), about=reasons(change))
        case DeliveryPause() if change.target.kind == "Application":
            return _set(change, "--sync-policy none")
        case DeliveryResume() if change.target.kind == "Application":
            prune, heals = (" --auto-prune" * change.prune), (" --self-heal" * change.self_heal)
            return _set(change, f"--sync-policy automated{prune}{heals}")
    return source_text(change, by, tool="argocd")


def _set(change: DeliveryPause | DeliveryResume, policy: str) -> str:
    name = f"{word(change.target.namespace)}/{word(change.target.name)}"
    return "\n".join((*map(note, change.notes), f"argocd app set {name} {policy}"))


def applied_text(by: Managed) -> str:
    """The command that syncs an Application, automated or not, and waits until it is healthy."""
    name = _application(by)
    return f"argocd app sync {name} && argocd app wait {name} --health  # once its source says so; prunes nothing"


def pruned_text(by: Managed, objects: Sequence[tuple[str, str, str]], *, why: str) -> str:
    """The commands that sync an Application, delete these objects by a sync that prunes only them, and wait until the
    Application is healthy. Each object is API group, kind and name; `why` says why they go.

    The commands are not joined: a sync that leaves out objects to prune ends with an error
    (argoproj/argo-cd#8134).
    """
    name = _application(by)
    chosen = " ".join(f"--resource {quoted(':'.join(parts))}" for parts in objects)
    return "\n".join(
        (
            note("Once its source says so. This sync prunes nothing, and may end with: resources require pruning"),
            f"argocd app sync {name}",
            note(f"{why}. This sync deletes them, and nothing else"),
            f"argocd app sync {name} --prune {chosen} &&",
            f"argocd app wait {name} --health",
        )
    )


def _application(by: Managed) -> str:
    return f"{word(by.namespace)}/{word(by.name)}" if by.namespace else word(by.name)


BESIDE_TEXT: Final = "Are the values text in helm.values, change them there: beside valuesObject that text is left out"


def values_text(by: Managed, *, tree: str, version: str, about: str, skips_crds: bool = False) -> str:
    """The text for the Application's Helm values; `tree` is YAML, `about` lines of comments, both may be empty. With a
    version, `skips_crds` excludes the CRDs of the chart."""
    name = f" {f'{by.namespace}/{by.name}'.strip('/')}" if by.by == "argocd" and by.name else ""
    if any(not line.startswith("#") for line in tree.splitlines()):
        about = f"{note(BESIDE_TEXT)}\n{about}"
    if not version:
        return f"{note(f'Application{name}, spec.source.helm.valuesObject')}\n{about}{tree}".rstrip()
    values_object = under_key("valuesObject", tree, depth=2)
    values = under_key("helm", "\n".join(filter(None, ("skipCrds: true" * skips_crds, values_object))), depth=2)
    return f"{note(f'Application{name}, spec.source')}\n{about}targetRevision: {version}\n{values}".rstrip()


def crd_release(chart: str, *, version: str, namespace: str, tree: str = "") -> str:
    """An Application for the CRD chart; `tree` is YAML of its values, or empty."""
    helm_tree = under_key("helm", under_key("valuesObject", tree, depth=2), depth=2)
    values = f"\n{indent(helm_tree, '    ')}" if helm_tree else ""
    return (
        f"# New Application of {chart}, where the others are kept or by argocd app create --file; synced before the "
        "controller changes.\n# In that of karpenter: helm.skipCrds true, but before that, on each CRD:\n"
        "# argocd.argoproj.io/sync-options: Prune=false\n"
        "# Its namespace, project and destination are those of the Application of karpenter\n"
        f"apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: {chart}\n  namespace: argocd\n"
        "spec:\n  project: default\n  destination:\n    server: https://kubernetes.default.svc\n"
        f"    namespace: {json_scalar(namespace)}\n  source:\n    repoURL: public.ecr.aws/karpenter\n"
        f"    chart: {chart}\n    targetRevision: {version}{values}\n"
        "  syncPolicy:\n    syncOptions: [ServerSideApply=true]"
    )
