"""The input of a run of helm: the program, the packed chart, and the values from the record that the run replaces."""

from typing import Any

from django.conf import settings

from migrations_app.actions.helm.request import HelmRun
from migrations_app.checks.render.helm import CHARTS
from migrations_app.clients.helm.chart_archive import PackedChart, checked_chart, from_file
from migrations_app.clients.helm.charts import SCHEME, pull_chart, read_registry
from migrations_app.clients.helm.engine import HelmInput, HelmTool
from migrations_app.clients.helm.program import check_version, find_helm
from migrations_app.clients.helm.records import read_record, values_digest
from migrations_app.clients.kubernetes.api import Writer
from migrations_app.conversion.chart_values.trees import laid
from migrations_app.errors import InvalidInput, InvalidSetting, ReadError
from migrations_app.queries.rollouts.policies import CONTROLLER_UPGRADES_OFF
from migrations_app.use_cases.runtime.connections import limits, network_policy

OCI, FOLDER, OFFICIAL = "oci", "charts", "official"


def helm_tool() -> HelmTool:
    """The helm program, with its version checked. Raises InvalidInput (code `controller_upgrades_off`, `helm_missing`
    or `helm_version`).
    """
    env = settings.ENV
    if not env.controller_upgrades:
        raise InvalidInput(CONTROLLER_UPGRADES_OFF, code="controller_upgrades_off")
    try:
        program = find_helm(env.helm)
        return HelmTool(program=program, version=check_version(program), seconds=env.helm_seconds)
    except InvalidSetting as wrong:
        raise InvalidInput(f"{wrong.where}: {wrong.message}", code=wrong.code) from None


def chart_for(source: str, *, chart: str, tag: str) -> PackedChart:
    """The packed chart, from the registry of the settings or the data folder. Raises InvalidInput with the reason (code
    `chart_not_pulled` if the registry does not deliver the chart).
    """
    if source != OCI:
        raw, origin = from_file(settings.ENV.data_dir / FOLDER, source), f"{FOLDER}/{source}"
    else:
        address = _registry()
        origin = f"{address}/{chart}"
        try:
            raw = pull_chart(read_registry(address), chart, tag=tag, reach=network_policy(), limits=limits()).raw
        except ReadError as wrong:
            raise InvalidInput(f"{origin}:{tag} cannot be pulled: {wrong.message}", code="chart_not_pulled") from None
    return checked_chart(raw, source=origin, name=chart, version=tag)


def _registry() -> str:
    setting = settings.ENV.chart_registry
    address: str = CHARTS if setting == OFFICIAL else setting.rstrip("/")
    if not address.startswith(SCHEME):
        words = "no registry is set: name a chart in the data folder's charts, or set KARPDASH_CHART_REGISTRY"
        raise InvalidInput(words, where="source", code="registry_off")
    return address


def values_after(former: dict[str, Any], changes: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """The values of the previous revision, with these changes."""
    return laid(former, changes, prune=True)


def input_for_run(run: HelmRun, writer: Writer) -> HelmInput:
    """The input of the run, as it was at the preview. Raises InvalidInput (`chart_changed`, `changed`) if chart or
    values changed since, ReadError.
    """
    if run.do == "rollback":
        return HelmInput()
    source = run.source.removeprefix(f"{FOLDER}/") if run.source.startswith(f"{FOLDER}/") else OCI
    chart = chart_for(source, chart=run.chart, tag=run.version)
    if chart.digest != run.chart_digest:
        raise InvalidInput(f"{run.source} is not the same chart as at the preview any more", code="chart_changed")
    former = writer.read(run.former)
    values = values_after(read_record(former or {}).values, run.changes)
    if former is None or values_digest(values) != run.values_digest:
        raise InvalidInput("the values of the release were changed since the preview", code="changed")
    return HelmInput(chart=chart.raw, values=values)
