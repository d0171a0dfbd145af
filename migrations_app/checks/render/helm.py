"""The one renderer for Helm: all changes of a Helm release become one values file and one upgrade.

What was given is read from Helm and handed back with -f, and the changes go over it in a second file, where null takes
a key out. So the new chart's own defaults count, its image tag and digest among them, and no secret is ever printed.
Helm's flag for reusing values is never used: it keeps the old chart's defaults, and takes nothing out.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from migrations_app.checks.changes import Change, HelmChange, HelmValue
from migrations_app.checks.render.lines import printed
from migrations_app.checks.render.sources import source_text
from migrations_app.checks.render.values import yaml_of
from migrations_app.checks.shell import note, word
from migrations_app.inventory.facts.controller import CRD_CHART
from migrations_app.inventory.facts.managers import Managed

CHARTS = "oci://public.ecr.aws/karpenter"
_NO_FILE = re.compile(r"[^A-Za-z0-9.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """`version` is as the chart spells it; `flags` are further words for helm. `installs`: whether there may be no such
    release yet; the values of one that is there are kept."""

    release: str
    namespace: str
    chart: str
    version: str
    changes: tuple[HelmValue, ...] = ()
    flags: str = ""
    installs: bool = False


def upgrade_lines(upgrade: Upgrade) -> str:
    """Complete lines of shell: read the values that were given, write the changes, upgrade."""
    release, namespace = word(upgrade.release), word(upgrade.namespace)
    values_file, changes = _file(upgrade.release, "values"), _file(upgrade.release, "changes")
    read = f"helm get values {release} --namespace {namespace} -o yaml > {values_file}"
    lines, files = [read], [f"-f {values_file}"]
    if upgrade.installs:
        # Whoever may not read the values cannot upgrade either, so that none are dropped.
        lines = [note(f"Where there is no release {upgrade.release} yet, there are no values to keep")]
        lines += [f"{read} || printf '{{}}\\n' > {values_file}"]
    if upgrade.changes:
        lines += _written(upgrade.changes, changes)
        files.append(f"-f {changes}")
    verb = "upgrade --install" if upgrade.installs else "upgrade"
    chart = f"{CHARTS}/{upgrade.chart} --version {upgrade.version} --namespace {namespace}"
    lines += [f"helm {verb} {release} {chart} \\", "  " + " ".join(filter(None, (*files, upgrade.flags)))]
    return "\n".join(lines)


def _written(changes: tuple[HelmValue, ...], file: str) -> Iterator[str]:
    yield "# What changes; null takes a value out"
    yield from (note(f"  {change.key}: {change.why}") for change in changes if change.why)
    yield from printed(yaml_of({change.key: change.text or "null" for change in changes}))
    yield f"  > {file}"


def text(change: Change, by: Managed, *, landing: str) -> str:
    """The change of values for the page of its check, or in words for the chart that holds the object; empty where Helm
    has no part in it."""
    if isinstance(change, HelmChange):
        return change_note(change, landing=landing)
    return source_text(change, by, tool="helm")


def change_note(change: HelmChange, *, landing: str) -> str:
    """The change for the page of its check: its keys, and the upgrade that they are a part of. `landing` is the release
    that the hop lands on."""
    where = f"release {change.release} (chart {change.chart}, namespace {change.namespace})"
    to = f", at {change.version}" if change.version else ""
    sentences = {
        "landing": f"In the values of {where}, with the upgrade to {landing}:",
        "before": f"In {where}{to}, before the upgrade to {landing}:",
        "after": f"In the values of {where}, after the upgrade to {landing}:",
        "person": f"In the values of {where}; fill in what is missing:",
    }
    lines = [note(change.why)] if change.why else []
    lines += [note(sentences[change.when]), *map(_line, change.values)]
    if change.when in ("before", "landing"):
        lines.append("# The plan of the hop makes one upgrade of all changes of this release: karpdash plan prints it")
    return "\n".join(lines)


def _line(helm_value: HelmValue) -> str:
    return note(f"  set {helm_value.key}: {helm_value.text}" if helm_value.text else f"  take out {helm_value.key}")


def _file(release: str, subject: str) -> str:
    """A name of a file that needs no quotes."""
    return f"{_NO_FILE.sub('-', release).strip('-.') or 'karpenter'}.{subject}.yaml"


def crd_upgrade(release: str, *, namespace: str, version: str) -> Upgrade:
    """Brings the chart of the CRDs to that version, with the values that it was given."""
    return Upgrade(release=release, namespace=namespace, chart=CRD_CHART, version=version, installs=True)
