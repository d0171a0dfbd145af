"""Puts the actions of a cluster in the order of an upgrade, and disables those that its last scan shows impossible.

The preview decides in the end; an action that it would certainly refuse is not offered before.
"""

from collections.abc import Iterable

import msgspec

from migrations_app.inventory.facts.controller import CHART
from migrations_app.karpenter.versions import minor_order, parse
from migrations_app.readiness.action_offers import Offer
from migrations_app.readiness.report import Report

CONTROLLER = "Controller"
DELIVERIES, DISRUPTION = "Deliveries", "Disruption"
UPGRADE_DELIVERY = "upgrade_delivery"
CONTROLLER_ACTIONS = ("upgrade_controller", "roll_back_controller", UPGRADE_DELIVERY)
"""Upgrades of the controller. No check asks for them: they are offered wherever they are possible."""
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (DELIVERIES, ("pause_deliveries", "resume_deliveries")),
    (DISRUPTION, ("hold_disruption", "release_disruption")),
    ("CRDs", ("mend_conversion", "remove_stale_webhooks", "adopt_crds", "upgrade_crds")),
    (CONTROLLER, CONTROLLER_ACTIONS),
    ("Objects", ("rewrite_stored_versions", "convert_and_apply", "rename_markers")),
    ("Nodes", ("taint_and_drift", "roll_nodes")),
    ("Clean up", ("remove_legacy",)),
)
"""The steps of an upgrade in order, with the ids of their actions. The controller is upgraded outside karpdash,
unless helm may be run or the object of Flux or Argo CD may be changed. Deliveries and disruption may be paused and
resumed at any time."""
UNORDERED_STEPS = (DELIVERIES, DISRUPTION)
"""Steps that may be done at any time, so that none of them is the current step."""
LAST_RESORT = ("forced_deletion",)
SUCCESSORS_CHECK = "pools_admit_provisioner_pods"
"""The id of the check that passes if every Provisioner has a ready NodePool."""
NO_SUCCESSOR = "Needs a ready NodePool for every Provisioner: apply the converted NodePools first."
FIRST_BETA, FIRST_V1 = (0, 32), (1, 0)


class ActionStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step of an upgrade. `outside`: done without karpdash; `current`: the first step with an enabled action."""

    title: str
    offers: tuple[Offer, ...]
    outside: bool = False
    current: bool = False


class ActionPath(msgspec.Struct, frozen=True, kw_only=True):
    """`steps` are needed by the cluster, `last_resort` is destructive, `unneeded` are the others with their reason."""

    steps: tuple[ActionStep, ...]
    last_resort: tuple[Offer, ...]
    unneeded: tuple[Offer, ...]


def possible_now(offers: Iterable[Offer], report: Report | None) -> tuple[Offer, ...]:
    """Returns the offers; those that the preview would refuse by facts of the report are disabled with the reason."""
    if report is None:
        return tuple(offers)
    return tuple(_disabled_if_impossible(offer, report) for offer in offers)


def action_path(offers: Iterable[Offer]) -> ActionPath:
    """Returns the offers that a check needs and the possible upgrades of the controller, by step."""
    all_offers = tuple(offers)
    needed = {
        offer.action_id: offer
        for offer in all_offers
        if offer.checks or (offer.enabled and offer.action_id in CONTROLLER_ACTIONS)
    }
    unneeded = tuple(offer for offer in all_offers if offer.action_id not in needed)
    steps = [(title, tuple(needed[name] for name in names if name in needed)) for title, names in STEPS]
    possible = (title for title, step_offers in steps if any(offer.enabled for offer in step_offers))
    current_title = next((title for title in possible if title not in UNORDERED_STEPS), "")
    return ActionPath(
        steps=tuple(
            ActionStep(title=title, offers=step_offers, outside=not step_offers, current=title == current_title)
            for title, step_offers in steps
            if step_offers or title == CONTROLLER
        ),
        last_resort=tuple(needed[name] for name in LAST_RESORT if name in needed),
        unneeded=unneeded,
    )


def _disabled_if_impossible(offer: Offer, report: Report) -> Offer:
    why = _missing_before(offer.action_id, report) if offer.enabled else ""
    return msgspec.structs.replace(offer, enabled=False, why=why) if why else offer


def _missing_before(action: str, report: Report) -> str:
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
    findings = [finding for finding in report.checks if finding.id == SUCCESSORS_CHECK]
    return bool(findings) and any(finding.status == "fail" for finding in findings)
