"""What a person chose -> the files of the chart of a release: from the registry, or from the data folder."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from migrations_app.actions.crd_documents import ORIGIN
from migrations_app.actions.landing import landing
from migrations_app.checks.remedies import CHARTS
from migrations_app.clients.charts import from_archive, from_folder
from migrations_app.clients.oci_charts import pull_chart
from migrations_app.clients.registry_url import SCHEME, read_registry
from migrations_app.errors import BadInput, BadSetting
from migrations_app.flow.connect import limits, reach
from migrations_app.inventory.installation import CHART
from migrations_app.inventory.inventory import Inventory
from migrations_app.karpenter.releases import as_tag
from migrations_app.readiness import facts

OCI = "oci"
FOLDER = "charts"
OFFICIAL = "official"


def chart_files(inventory: Inventory, parameters: Mapping[str, Any]) -> dict[str, bytes]:
    """The files by name, as JSON, and beside them where they came from. Raises BadInput, BadSetting, CouldNotLook."""
    source = str(parameters.get("source") or OCI)
    if source != OCI:
        found = from_folder(settings.ENV.data_dir / FOLDER, source)
        return found | {ORIGIN: f"{FOLDER}/{source}".encode()}
    release = landing(inventory, facts.running(inventory), wanted=str(parameters.get("release") or ""))
    address, tag = _registry(), as_tag(release)
    pulled = pull_chart(read_registry(address), CHART, tag=tag, reach=reach(), limits=limits())
    return from_archive(pulled.raw) | {ORIGIN: f"{address}/{CHART}:{tag} ({pulled.digest})".encode()}


def _registry() -> str:
    """The address of the charts, without a slash at its end."""
    given = settings.ENV.chart_registry
    if not given:
        words = "no registry is set: name a chart in the data folder's charts, or set KARPDASH_CHART_REGISTRY"
        raise BadInput(words, where="source", code="registry_off")
    address: str = CHARTS if given == OFFICIAL else given.rstrip("/")
    if not address.startswith(SCHEME):
        raise BadSetting(f"must begin with {SCHEME}", where="KARPDASH_CHART_REGISTRY")
    return address
