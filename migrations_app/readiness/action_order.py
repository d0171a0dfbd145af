"""Puts the actions of a cluster in the order of an upgrade, and disables those that its last scan shows impossible.

The order is that of the runbook: what a failing blocker asks for comes before the new release is installed, at one
upgrade the nodes of Provisioners, at another one the stored objects. The preview decides in the end; an action that it
would certainly refuse is not offered before.
"""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from migrations_app.checks.base import Finding
from migrations_app.inventory.facts.controller import CHART
from migrations_app.karpenter.versions import minor_order, parse
from migrations_app.readiness.action_offers import Offer
from migrations_app.readiness.report import Report
from migrations_app.readiness.runbook.work_order import (
    ALPHA_OBJECT_CHECKS,
    CRDS_INSTALLED_CHECK,
    SUCCESSORS_CHECK,
    HopPart,
    parts_by_check,
)

CONTROLLER = "Controller"
DELIVERIES, DISRUPTION = "Deliveries", "Disruption"
UPGRADE_DELIVERY = "upgrade_delivery"
CONTROLLER_ACTIONS = ("upgrade_controller", "roll_back_controller", UPGRADE_DELIVERY)
"""Upgrades of the controller. No check asks for them: they are offered wherever they are possible."""
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (DELIVERIES, ("pause_deliveries", "resume_deliveries")),
    (DISRUPTION, ("hold_disruption", "release_disruption")),
    ("CRDs", ("mend_conversion", "remove_stale_webhooks", "adopt_crds")),
    ("Objects", ("rewrite_stored_versions", "convert_and_apply", "rename_markers")),
    ("Nodes", ("taint_and_drift", "roll_nodes")),
    ("Clean up", ("remove_legacy",)),
    ("New CRDs", ("upgrade_crds",)),
    (CONTROLLER, CONTROLLER_ACTIONS),
)
"""The steps in their order within one part of an upgrade, with the ids of their actions: the part is that of the checks
that the action resolves (`parts_by_check`). The controller is upgraded outside karpdash, unless helm may be run or the
object of Flux or Argo CD may be changed. Deliveries and disruption may be paused and resumed at any time."""
PARTS: tuple[HopPart, ...] = ("before", "land", "after")
UNORDERED_STEPS = (DELIVERIES, DISRUPTION)
"""Steps that may be done at any time, so that none of them is the current step."""
LAST_RESORT = ("forced_deletion",)
NO_SUCCESSOR = "Needs a ready NodePool for every Provisioner: apply the converted NodePools first."
CONVERTED = "Every Provisioner has a ready NodePool: nothing is left to convert."
FIRST_BETA, FIRST_V1 = (0, 32), (1, 0)


class ActionStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step of an upgrade. `outside`: done without karpdash; `current`: the step that is done next."""

    title: str
    offers: tuple[Offer, ...]
    outside: bool = False
    current: bool = False


class ActionPath(msgspec.Struct, frozen=True, kw_only=True):
    """`steps` are needed by the upgrade, `last_resort` is destructive, `later` is needed by a later upgrade only, and
    `unneeded` are the others with their reason.
    """

    steps: tuple[ActionStep, ...]
    last_resort: tuple[Offer, ...]
    later: tuple[Offer, ...]
    unneeded: tuple[Offer, ...]


def possible_now(offers: Iterable[Offer], report: Report | None) -> tuple[Offer, ...]:
    """Returns the offers; those that the preview would refuse by facts of the report are disabled with the reason."""
    if report is None:
        return tuple(offers)
    return tuple(_disabled_if_impossible(offer, report) for offer in offers)


def action_path(
    offers: Iterable[Offer],
    *,
    findings: Sequence[Finding] = (),
    release: str = "",
    later: Iterable[Offer] = (),
    next_check: str | None = None,
) -> ActionPath:
    """Returns the offers that a check needs and the possible upgrades of the controller, by step.

    `findings` are those of the upgrade to `release`, which the checks of the offers are of; `later` are the offers for
    every upgrade, of which those that this one does not need are apart. `next_check` is the check to fix next: only a
    step that resolves it is current. If it is empty, the installation of the new release is next; if it is None, the
    first possible step.
    """
    all_offers = tuple(offers)
    needed = {
        offer.action_id: offer
        for offer in all_offers
        if offer.checks or (offer.enabled and offer.action_id in CONTROLLER_ACTIONS)
    }
    for_later = {offer.action_id: offer for offer in later if offer.checks and offer.action_id not in needed}
    steps = _steps(needed, parts=parts_by_check(findings, release=release), upgrades=bool(release))
    current = _current(steps, next_check)
    return ActionPath(
        steps=tuple(msgspec.structs.replace(step, current=step is current) for _part, step in steps),
        last_resort=tuple(needed[name] for name in LAST_RESORT if name in needed),
        later=tuple(for_later.values()),
        unneeded=tuple(offer for offer in all_offers if offer.action_id not in {*needed, *for_later}),
    )


def _steps(
    needed: Mapping[str, Offer], *, parts: Mapping[str, HopPart], upgrades: bool
) -> list[tuple[HopPart, ActionStep]]:
    """Returns the steps with their part of the upgrade, in order; `upgrades`: with the upgrade of the controller."""
    part_of = {name: _part_of(offer, parts) for name, offer in needed.items()}
    rows = []
    for part in PARTS:
        for title, names in STEPS:
            offers = tuple(needed[name] for name in names if name in needed and part_of[name] == part)
            outside = upgrades and title == CONTROLLER and part == "land" and not offers
            if offers or outside:
                rows.append((part, ActionStep(title=title, offers=offers, outside=outside)))
    return rows


def _part_of(offer: Offer, parts: Mapping[str, HopPart]) -> HopPart:
    """Returns the earliest part of the checks that the action resolves; CRDs of the new release come with it."""
    if offer.action_id in CONTROLLER_ACTIONS or CRDS_INSTALLED_CHECK in offer.checks:
        return "land"
    of_checks = {parts.get(check, "before") for check in offer.checks}
    return next((part for part in PARTS if part in of_checks), "before")


def _current(steps: Sequence[tuple[HopPart, ActionStep]], next_check: str | None) -> ActionStep | None:
    """Returns the step that is done next; None if no action of karpdash does what is next."""
    for part, step in steps:
        enabled = [offer for offer in step.offers if offer.enabled]
        if step.title not in UNORDERED_STEPS and enabled and next_check is None:
            return step
        if next_check == "" and part == "land":
            return step
        if next_check and any(next_check in offer.checks for offer in enabled):
            return step
    return None


def _disabled_if_impossible(offer: Offer, report: Report) -> Offer:
    why = _missing_before(offer.action_id, report, checks=offer.checks) if offer.enabled else ""
    return msgspec.structs.replace(offer, enabled=False, why=why) if why else offer


def _missing_before(action: str, report: Report, *, checks: Iterable[str]) -> str:
    """Returns what has to be done before the action; empty if nothing is known to be missing."""
    if action == UPGRADE_DELIVERY:
        return _delivery_obstacle(report)
    running = parse(report.cluster.karpenter_version or "")
    minor = minor_order(running.minor) if running else None
    alpha_nodes = report.nodes.by_owner.get("karpenter_alpha", 0) or (report.legacy.get("Node") or 0)
    if action == "rewrite_stored_versions" and minor is not None and minor < FIRST_V1:
        return "Needs Karpenter 1.0 and its CRDs: before that, v1 is not the stored version."
    if action == "convert_and_apply" and minor is not None and minor < FIRST_BETA:
        return "Needs Karpenter 0.32: earlier releases do not read NodePools."
    if action == "convert_and_apply" and set(checks) <= set(ALPHA_OBJECT_CHECKS) and _has_successors(report):
        return CONVERTED
    if action == "taint_and_drift" or (action == "roll_nodes" and alpha_nodes):
        return _replacement_obstacle(report, minor)
    if action == "forced_deletion" and alpha_nodes:
        return NO_SUCCESSOR if _lacks_successors(report) else ""
    if action == "remove_legacy" and alpha_nodes:
        return f"Provisioners still own {alpha_nodes} node{'' if alpha_nodes == 1 else 's'}: move them first."
    return ""


def _delivery_obstacle(report: Report) -> str:
    """Returns why the object of Flux or Argo CD cannot be changed; empty if it can."""
    charts = report.cluster.installed.carriers if report.cluster.installed else ()
    carriers = [carrier for carrier in charts or () if carrier.chart == CHART]
    if not carriers:
        return "Neither Flux nor Argo CD is seen to deliver Karpenter to this cluster."
    foreign_carrier = next((carrier for carrier in carriers if carrier.elsewhere), None)
    return (
        f"the source of {foreign_carrier.display_name} is {foreign_carrier.elsewhere}: change it there."
        if foreign_carrier
        else ""
    )


def _replacement_obstacle(report: Report, minor: tuple[int, ...] | None) -> str:
    """Returns why nodes of Provisioners cannot be replaced by nodes of NodePools yet; empty if they can."""
    if minor is not None and minor != FIRST_BETA:
        return "Needs Karpenter 0.32, the only release that runs Provisioners and NodePools together."
    return NO_SUCCESSOR if _lacks_successors(report) else ""


def _lacks_successors(report: Report) -> bool:
    """Returns whether a Provisioner is known to have no ready NodePool."""
    return "fail" in _successors(report)


def _has_successors(report: Report) -> bool:
    """Returns whether every Provisioner is known to have a ready NodePool."""
    return _successors(report) == {"pass"}


def _successors(report: Report) -> set[str]:
    return {finding.status for finding in report.checks if finding.id == SUCCESSORS_CHECK}
