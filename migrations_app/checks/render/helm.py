"""Text for Helm: all changes of a Helm release become one values file and one upgrade.

The user's values are read from Helm and passed back with -f; the changes are a second file, in which null removes a
key. So the defaults of the new chart apply, including image tag and digest, and no secret is printed. Helm's flag for
reusing values is never used: it keeps the defaults of the old chart and removes nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from migrations_app.checks.changes import Change, HelmChange, HelmValue, PersonTask
from migrations_app.checks.render.lines import printed, rollout_line, task_lines
from migrations_app.checks.render.sources import source_text
from migrations_app.checks.render.values import yaml_of
from migrations_app.checks.shell import note, word
from migrations_app.inventory.facts.controller import CRD_CHART
from migrations_app.inventory.facts.managers import Managed

CHARTS = "oci://public.ecr.aws/karpenter"
_NO_FILE = re.compile(r"[^A-Za-z0-9.]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """One helm upgrade. `version` is in the spelling of the chart; `flags` are further arguments. `installs`: the
    release may not exist yet; if it exists, its values are kept."""

    release: str
    namespace: str
    chart: str
    version: str
    changes: tuple[HelmValue, ...] = ()
    flags: str = ""
    installs: bool = False


def upgrade_lines(upgrade: Upgrade) -> str:
    """Complete shell lines: read the user's values, write the changes, upgrade.

    Each command is joined to the next by `&&`: without the values that are there, the upgrade would remove them all.
    """
    release, namespace = word(upgrade.release), word(upgrade.namespace)
    values_file, changes = _file(upgrade.release, "values"), _file(upgrade.release, "changes")
    read = f"helm get values {release} --namespace {namespace} -o yaml > {values_file}"
    lines, files = [f"{read} &&"], [f"-f {values_file}"]
    if upgrade.installs:
        lines = [note(f"Where there is no release {upgrade.release} yet, there are no values to keep")]
        missing = f"helm status {release} --namespace {namespace} 2>&1 | grep -q 'release: not found'"
        lines.append(f"{{ {read} || {{ {missing} && printf '{{}}\\n' > {values_file}; }}; }} &&")
    if upgrade.changes:
        lines += _written(upgrade.changes, changes)
        files.append(f"-f {changes}")
    verb = "upgrade --install" if upgrade.installs else "upgrade"
    chart = f"{CHARTS}/{upgrade.chart} --version {upgrade.version} --namespace {namespace}"
    lines += [f"helm {verb} {release} {chart} \\", "  " + " ".join(filter(None, (*files, upgrade.flags)))]
    return "\n".join(lines)


def template_lines(upgrade: Upgrade, *, deployment: str) -> str:
    """Complete shell lines for a chart that was rendered and applied without a Helm release: a person brings the values
    in use, the chart is rendered with the changes and applied, and the Deployment is waited for."""
    release, namespace = word(upgrade.release), word(upgrade.namespace)
    changes, manifests = _file(upgrade.release, "changes"), _file(upgrade.release, "manifests")
    files = ['-f "$VALUES"']
    task = PersonTask(
        what="set VALUES to the values file of the running manifests, with the changes of the last upgrade",
        why="Helm has no record of them, and without them the chart's defaults replace the settings in use",
    )
    lines = [note(f"There is no Helm release {upgrade.release} to upgrade: its chart is rendered and applied")]
    lines += [*task_lines(task), 'test -s "${VALUES:?is not set: the file of the values in use}" &&']
    if upgrade.changes:
        lines += _written(upgrade.changes, changes)
        files.append(f"-f {changes}")
    chart = f"{CHARTS}/{upgrade.chart} --version {upgrade.version} --namespace {namespace}"
    lines += [f"helm template {release} {chart} \\", f"  {' '.join(files)} --no-hooks > {manifests} &&"]
    lines.append(f"kubectl apply --server-side --force-conflicts -f {manifests} &&")
    lines.append(rollout_line(deployment, namespace=upgrade.namespace))
    if upgrade.changes:
        lines.append(note(f"Then write {changes} into the file of VALUES: the next upgrade is rendered with that file"))
    return "\n".join(lines)


def _written(changes: tuple[HelmValue, ...], file: str) -> Iterator[str]:
    yield "# What changes; null takes a value out"
    yield from (note(f"  {change.key}: {change.why}") for change in changes if change.why)
    yield from printed(yaml_of({change.key: change.text or "null" for change in changes}))
    yield f"  > {file} &&"


def text(change: Change, by: Managed, *, target_release: str) -> str:
    """The values to change, for the page of the check; for objects in a chart, what to change there. Empty if Helm does
    not manage what it changes."""
    if isinstance(change, HelmChange):
        return change_note(change, target_release=target_release)
    return source_text(change, by, tool="helm")


def change_note(change: HelmChange, *, target_release: str) -> str:
    """The change as comments for the page of the check: its keys, and the upgrade that includes them."""
    where = f"release {change.release} (chart {change.chart}, namespace {change.namespace})"
    to = f", at {change.version}" if change.version else ""
    sentences = {
        "landing": f"In the values of {where}, with the upgrade to {target_release}:",
        "before": f"In {where}{to}, before the upgrade to {target_release}:",
        "after": f"In the values of {where}, after the upgrade to {target_release}:",
        "person": f"In the values of {where}; fill in what is missing:",
    }
    lines = [note(change.why)] if change.why else []
    lines += [note(sentences[change.when]), *map(_line, change.values)]
    if change.when in ("before", "landing"):
        lines.append(
            "# The plan of the upgrade makes one upgrade of all changes of this release: karpdash plan prints it"
        )
    return "\n".join(lines)


def _line(helm_value: HelmValue) -> str:
    return note(f"  set {helm_value.key}: {helm_value.text}" if helm_value.text else f"  take out {helm_value.key}")


def rollback_lines(release: str, namespace: str) -> tuple[str, str]:
    """The shell lines that list the revisions of a Helm release and go back to one: chart and values of that time."""
    at = f"--namespace {word(namespace)}"
    return (f"helm history {word(release)} {at}", f"helm rollback {word(release)} REVISION {at} --wait")


def _file(release: str, subject: str) -> str:
    """A file name that needs no quotes."""
    return f"{_NO_FILE.sub('-', release).strip('-.') or 'karpenter'}.{subject}.yaml"


def crd_upgrade(release: str, *, namespace: str, version: str, installs: bool = True) -> Upgrade:
    """The upgrade of the CRD chart to that version, with the values that it has; `installs` as in `Upgrade`."""
    return Upgrade(release=release, namespace=namespace, chart=CRD_CHART, version=version, installs=installs)
