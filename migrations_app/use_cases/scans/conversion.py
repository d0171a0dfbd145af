"""Converts the stored Karpenter objects of a cluster, with names from its last scan."""

import uuid
from collections import Counter
from collections.abc import Iterable

from migrations_app.conversion.convert import ConversionResult, convert
from migrations_app.conversion.objects import KnownNames, Options, TargetVersion
from migrations_app.inventory.facts.node_classes import CONVERTIBLE_PARTS
from migrations_app.inventory.facts.ownership import OwnedNode
from migrations_app.readiness.iam_sheet.values import IamProfile
from migrations_app.readiness.report import PartLine, Report
from migrations_app.use_cases.scans.store import kept_objects

ALPHA_STAGES = ("alpha", "mixed")
POOLS = ("provisioners", "nodepools")


def convert_cluster(cluster_id: uuid.UUID, options: Options, *, known_names: KnownNames) -> ConversionResult | None:
    """Converts the objects of the newest snapshot; None if none are stored. `options.live` should be set."""
    bodies = kept_objects(cluster_id)
    return None if bodies is None else convert(bodies, options, known_names=known_names)


def conversion_facts(report: Report, nodes: Iterable[OwnedNode], *, profiles: Iterable[IamProfile] = ()) -> KnownNames:
    """What a scan contributes to a conversion: node counts by pool, whether every pool was read, and the roles of the
    instance profiles found in AWS.
    """
    seen = {part.name for part in report.parts if part.seen and not part.quarantined}
    known_profiles = tuple(profiles)
    return KnownNames(
        nodes_of_pool=Counter(node.pool for node in nodes if node.pool),
        all_pools_given=seen.issuperset(POOLS),
        role_of_profile={iam_profile.name: iam_profile.role for iam_profile in known_profiles},
        default_profile=next((iam_profile.name for iam_profile in known_profiles if iam_profile.default), None),
    )


def unread_parts(report: Report) -> tuple[PartLine, ...]:
    """The parts that a conversion needs and that the scan could not read, or that have objects set aside."""
    lines = (part for part in report.parts if part.name in CONVERTIBLE_PARTS)
    return tuple(part for part in lines if not part.seen or part.quarantined)


def next_target(stage: str) -> TargetVersion:
    """The generation that a cluster at that stage is upgraded to next."""
    return "v1beta1" if stage in ALPHA_STAGES else "v1"
