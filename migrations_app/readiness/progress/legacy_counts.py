"""Counts what a scan found left of both conversions and the totals, as columns of a day."""

from collections.abc import Mapping

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.parts import Seen, is_whole, item_count
from migrations_app.karpenter import labels
from migrations_app.readiness.report import Report
from migrations_app.readiness.stage import STORED_CRDS

NEWEST = "v1"
CURRENT_PARTS = ("nodepools", "ec2nodeclasses", "nodeclaims")
LEGACY_KINDS: Mapping[str, str] = {
    "Provisioner": "provisioners",
    "AWSNodeTemplate": "templates",
    "Machine": "machines",
    "Node": "nodes",
}
"""By kind as in reports, the column of its count."""
OWNERS = ("karpenter_alpha", "karpenter_beta", "karpenter_v1")

LegacyCounts = Mapping[str, int | None]


def legacy_columns(report: Report) -> LegacyCounts:
    """Returns the legacy counts of a report by column; None for a kind that was not read, 0 without Karpenter."""
    return {
        column: report.legacy.get(kind) if report.legacy else 0  # without Karpenter nothing is left
        for kind, column in LEGACY_KINDS.items()
    }


def legacy_counts(inventory: Inventory, report: Report) -> LegacyCounts:
    """Returns the stored versions and claims that are left and the total of each measure; None for what was not read.

    A claim counts as left until its CRD stores v1 alone or Karpenter marked it as rewritten; a Machine counts as left.
    """
    stage = report.cluster.stage
    if stage == "no_karpenter":
        return dict.fromkeys(_COLUMNS, 0)
    stored = None if stage == "unknown" else _crds_left(inventory)
    machines, claims = item_count(inventory.part("machines")), item_count(inventory.part("nodeclaims"))
    rewritten = _rewritten_claims(inventory)
    objects = (*(item_count(inventory.part(name)) for name in CURRENT_PARTS), *map(report.legacy.get, _OBJECT_KINDS))
    nodes = None if report.legacy.get("Node") is None else sum(report.nodes.by_owner.get(owner, 0) for owner in OWNERS)
    return {
        "stored_versions": stored,
        "claims": _sum(machines, claims, None if rewritten is None else -rewritten),
        "objects_total": _sum(*objects),
        "nodes_total": nodes,
        "stored_versions_total": None if stored is None else len(STORED_CRDS),
        "claims_total": _sum(machines, claims),
    }


_COLUMNS = ("stored_versions", "claims", "objects_total", "nodes_total", "stored_versions_total", "claims_total")
_OBJECT_KINDS = ("Provisioner", "AWSNodeTemplate", "Machine")


def _sum(*counts: int | None) -> int | None:
    return None if None in counts else sum(count or 0 for count in counts)


def _crds_left(inventory: Inventory) -> int | None:
    """Returns the number of CRDs that do not store v1 alone yet, including those that are not installed."""
    if not is_whole(inventory.crds):
        return None
    crds = {crd.name: crd for crd in inventory.crds.items}
    return sum(name not in crds or list(crds[name].stored) != [NEWEST] for name in STORED_CRDS)


def _rewritten_claims(inventory: Inventory) -> int | None:
    """Returns the number of NodeClaims that are stored as v1; None if that is not known."""
    part = inventory.nodeclaims
    if not isinstance(part, Seen) or not is_whole(inventory.crds):
        return None
    crd = next(
        (crd_of_claims for crd_of_claims in inventory.crds.items if crd_of_claims.name == "nodeclaims.karpenter.sh"),
        None,
    )
    if crd is not None and list(crd.stored) == [NEWEST]:
        return len(part.items)
    return sum(node_claim.metadata.annotation(labels.STORED_VERSION_DONE) == "true" for node_claim in part.items)
