"""The actions of a cluster in the order of an upgrade, and which of them are possible on what the last scan saw.

The preview decides in the end. What it would refuse on facts of the snapshot is not offered before.
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
OF_CONTROLLER = ("upgrade_controller", "roll_back_controller", UPGRADE_DELIVERY)
"""What no check calls for: it is offered wherever it is possible."""
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (DELIVERIES, ("pause_deliveries", "resume_deliveries")),
    (DISRUPTION, ("hold_disruption", "release_disruption")),
    ("CRDs", ("mend_conversion", "remove_stale_webhooks", "adopt_crds", "upgrade_crds")),
    (CONTROLLER, OF_CONTROLLER),
    ("Objects", ("rewrite_stored_versions", "convert_and_apply", "rename_markers")),
    ("Nodes", ("taint_and_drift", "roll_nodes")),
    ("Clean up", ("remove_legacy",)),
)
"""What is done in which order; the controller is upgraded outside karpdash, unless helm may be run or the object of
Flux or Argo CD may be changed. Deliveries, and Karpenter's own disruption, are held and let go beside it."""
BESIDE = (DELIVERIES, DISRUPTION)
LAST_RESORT = ("forced_deletion",)
SUCCESSORS = "pools_admit_provisioner_pods"
"""The check that passes where every Provisioner has a ready NodePool."""
NO_SUCCESSOR = "Needs a ready NodePool for every Provisioner: apply the converted NodePools first."
FIRST_BETA, FIRST_V1 = (0, 32), (1, 0)


class ActionStep(msgspec.Struct, frozen=True, kw_only=True):
    """One step of an upgrade. `outside`: karpdash does not do it; `current`: the first one with a possible action."""

    title: str
    offers: tuple[Offer, ...]
    outside: bool = False
    current: bool = False


class ActionPath(msgspec.Struct, frozen=True, kw_only=True):
    """`steps` hold what the cluster calls for, `last_resort` what destroys, `unneeded` the others with their reason."""

    steps: tuple[ActionStep, ...]
    last_resort: tuple[Offer, ...]
    unneeded: tuple[Offer, ...]


def possible_now(offers: Iterable[Offer], report: Report | None) -> tuple[Offer, ...]:
    """The same offers; those that the preview would refuse on facts of the report are disabled with the reason."""
    if report is None:
        return tuple(offers)
    return tuple(_checked(offer, report) for offer in offers)


def in_order(offers: Iterable[Offer]) -> ActionPath:
    """The offers that something calls for, by step, and the possible upgrades of the controller."""
    every = tuple(offers)
    called = {
        offer.action_id: offer
        for offer in every
        if offer.checks or (offer.enabled and offer.action_id in OF_CONTROLLER)
    }
    unneeded = tuple(offer for offer in every if offer.action_id not in called)
    steps = [(title, tuple(called[name] for name in names if name in called)) for title, names in STEPS]
    possible = (title for title, step_offers in steps if any(offer.enabled for offer in step_offers))
    first = next((title for title in possible if title not in BESIDE), "")
    return ActionPath(
        steps=tuple(
            ActionStep(title=title, offers=step_offers, outside=not step_offers, current=title == first)
            for title, step_offers in steps
            if step_offers or title == CONTROLLER
        ),
        last_resort=tuple(called[name] for name in LAST_RESORT if name in called),
        unneeded=unneeded,
    )


def _checked(offer: Offer, report: Report) -> Offer:
    why = _missing(offer.action_id, report) if offer.enabled else ""
    return msgspec.structs.replace(offer, enabled=False, why=why) if why else offer


def _missing(action: str, report: Report) -> str:
    """What the action waits for; empty where nothing is known to be missing."""
    if action == UPGRADE_DELIVERY:
        return _not_delivered(report)
    running = parse(report.cluster.karpenter_version or "")
    minor = minor_order(running.minor) if running else None
    alpha_nodes = report.nodes.by_owner.get("karpenter_alpha", 0) or (report.legacy.get("Node") or 0)
    if action == "rewrite_stored_versions" and minor is not None and minor < FIRST_V1:
        return "Needs Karpenter 1.0 and its CRDs: before that, v1 is not the stored version."
    if action == "convert_and_apply" and minor is not None and minor < FIRST_BETA:
        return "Needs Karpenter 0.32: earlier releases do not read NodePools."
    if action == "taint_and_drift" or (action == "roll_nodes" and alpha_nodes):
        return _not_yet_moved(report, minor)
    if action == "forced_deletion" and alpha_nodes:
        return NO_SUCCESSOR if _lacks_successors(report) else ""
    if action == "remove_legacy" and alpha_nodes:
        return f"Provisioners still own {alpha_nodes} node{'' if alpha_nodes == 1 else 's'}: move them first."
    return ""


def _not_delivered(report: Report) -> str:
    """What keeps the object of Flux or Argo CD from being changed."""
    charts = report.cluster.installed.carriers if report.cluster.installed else ()
    carriers = [carrier for carrier in charts or () if carrier.chart == CHART]
    if not carriers:
        return "Neither Flux nor Argo CD is seen to deliver Karpenter to this cluster."
    moved_carrier = next((carrier for carrier in carriers if carrier.elsewhere), None)
    return (
        f"{moved_carrier.said} is not its own source, but {moved_carrier.elsewhere}: change it there."
        if moved_carrier
        else ""
    )


def _not_yet_moved(report: Report, minor: tuple[int, ...] | None) -> str:
    """What keeps nodes of Provisioners from being replaced by those of NodePools."""
    if minor is not None and minor != FIRST_BETA:
        return "Needs Karpenter 0.32, the only release that runs Provisioners and NodePools together."
    return NO_SUCCESSOR if _lacks_successors(report) else ""


def _lacks_successors(report: Report) -> bool:
    findings = [finding for finding in report.checks if finding.id == SUCCESSORS]
    return bool(findings) and any(finding.status == "fail" for finding in findings)
