"""The mark that keeps Argo CD from deleting CRDs which leave a chart."""

from collections.abc import Sequence

from migrations_app.checks.base import Remedy
from migrations_app.checks.remedies.commands import kubectl
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
