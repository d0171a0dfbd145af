"""A chart as code: its values or its version where Terraform, Flux and Argo CD read them."""

from migrations_app.checks.base import Remedy
from migrations_app.checks.render import argocd, flux, terraform
from migrations_app.inventory.facts.managers import Managed


def as_code(by: Managed, *, release: str, tree: str, version: str, about: str) -> tuple[Remedy, ...]:
    """How these values, and that version where one is told, are given to the release in each tool.

    `tree` and `about` are YAML and comments, or empty.
    """
    return (
        Remedy(how="terraform", text=terraform.values_text(release, tree=tree, version=version, about=about)),
        Remedy(how="flux", text=flux.values_text(by, tree=tree, version=version, about=about)),
        Remedy(how="argocd", text=argocd.values_text(by, tree=tree, version=version, about=about)),
    )


def applied_by(by: Managed) -> tuple[Remedy, ...]:
    """How Flux or Argo CD applies what its source says now, and how long it takes; nothing where another tool keeps the
    chart, or the object that delivers it is not known."""
    if by.by == "flux" and by.name:
        return (Remedy(how="flux", text=flux.applied_text(by)),)
    return (Remedy(how="argocd", text=argocd.applied_text(by)),) if by.by == "argocd" and by.name else ()


def chart_as_code(chart: str, *, version: str) -> tuple[Remedy, ...]:
    """A release of its own for the chart of the CRDs, which the main chart then leaves out, in each tool."""
    return (
        Remedy(how="terraform", text=terraform.crd_release(chart, version=version)),
        Remedy(how="flux", text=flux.crd_release(chart, version=version)),
        Remedy(how="argocd", text=argocd.crd_release(chart, version=version)),
    )
