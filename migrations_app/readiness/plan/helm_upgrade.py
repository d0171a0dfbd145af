"""The Helm part of a runbook: all changes of a Helm release in a hop as one upgrade, told once in the whole plan.

The commands that take a hop: the CRDs first, then the controller, by the tool that keeps them.
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
from migrations_app.checks.render.helm import Upgrade, crd_upgrade, upgrade_lines
from migrations_app.checks.render.values import yaml_of
from migrations_app.checks.shell import note
from migrations_app.conversion.chart_values.convert import DIGEST, TAG, pinned_image
from migrations_app.conversion.chart_values.side_by_side import unread_at
from migrations_app.inventory.facts.controller import CHART, CRD_CHART
from migrations_app.inventory.facts.managers import BY_HAND, MANAGERS, Managed
from migrations_app.karpenter.crds import MAIN_CHART_WEBHOOK_SERVICE
from migrations_app.karpenter.releases import as_tag, find
from migrations_app.karpenter.versions import Release, parse, release
from migrations_app.readiness.report import Installed

SOMEWHERE = Installed(namespace="NAMESPACE", release=CHART)
"""Where nothing was seen of the installation: the namespace is for the reader to fill in."""
_TO_CHANGE = ("fail", "unknown", "manual")
Values = tuple[HelmValue, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HopUpgrades:
    """The upgrades of a hop. `crds` and `controller` change with the landing; `before` are commands of their own, for
    the controller, and `before_crds` those for the CRDs ahead of them."""

    before: tuple[Remedy, ...] = ()
    before_crds: tuple[Remedy, ...] = ()
    crds: Values = ()
    controller: Values = ()
    before_keys: frozenset[tuple[str, str]] = frozenset()
    """Chart and key of what `before` changes."""
    crds_before: bool = False
    """Whether `before` brings the CRDs to a release."""
    asked_first: tuple[tuple[str, str], ...] = ()
    """Chart and id of each check that asks for what is changed before the landing."""
    start: str = ""
    """The release that runs then; empty where that is not known, and so no upgrade before the landing is."""
    lands: str = ""
    made: tuple[tuple[str, HelmValue], ...] = ()
    """Every value that the hop changes, with its chart, in order."""
    installed: Installed | None = None
    """Who keeps the charts when the hop lands: what earlier upgrades of the plan have made is there."""


@dataclass(slots=True)
class HelmWalk:
    """Goes through the hops of a plan in order and remembers what earlier ones have changed already."""

    installed: Installed | None
    _known: dict[tuple[str, str], str] = field(default_factory=dict)
    """Chart and key to the value as JSON; empty text for one that was taken out."""
    _crds: Release | None = None
    """The release that the plan has brought the CRDs to; None where that is not known yet."""
    _made: list[tuple[str, HelmValue]] = field(default_factory=list)
    """What the hop changes that is taken."""

    def take(self, findings: Iterable[Finding], *, start: str, lands: str = "") -> HopUpgrades:
        """The upgrades of the next hop, which begins at the release `start`; empty where that is not known. What needs
        the release `lands` is changed with the landing."""
        findings = tuple(findings)
        changes = [_timed(change, lands) for change in _changes(findings)]
        checks = [(change.chart, finding.id) for finding in findings for change in _changes((finding,))
                 if _timed(change, lands).when == "before"]  # fmt: skip
        earlier, former_crds = frozenset(self._known.items()), self._crds
        self._made = []
        before_crds, before = self._before(changes, start=start)
        brought = self._crds != former_crds
        new = frozenset(key for key, _ in self._known.items() - earlier)
        landing = [change for change in changes if change.when == "landing"]
        controller, crds = (self._new(landing, chart, to=parse(lands)) for chart in (CHART, CRD_CHART))
        self._crds = parse(lands) or self._crds
        here, self.installed = self.installed, with_crd_delivery(self.installed)
        chart_values = (*self._made, *((CRD_CHART, helm_value) for helm_value in self._called(lands)))
        return HopUpgrades(
            before=before, before_crds=before_crds, crds=crds, controller=controller, before_keys=new,
            crds_before=brought, asked_first=tuple(dict.fromkeys(checks)), start=start, lands=lands, made=chart_values,
            installed=here,
        )  # fmt: skip

    def _called(self, lands: str) -> Iterator[HelmValue]:
        """The values of the chart of the CRDs that its upgrade sets by itself."""
        to = parse(lands)
        known_keys = {value.key for chart, value in self._made if chart == CRD_CHART}
        if to is not None and self.installed is not None:
            yield from (
                webhook_value
                for webhook_value in _webhook_values(to, self.installed)
                if webhook_value.key not in known_keys
            )

    def _new(self, changes: Iterable[HelmChange], chart: str, *, to: Release | None) -> Values:
        """What is not so already, each key once; what is set wins over what is taken out. `to` is the release that the
        upgrade brings, whose image has to be the chart's own."""
        every = [value for change in changes if change.chart == chart for value in change.values]
        if to is not None:
            every += [*(self._pinned(to) if chart == CHART else ()), *self._outlived(chart, to)]
        by_key: dict[str, HelmValue] = {}
        for value in sorted(every, key=lambda helm_value: not helm_value.text):
            by_key.setdefault(value.key, value)
        new = {key: value for key, value in by_key.items() if self._known.get((chart, key)) != value.text}
        self._known |= {(chart, key): value.text for key, value in new.items()}
        self._made += [(chart, value) for value in new.values()]
        return tuple(new.values())

    def _outlived(self, chart: str, to: Release) -> Iterator[HelmValue]:
        """What an earlier hop of the plan has set and the chart of that release does not read any more."""
        set_here = [(key, text) for (of, key), text in self._known.items() if of == chart and text]
        for key, text in set_here:
            unread = unread_at(key, to, chart=chart)
            if unread is None:
                continue
            if unread.replacement and " " not in unread.replacement:
                yield HelmValue(unread.replacement, text, f"takes over {key}")
            yield HelmValue(key, why=f"{to} does not read it")

    def _pinned(self, to: Release) -> Iterator[HelmValue]:
        """The image of that release in place of another one that the values name: it would run on under the new chart.
        It is set, since null would take out what the chart itself says of its image."""
        here = self.installed
        main_charts = [given_chart for given_chart in (here.given or ()) if given_chart.chart == CHART] if here else []
        mine = [
            given_chart
            for given_chart in main_charts
            if here and (given_chart.namespace, given_chart.release) == (here.namespace, here.release)
        ]
        keys = pinned_image(next((given_chart.values for given_chart in mine or main_charts), {}), to)
        if TAG in keys:
            yield HelmValue(TAG, as_json(as_tag(to)), f"the values named the image of another release than {to}")
        if DIGEST in keys:
            yield HelmValue(DIGEST, '""', "the digest was that of another image")

    def _before(self, changes: list[HelmChange], *, start: str) -> tuple[tuple[Remedy, ...], tuple[Remedy, ...]]:
        requests = [change for change in changes if change.when == "before"]
        runs = parse(start) if start else None
        first: tuple[Remedy, ...] = ()
        if not requests or runs is None:
            return first, ()
        to = max((runs, *(release(helm_change.version) for helm_change in requests if helm_change.version)))
        crds, main = self._new(requests, CRD_CHART, to=to), self._new(requests, CHART, to=to)
        again = any(
            helm_change.chart == CHART and not helm_change.values and not helm_change.version
            for helm_change in requests
        )
        if crds or to > runs or self._lacks_crds(requests):
            first = crd_commands(str(to), self.installed, values=crds)
            self._crds = to
            self.installed = with_crd_delivery(self.installed)
        upgrades_controller = main or to > runs or again
        return first, controller_commands(str(to), self.installed, values=main) if upgrades_controller else ()

    def _lacks_crds(self, helm_changes: Iterable[HelmChange]) -> bool:
        """Whether CRDs are asked for that no earlier upgrade of the plan has brought."""
        releases = [
            release(helm_change.version)
            for helm_change in helm_changes
            if helm_change.chart == CRD_CHART and not helm_change.values and helm_change.version
        ]
        return bool(releases) and (self._crds is None or max(releases) > self._crds)


def _timed(change: HelmChange, lands: str) -> HelmChange:
    """The change as it is made: one that needs the release of the landing is not made before it."""
    return replace(change, when="landing") if change.when == "before" and change.reaches(lands) else change


def _changes(findings: Iterable[Finding]) -> Iterator[HelmChange]:
    """Each once: the remedies of all tools carry the same one."""
    for finding in findings:
        if finding.status in _TO_CHANGE:
            helm_changes = (remedy.change for remedy in finding.remedies if isinstance(remedy.change, HelmChange))
            yield from dict.fromkeys(helm_changes)


def crd_commands(lands: str, installed: Installed | None, *, values: Values = ()) -> tuple[Remedy, ...]:
    """Brings the CRDs to that release, with these changes of the values of their chart."""
    here, to = installed or SOMEWHERE, release(lands)
    own = here.crd_keeper or ""
    by = _managed(here.crds_kept_by, own)
    namespace, _, name = (here.crd_release or "").rpartition("/")
    upgrade = crd_upgrade(name or CRD_CHART, namespace=namespace or here.namespace, version=as_tag(to))
    given_keys = {value.key for value in values}
    every = (*values, *(value for value in _webhook_values(to, here) if value.key not in given_keys))
    if not every and not own and not (name and by.by == "terraform"):
        return (*crd_upgrade_remedies(by, upgrade), *_applied_anew(by))
    # Where the release is there, what was given to it has to be handed back beside what changes.
    helm = Upgrade(
        release=upgrade.release, namespace=upgrade.namespace, chart=CRD_CHART, version=upgrade.version, changes=every,
        installs=not name,
    )  # fmt: skip
    tree = {value.key: value.text for value in every}
    lines, values_tree = Remedy(how="helm", text=upgrade_lines(helm)), yaml_of(tree)
    if own or name:
        code = as_code(by, release=helm.release, tree=values_tree, version=helm.version, about="")
        return (*ordered(by, (lines, *code)), *applied_by(by, release=helm.release))
    code = chart_as_code(CRD_CHART, version=helm.version, namespace=helm.namespace, tree=values_tree)
    return (*ordered(by, (lines, *code)), *_applied_anew(by))


def _applied_anew(by: Managed) -> tuple[Remedy, ...]:
    """How a chart of the CRDs is applied that was not there before."""
    return applied_by(Managed(by.by, "", CRD_CHART, NEW_HOMES.get(by.by, "")), release=CRD_CHART)


NEW_HOMES: Final[dict[str, str]] = {"flux": "flux-system", "argocd": "argocd"}
"""By tool the namespace that an object for the chart of the CRDs is written for."""


def with_crd_delivery(installed: Installed | None) -> Installed | None:
    """The same once the CRDs were brought: where Flux or Argo CD keeps them, by an object of their own."""
    home = NEW_HOMES.get(installed.crds_kept_by, "") if installed else ""
    if installed is None or not home or installed.crd_keeper:
        return installed
    return replace(installed, crd_keeper=f"{home}/{CRD_CHART}")


def controller_commands(
    lands: str, installed: Installed | None, *, values: Values = (), skips_crds: bool = False
) -> tuple[Remedy, ...]:
    """Brings the controller to that release, with these changes of its values, and waits until it runs. `skips_crds`:
    Argo CD is told to leave the CRDs of the chart out from now on."""
    here, version = installed or SOMEWHERE, as_tag(release(lands))
    helm = Upgrade(
        release=here.release, namespace=here.namespace, chart=CHART, version=version, changes=values,
        flags="--skip-crds --wait",
    )  # fmt: skip
    by = _managed(here.kept_by, here.keeper)
    tree = {value.key: value.text for value in values}
    reasons = "".join(f"{note(f'{helm_value.key}: {helm_value.why}')}\n" for helm_value in values if helm_value.why)
    tree_text = yaml_of(tree)
    code = as_code(by, release=here.release, tree=tree_text, version=version, about=reasons, skips_crds=skips_crds)
    return (*ordered(by, (Remedy(how="helm", text=upgrade_lines(helm)), *code)), *applied_by(by, release=here.release))


def _webhook_values(to: Release, here: Installed) -> Iterator[HelmValue]:
    """Where the CRDs of that release convert, they have to call the controller where it is and by its name."""
    row = find(to)
    defaults = row.crd_chart_webhook(to) if row else None
    if defaults is None or row is None or row.webhooks.conversion == "none":
        return
    if not defaults.enabled:
        yield HelmValue("webhook.enabled", "true")
    if (defaults.service_namespace or here.namespace) != here.namespace:
        yield HelmValue("webhook.serviceNamespace", as_json(here.namespace))
    if here.controller not in (UNSET, "", MAIN_CHART_WEBHOOK_SERVICE[0]):
        yield HelmValue("webhook.serviceName", as_json(here.controller))


def in_the_plan(finding: Finding, taken: HopUpgrades) -> Finding:
    """The finding with the changes of values pointing at the upgrade of the hop that makes them."""
    moments = ("before", "landing") if taken.start else ("landing",)
    carried = {
        remedy: _timed(remedy.change, taken.lands)
        for remedy in finding.remedies
        if isinstance(remedy.change, HelmChange)
    }
    ours = {remedy: change for remedy, change in carried.items() if change.when in moments}
    if not ours:
        return finding
    notes = "\n".join(note(_where(change, taken)) for change in dict.fromkeys(ours.values()))
    first = Remedy(how=next(iter(ours)).how, text=notes)
    return replace(finding, remedies=(first, *(remedy for remedy in finding.remedies if remedy not in ours)))


def _where(change: HelmChange, taken: HopUpgrades) -> str:
    if change.when == "before":
        is_made = any((change.chart, key) in taken.before_keys for key in change.given)
        is_made = (
            is_made
            or (bool(taken.before) and not change.values and change.chart == CHART)
            or _postconditions(change, taken)
        )
        upgrade = "the upgrade before the landing"
    else:
        values = taken.crds if change.chart == CRD_CHART else taken.controller
        is_made = any(value.key in change.given for value in values) or not change.values
        upgrade = "the upgrade that lands the hop"
    keys = ", ".join(change.given) or change.why
    if is_made:
        return f"Release {change.release}: made by {upgrade}: {keys}"
    return f"Release {change.release}: an earlier hop of this plan has made it: {keys}"


def _postconditions(change: HelmChange, taken: HopUpgrades) -> bool:
    """Whether it asks for CRDs, and the upgrades before the landing bring them."""
    return change.chart == CRD_CHART and not change.values and taken.crds_before


def _managed(by: str, keeper: str) -> Managed:
    namespace, _, name = keeper.rpartition("/")
    manager_name = next((manager for manager in MANAGERS if manager == by), BY_HAND.by)
    return Managed(manager_name, "", name, namespace)
