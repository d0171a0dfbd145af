"""A chart as code: its values or its version where Terraform, Flux and Argo CD read them."""

from migrations_app.checks.base import Remedy
from migrations_app.checks.render import argocd, flux, terraform
from migrations_app.inventory.facts.managers import Managed


def as_code(
    by: Managed, *, release: str, tree: str, version: str, about: str, skips_crds: bool = False
) -> tuple[Remedy, ...]:
    """How these values, and that version where one is told, are given to the release in each tool.

    `tree` and `about` are YAML and comments, or empty. `skips_crds`: Argo CD leaves the CRDs of the chart out.
    """
    applied = argocd.values_text(by, tree=tree, version=version, about=about, skips_crds=skips_crds)
    return (
        Remedy(how="terraform", text=terraform.values_text(release, tree=tree, version=version, about=about)),
        Remedy(how="flux", text=flux.values_text(by, tree=tree, version=version, about=about)),
        Remedy(how="argocd", text=applied),
    )


def applied_by(by: Managed, *, release: str) -> tuple[Remedy, ...]:
    """How Flux, Argo CD or Terraform applies what its source says now, and how long it takes; nothing where another
    tool keeps the chart, or the object that delivers it is not known."""
    match by.by:
        case "terraform":
            return (Remedy(how="terraform", text=terraform.applied_text(release)),)
        case "flux" if by.name:
            return (Remedy(how="flux", text=flux.applied_text(by)),)
        case "argocd" if by.name:
            return (Remedy(how="argocd", text=argocd.applied_text(by)),)
    return ()


def chart_as_code(chart: str, *, version: str, namespace: str, tree: str = "") -> tuple[Remedy, ...]:
    """A release of its own for the chart of the CRDs, which the main chart then leaves out, in each tool. `tree` is
    YAML of its values, or empty."""
    return (
        Remedy(how="terraform", text=terraform.crd_release(chart, version=version, namespace=namespace, tree=tree)),
        Remedy(how="flux", text=flux.crd_release(chart, version=version, namespace=namespace, tree=tree)),
        Remedy(how="argocd", text=argocd.crd_release(chart, version=version, namespace=namespace, tree=tree)),
    )
