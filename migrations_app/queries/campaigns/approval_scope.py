"""What the approval of a campaign covers besides plans: accepted warnings, and deleted objects."""

import uuid
from dataclasses import dataclass

import msgspec

from migrations_app.campaigns.campaign_preview import MemberPreview, WarningShown
from migrations_app.journeys.deletions import DestroyedObject
from migrations_app.models.campaign import CampaignMember
from migrations_app.queries.visibility import visible

SHOWN_IN = ("previewed", "awaiting_approval", "approved", "paused")
"""States of a campaign in which people still decide about the whole campaign."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningOn:
    """A warning that fails on a cluster at the start of the upgrade to that release."""

    cluster: str
    target_release: str
    warning: WarningShown


@dataclass(frozen=True, slots=True, kw_only=True)
class DestroyedOn:
    """The objects of a cluster that plans may delete; None if not everything was read. `allowed`: the policy allows
    that the approval covers this; else each such plan needs its own approval.
    """

    cluster: str
    allowed: bool
    objects: tuple[DestroyedObject, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CoveredByApproval:
    """Of the clusters that the caller may see: warnings by the id of their check, and deleted objects by cluster."""

    warnings: dict[str, tuple[WarningOn, ...]]
    destroyed: tuple[DestroyedOn, ...]


def covered_by_approval(campaign_id: uuid.UUID) -> CoveredByApproval:
    """Collects warnings and deleted objects from the previews of the campaign's clusters."""
    rows = CampaignMember.objects.filter(visible(), campaign_id=campaign_id, shown__isnull=False)
    stored = rows.order_by("wave", "place").values_list("shown", flat=True)
    # A cluster that a person left out later is still part of what is approved.
    members = [member for raw in stored if not (member := msgspec.convert(raw, type=MemberPreview)).cause]
    warnings: dict[str, list[WarningOn]] = {}
    for member in members:
        for hop in member.hops:
            for warning in hop.warns:
                warning_on = WarningOn(cluster=member.name, target_release=hop.target_release, warning=warning)
                warnings.setdefault(warning.check, []).append(warning_on)
    destroyed = (
        DestroyedOn(cluster=member.name, allowed=member.destroys, objects=member.objects) for member in members
    )
    return CoveredByApproval(
        warnings={check: tuple(warning_ons) for check, warning_ons in sorted(warnings.items())},
        destroyed=tuple(
            destroyed_on for destroyed_on in destroyed if destroyed_on.objects is None or destroyed_on.objects
        ),
    )
