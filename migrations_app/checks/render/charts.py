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


def chart_as_code(chart: str, *, version: str) -> tuple[Remedy, ...]:
    """A release of its own for the chart of the CRDs, which the main chart then leaves out, in each tool."""
    return (
        Remedy(how="terraform", text=terraform.crd_release(chart, version=version)),
        Remedy(how="flux", text=flux.crd_release(chart, version=version)),
        Remedy(how="argocd", text=argocd.crd_release(chart, version=version)),
    )
