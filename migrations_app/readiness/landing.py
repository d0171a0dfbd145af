"""The commands that take a hop: the CRDs first, then the controller, by the tool that keeps them."""

from migrations_app.checks.remedies import CHARTS, crd_chart_by, ordered
from migrations_app.checks.shell import helm_set, note, word
from migrations_app.checks.values import Remedy
from migrations_app.inventory.installation import CHART
from migrations_app.inventory.managers import BY_HAND, MANAGERS, Managed
from migrations_app.karpenter.releases import as_tag, find
from migrations_app.karpenter.versions import Release, release
from migrations_app.readiness.report import Installed

SOMEWHERE = Installed(namespace="NAMESPACE", release=CHART)
"""Where nothing was seen of the installation: the namespace is for the reader to fill in."""


def crd_commands(lands: str, installed: Installed | None) -> tuple[Remedy, ...]:
    """Brings the CRDs to that release."""
    here, to = installed or SOMEWHERE, release(lands)
    by = _managed(here.crds_kept_by, here.keeper if here.crds_kept_by == here.kept_by else "")
    flags = _webhook_flags(to, here)
    return crd_chart_by(by, namespace=here.namespace, version=as_tag(to), flags=flags)


def controller_commands(lands: str, installed: Installed | None) -> tuple[Remedy, ...]:
    """Brings the controller to that release and waits until it runs."""
    here, version = installed or SOMEWHERE, as_tag(release(lands))
    keeper = f" {here.keeper}" if here.keeper else ""
    flux, argocd = (keeper if here.kept_by == tool else "" for tool in ("flux", "argocd"))
    return ordered(
        _managed(here.kept_by, here.keeper),
        (
            Remedy(how="helm", text=_helm(here, version)),
            Remedy(how="terraform", text=f'{note(f"helm_release of {here.release}")}\nversion = "{version}"'),
            Remedy(
                how="flux", text=f"{note(f'HelmRelease{flux}')}\nspec:\n  chart:\n    spec:\n      version: {version}"
            ),
            Remedy(
                how="argocd", text=f"{note(f'Application{argocd}')}\nspec:\n  source:\n    targetRevision: {version}"
            ),
        ),
    )


def _helm(here: Installed, version: str) -> str:
    name, namespace = word(here.release), word(here.namespace)
    return "\n".join(
        (
            "# The values that you gave; take out of the file what the checks name",
            f"helm get values {name} --namespace {namespace} -o yaml > values.yaml",
            f"helm upgrade {name} {CHARTS}/{CHART} --version {version} --namespace {namespace} \\",
            "  --skip-crds -f values.yaml --wait",
        )
    )


def _webhook_flags(to: Release, here: Installed) -> str:
    """Where the CRDs of that release convert, they have to call the controller where it is."""
    row = find(to)
    defaults = row.crd_chart_webhook(to) if row else None
    if defaults is None or row is None or row.webhooks.conversion == "none":
        return ""
    given = {"webhook.enabled": "true"} if not defaults.enabled else {}
    if (defaults.service_namespace or here.namespace) != here.namespace:
        given["webhook.serviceNamespace"] = here.namespace
    return " ".join(helm_set(key, value) for key, value in given.items())


def _managed(by: str, keeper: str) -> Managed:
    namespace, _, name = keeper.rpartition("/")
    found = next((manager for manager in MANAGERS if manager == by), BY_HAND.by)
    return Managed(found, "", name, namespace)
