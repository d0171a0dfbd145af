"""Joins all changes of a Helm release in a hop into one Helm upgrade, and makes its commands.

Each value is changed once in the whole plan. The commands upgrade the CRDs first, then the controller, with the tool
that manages them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from msgspec import UNSET
from msgspec.structs import replace

from migrations_app.checks.base import Finding, Remedy
from migrations_app.checks.changes import HelmChange, HelmValue
from migrations_app.checks.remedies.commands import as_json, crd_upgrade_remedies, ordered
from migrations_app.checks.render.charts import applied_by, as_code, chart_as_code
from migrations_app.checks.render.helm import Upgrade, crd_upgrade, template_lines, upgrade_lines
from migrations_app.checks.render.values import yaml_of
from migrations_app.checks.shell import note
from migrations_app.conversion.chart_values.convert import DIGEST, TAG, pinned_image
from migrations_app.conversion.chart_values.side_by_side import unread_at
from migrations_app.inventory.facts.controller import CHART, CRD_CHART
from migrations_app.inventory.facts.managers import BY_HAND, MANAGERS, Managed
from migrations_app.karpenter.crds import MAIN_CHART_WEBHOOK_SERVICE
from migrations_app.karpenter.release_facts import AdmissionRow
from migrations_app.karpenter.releases import as_tag, conversion_begins, find
from migrations_app.karpenter.versions import Release, parse, release
from migrations_app.readiness.report import InstallationFacts
from migrations_app.readiness.runbook.orphaned_webhooks import (
    deployment_name,
    orphaned_webhooks,
    remedies_without_webhooks,
)

UNKNOWN_INSTALLATION = InstallationFacts(namespace="NAMESPACE", release=CHART)
"""Used if the installation was not seen: the reader fills in the namespace."""
_TO_CHANGE = ("fail", "unknown", "manual")
HelmValues = tuple[HelmValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HopUpgrades:
    """The Helm upgrades of a hop. `crds` and `controller` are the values that the upgrade itself changes. `before_crds`
    and `before` are the commands that upgrade the CRDs and the controller before it; with `controller_first`, the
    controller comes first, because its CRDs ask a webhook that only it serves."""

    before: tuple[Remedy, ...] = ()
    before_crds: tuple[Remedy, ...] = ()
    controller_first: bool = False
    crds: HelmValues = ()
    controller: HelmValues = ()
    before_keys: frozenset[tuple[str, str]] = frozenset()
    """Chart and key of each value that `before` changes."""
    crds_before: bool = False
    """Whether `before_crds` installs CRDs of another release."""
    asked_first: tuple[tuple[str, str], ...] = ()
    """Chart and id of each check whose fix is a Helm change before the upgrade."""
    start: str = ""
    """The release that runs before the hop; empty if not known, and then nothing is changed before the upgrade."""
    target_release: str = ""
    changed_values: tuple[tuple[str, HelmValue], ...] = ()
    """Every value that the hop changes, each with its chart, in order."""
    installed: InstallationFacts | None = None
    """The installation directly before the upgrade, with what earlier upgrades of the plan have added."""
    orphaned_webhooks: tuple[AdmissionRow, ...] = ()
    """The admission webhooks that the upgrade of the controller leaves behind."""


@dataclass(slots=True)
class HelmWalk:
    """Makes the Helm upgrades hop after hop, and remembers what earlier hops have changed."""

    installed: InstallationFacts | None
    _values_set: dict[tuple[str, str], str] = field(default_factory=dict)
    """Maps chart and key to the value as JSON; empty text for a value that was removed."""
    _crd_release: Release | None = None
    """The release whose CRDs the plan has installed; None if not known yet."""
    _hop_values: list[tuple[str, HelmValue]] = field(default_factory=list)
    """The values that the current hop changes, each with its chart."""
    _controller_first: bool = False
    """Whether the upgrades before the current hop begin with the controller."""
    _any_hop: bool = False
    """Whether an earlier hop of the plan has upgraded the controller."""

    def next_hop(self, findings: Iterable[Finding], *, start: str, target_release: str = "") -> HopUpgrades:
        """The Helm upgrades of the next hop. `start` is the release before the hop, empty if not known; changes that
        need the release `target_release` are made by the upgrade itself."""
        findings = tuple(findings)
        changes = [_at_its_moment(change, target_release) for change in _helm_changes(findings)]
        checks_before = [(change.chart, finding.id) for finding in findings for change in _helm_changes((finding,))
                 if _at_its_moment(change, target_release).when == "before"]  # fmt: skip
        values_at_start, crds_at_start = frozenset(self._values_set.items()), self._crd_release
        self._hop_values = []
        before_crds, before = self._upgrades_before(changes, start=start)
        crds_installed = self._crd_release != crds_at_start
        new_keys = frozenset(key for key, _ in self._values_set.items() - values_at_start)
        with_upgrade = [change for change in changes if change.when == "landing"]
        controller, crds = (
            self._changed_values(with_upgrade, chart, to=parse(target_release)) for chart in (CHART, CRD_CHART)
        )
        target = parse(target_release)
        self._crd_release = target or self._crd_release
        left = (
            orphaned_webhooks(target, self.installed, start=start, applied_before=self._any_hop or bool(before))
            if target
            else ()
        )
        self._any_hop = True
        installed_before, self.installed = self.installed, with_crd_delivery(self.installed)
        chart_values = (
            *self._hop_values,
            *((CRD_CHART, helm_value) for helm_value in self._crd_webhook_values(target_release)),
        )
        return HopUpgrades(
            before=before, before_crds=before_crds, crds=crds, controller=controller, before_keys=new_keys,
            crds_before=crds_installed, asked_first=tuple(dict.fromkeys(checks_before)), start=start,
            target_release=target_release, changed_values=chart_values, installed=installed_before,
            orphaned_webhooks=left, controller_first=self._controller_first,
        )  # fmt: skip

    def _crd_webhook_values(self, target_release: str) -> Iterator[HelmValue]:
        """The values of the CRD chart that its upgrade sets without a check: those of the conversion webhook."""
        target = parse(target_release)
        known_keys = {value.key for chart, value in self._hop_values if chart == CRD_CHART}
        if target is not None and self.installed is not None:
            yield from (
                webhook_value
                for webhook_value in _webhook_values(target, self.installed)
                if webhook_value.key not in known_keys
            )

    def _changed_values(self, changes: Iterable[HelmChange], chart: str, *, to: Release | None) -> HelmValues:
        """The values of these changes that the plan has not set so far, each key once; setting a value wins over
        removing it. `to` is the release after the Helm upgrade: values that name another image are replaced."""
        wanted_values = [value for change in changes if change.chart == chart for value in change.values]
        if to is not None:
            wanted_values += [*(self._image_values(to) if chart == CHART else ()), *self._unread_values(chart, to)]
        by_key: dict[str, HelmValue] = {}
        for value in sorted(wanted_values, key=lambda helm_value: not helm_value.text):
            by_key.setdefault(value.key, value)
        changed_values = {
            key: value for key, value in by_key.items() if self._values_set.get((chart, key)) != value.text
        }
        self._values_set |= {(chart, key): value.text for key, value in changed_values.items()}
        self._hop_values += [(chart, value) for value in changed_values.values()]
        return tuple(changed_values.values())

    def _unread_values(self, chart: str, to: Release) -> Iterator[HelmValue]:
        """Removes or moves the values that an earlier hop of the plan has set and the chart of `to` does not read."""
        set_values = [
            (key, text) for (value_chart, key), text in self._values_set.items() if value_chart == chart and text
        ]
        for key, text in set_values:
            unread = unread_at(key, to, chart=chart)
            if unread is None:
                continue
            if unread.replacement and " " not in unread.replacement:
                yield HelmValue(unread.replacement, text, f"takes over {key}")
            yield HelmValue(key, why=f"{to} does not read it")

    def _image_values(self, to: Release) -> Iterator[HelmValue]:
        """Sets the image of release `to` if the values name another image, which would run on with the new chart. The
        value is set, not removed: null would remove the chart's own default too."""
        installed = self.installed
        main_charts = (
            [given_chart for given_chart in (installed.given or ()) if given_chart.chart == CHART] if installed else []
        )
        own_charts = [
            given_chart
            for given_chart in main_charts
            if installed and (given_chart.namespace, given_chart.release) == (installed.namespace, installed.release)
        ]
        keys = pinned_image(next((given_chart.values for given_chart in own_charts or main_charts), {}), to)
        if TAG in keys:
            yield HelmValue(TAG, as_json(as_tag(to)), f"the values named the image of another release than {to}")
        if DIGEST in keys:
            yield HelmValue(DIGEST, '""', "the digest was that of another image")

    def _upgrades_before(
        self, changes: list[HelmChange], *, start: str
    ) -> tuple[tuple[Remedy, ...], tuple[Remedy, ...]]:
        requests = [change for change in changes if change.when == "before"]
        running = parse(start) if start else None
        crd_upgrade_lines: tuple[Remedy, ...] = ()
        self._controller_first = False
        if not requests or running is None:
            return crd_upgrade_lines, ()
        to = max((running, *(release(helm_change.version) for helm_change in requests if helm_change.version)))
        self._controller_first = (
            running.minor == to.minor and conversion_begins(running, to) and not self._lacks_crds(requests)
        )
        crds, controller = (
            self._changed_values(requests, CRD_CHART, to=to),
            self._changed_values(requests, CHART, to=to),
        )
        restarts = any(
            helm_change.chart == CHART and not helm_change.values and not helm_change.version
            for helm_change in requests
        )
        if crds or to > running or self._lacks_crds(requests):
            crd_upgrade_lines = crd_commands(str(to), self.installed, values=crds)
            self._crd_release = to
            self.installed = with_crd_delivery(self.installed)
        if not (controller or to > running or restarts):
            return crd_upgrade_lines, ()
        return crd_upgrade_lines, controller_commands(str(to), self.installed, values=controller)

    def _lacks_crds(self, helm_changes: Iterable[HelmChange]) -> bool:
        """Whether a change needs CRDs that no earlier upgrade of the plan has installed."""
        releases = [
            release(helm_change.version)
            for helm_change in helm_changes
            if helm_change.chart == CRD_CHART and not helm_change.values and helm_change.version
        ]
        return bool(releases) and (self._crd_release is None or max(releases) > self._crd_release)


def _at_its_moment(change: HelmChange, target_release: str) -> HelmChange:
    """The change with its real moment: a change that needs `target_release` is made by the upgrade, not before."""
    return replace(change, when="landing") if change.when == "before" and change.reaches(target_release) else change


def _helm_changes(findings: Iterable[Finding]) -> Iterator[HelmChange]:
    """The Helm changes of open findings, each once per finding: the remedies for all tools carry the same change."""
    for finding in findings:
        if finding.status in _TO_CHANGE:
            helm_changes = (remedy.change for remedy in finding.remedies if isinstance(remedy.change, HelmChange))
            yield from dict.fromkeys(helm_changes)


def crd_commands(
    target_release: str, installed: InstallationFacts | None, *, values: HelmValues = ()
) -> tuple[Remedy, ...]:
    """The commands that install the CRDs of release `target_release`, with these values of their chart."""
    installation, target = installed or UNKNOWN_INSTALLATION, release(target_release)
    keeper = installation.crd_keeper or ""
    manager = _managed(installation.crds_kept_by, keeper)
    namespace, _, name = (installation.crd_release or "").rpartition("/")
    upgrade = crd_upgrade(
        name or CRD_CHART, namespace=namespace or installation.namespace, version=as_tag(target), installs=not name
    )
    given_keys = {value.key for value in values}
    all_values = (*values, *(value for value in _webhook_values(target, installation) if value.key not in given_keys))
    if not all_values and not keeper and not (name and manager.by == "terraform"):
        return (*crd_upgrade_remedies(manager, upgrade), *_new_chart_applied(manager))
    # An installed release needs its present values again, beside those that change.
    helm = Upgrade(
        release=upgrade.release, namespace=upgrade.namespace, chart=CRD_CHART, version=upgrade.version,
        changes=all_values, installs=upgrade.installs,
    )  # fmt: skip
    tree = {value.key: value.text for value in all_values}
    lines, values_tree = Remedy(how="helm", text=upgrade_lines(helm)), yaml_of(tree)
    if keeper or name:
        code = as_code(manager, release=helm.release, tree=values_tree, version=helm.version, about="")
        return (*ordered(manager, (lines, *code)), *applied_by(manager, release=helm.release))
    code = chart_as_code(CRD_CHART, version=helm.version, namespace=helm.namespace, tree=values_tree)
    return (*ordered(manager, (lines, *code)), *_new_chart_applied(manager))


def _new_chart_applied(manager: Managed) -> tuple[Remedy, ...]:
    """The commands that apply the object of a CRD chart that was not installed before."""
    return applied_by(Managed(manager.by, "", CRD_CHART, DELIVERY_NAMESPACES.get(manager.by, "")), release=CRD_CHART)


DELIVERY_NAMESPACES: Final[dict[str, str]] = {"flux": "flux-system", "argocd": "argocd"}
"""By tool the namespace of a new object that delivers the CRD chart."""


def with_crd_delivery(installed: InstallationFacts | None) -> InstallationFacts | None:
    """The installation after its CRDs were installed: with Flux or Argo CD, an object of their own delivers them."""
    namespace = DELIVERY_NAMESPACES.get(installed.crds_kept_by, "") if installed else ""
    if installed is None or not namespace or installed.crd_keeper:
        return installed
    return replace(installed, crd_keeper=f"{namespace}/{CRD_CHART}")


def controller_commands(
    target_release: str,
    installed: InstallationFacts | None,
    *,
    values: HelmValues = (),
    skips_crds: bool = False,
    left: tuple[AdmissionRow, ...] = (),
) -> tuple[Remedy, ...]:
    """The commands that upgrade the controller to release `target_release`, with these values, and wait until it runs.
    `skips_crds`: Argo CD leaves out the CRDs of the chart from now on. `left` are webhooks to delete afterwards."""
    installation, version = installed or UNKNOWN_INSTALLATION, as_tag(release(target_release))
    helm = Upgrade(
        release=installation.release, namespace=installation.namespace, chart=CHART, version=version, changes=values,
        flags="--skip-crds --wait",
    )  # fmt: skip
    manager = _managed(installation.kept_by, installation.keeper)
    tree = {value.key: value.text for value in values}
    reasons = "".join(f"{note(f'{helm_value.key}: {helm_value.why}')}\n" for helm_value in values if helm_value.why)
    tree_text = yaml_of(tree)
    code = as_code(
        manager, release=installation.release, tree=tree_text, version=version, about=reasons, skips_crds=skips_crds
    )
    refused = installation.without_release is True
    lines = template_lines(helm, deployment=deployment_name(installation)) if refused else upgrade_lines(helm)
    commands = ordered(manager, (Remedy(how="helm", text=lines), *code))
    to = release(target_release)
    return (*commands, *remedies_without_webhooks(left, manager, installed=installation, to=to, first=commands[0]))


def _webhook_values(to: Release, installed: InstallationFacts) -> Iterator[HelmValue]:
    """The values that let CRDs with a conversion webhook call the controller by its namespace and name."""
    row = find(to)
    defaults = row.crd_chart_webhook(to) if row else None
    if defaults is None or row is None or row.webhooks.conversion == "none":
        return
    if not defaults.enabled:
        yield HelmValue("webhook.enabled", "true")
    if (defaults.service_namespace or installed.namespace) != installed.namespace:
        yield HelmValue("webhook.serviceNamespace", as_json(installed.namespace))
    if installed.controller not in (UNSET, "", MAIN_CHART_WEBHOOK_SERVICE[0]):
        yield HelmValue("webhook.serviceName", as_json(installed.controller))


def with_upgrade_notes(finding: Finding, upgrades: HopUpgrades) -> Finding:
    """The finding with notes in place of its Helm changes: each note names the Helm upgrade that makes the change."""
    moments = ("before", "landing") if upgrades.start else ("landing",)
    helm_changes = {
        remedy: _at_its_moment(remedy.change, upgrades.target_release)
        for remedy in finding.remedies
        if isinstance(remedy.change, HelmChange)
    }
    own_changes = {remedy: change for remedy, change in helm_changes.items() if change.when in moments}
    if not own_changes:
        return finding
    notes = "\n".join(note(_upgrade_note(change, upgrades)) for change in dict.fromkeys(own_changes.values()))
    first_remedy = Remedy(how=next(iter(own_changes)).how, text=notes)
    return replace(
        finding, remedies=(first_remedy, *(remedy for remedy in finding.remedies if remedy not in own_changes))
    )


def _upgrade_note(change: HelmChange, upgrades: HopUpgrades) -> str:
    if change.when == "before":
        is_made = any((change.chart, key) in upgrades.before_keys for key in change.given)
        is_made = (
            is_made
            or (bool(upgrades.before) and not change.values and change.chart == CHART)
            or _gets_crds_before(change, upgrades)
        )
        upgrade = "the upgrade before that to the target version"
    else:
        values = upgrades.crds if change.chart == CRD_CHART else upgrades.controller
        is_made = any(value.key in change.given for value in values) or not change.values
        upgrade = "the upgrade to the target version"
    keys = ", ".join(change.given) or change.why
    if is_made:
        return f"Release {change.release}: made by {upgrade}: {keys}"
    return f"Release {change.release}: an earlier upgrade of this plan has made it: {keys}"


def _gets_crds_before(change: HelmChange, upgrades: HopUpgrades) -> bool:
    """Whether the change needs only CRDs, and the Helm upgrades before the upgrade install them."""
    return change.chart == CRD_CHART and not change.values and upgrades.crds_before


def _managed(by: str, keeper: str) -> Managed:
    namespace, _, name = keeper.rpartition("/")
    manager_name = next((manager for manager in MANAGERS if manager == by), BY_HAND.by)
    return Managed(manager_name, "", name, namespace)
