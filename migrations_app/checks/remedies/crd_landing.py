"""What stands beside the landing of the CRDs: values of their chart in each tool, and a mark against their deletion."""

from collections.abc import Mapping, Sequence
from textwrap import indent

from msgspec import structs

from migrations_app.checks.base import Remedy
from migrations_app.checks.remedies.commands import kubectl
from migrations_app.checks.remedies.gitops import yaml_of
from migrations_app.checks.shell import words

PRUNE = "argocd.argoproj.io/sync-options"
"""Argo CD reads it from the object in the cluster as well, and leaves one with Prune=false where it is."""
ALL_CRDS = "$(kubectl get crd -o name | grep -E '[.]karpenter[.](sh|k8s[.]aws)$')"


def crds_kept(names: Sequence[str] = ()) -> Remedy:
    """Marks these CRDs, or all of Karpenter's, so that Argo CD does not delete them where they leave a chart."""
    listed = f"crd {words(names)}" if names else ALL_CRDS
    return kubectl(
        "# Before a chart leaves them out: with automated prune every NodePool and node goes with its CRD",
        f"kubectl annotate {listed} {PRUNE}=Prune=false --overwrite",
    )


def with_values(remedy: Remedy, given: Mapping[str, str]) -> Remedy:
    """The same for a chart kept as code with these values; that of Helm takes them as flags already."""
    if not given or remedy.how not in _WRITTEN:
        return remedy
    lines = _WRITTEN[remedy.how](yaml_of(given))
    return structs.replace(remedy, text=f"{remedy.text.rstrip()}\n{lines}")


_WRITTEN = {
    "terraform": lambda tree: f"values = [<<-YAML\n{indent(tree, '  ')}\n  YAML\n]",
    "flux": lambda tree: f"values:\n{indent(tree, '  ')}",
    "argocd": lambda tree: f"helm:\n  valuesObject:\n{indent(tree, '    ')}",
}
