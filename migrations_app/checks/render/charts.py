"""Writes the values or version of a chart as code for Terraform, Flux and Argo CD."""

from migrations_app.checks.base import Remedy
from migrations_app.checks.render import argocd, flux, terraform
from migrations_app.inventory.facts.managers import Managed


def as_code(
    by: Managed, *, release: str, tree: str, version: str, about: str, skips_crds: bool = False
) -> tuple[Remedy, ...]:
    """Remedies that set these values, and the version if given, in each tool.

    `tree` and `about` are YAML and comments, or empty. `skips_crds`: the Argo CD Application excludes the CRDs of the
    chart.
    """
    applied = argocd.values_text(by, tree=tree, version=version, about=about, skips_crds=skips_crds)
    return (
        Remedy(how="terraform", text=terraform.values_text(release, tree=tree, version=version, about=about)),
        Remedy(how="flux", text=flux.values_text(by, tree=tree, version=version, about=about)),
        Remedy(how="argocd", text=applied),
    )


def applied_by(by: Managed, *, release: str) -> tuple[Remedy, ...]:
    """How Flux, Argo CD or Terraform applies its source and waits for the result; empty if another tool manages the
    chart or the delivery object is unknown."""
    match by.by:
        case "terraform":
            return (Remedy(how="terraform", text=terraform.applied_text(release)),)
        case "flux" if by.name:
            return (Remedy(how="flux", text=flux.applied_text(by)),)
        case "argocd" if by.name:
            return (Remedy(how="argocd", text=argocd.applied_text(by)),)
    return ()


def chart_as_code(chart: str, *, version: str, namespace: str, tree: str = "") -> tuple[Remedy, ...]:
    """A separate release for the CRD chart, for each tool; the main chart then has to skip the CRDs. `tree` is YAML of
    its values, or empty."""
    return (
        Remedy(how="terraform", text=terraform.crd_release(chart, version=version, namespace=namespace, tree=tree)),
        Remedy(how="flux", text=flux.crd_release(chart, version=version, namespace=namespace, tree=tree)),
        Remedy(how="argocd", text=argocd.crd_release(chart, version=version, namespace=namespace, tree=tree)),
    )
