"""What a report says in numbers, for monitoring: small, since every scrape reads it for the whole fleet."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.seen import Seen
from migrations_app.readiness.report import Report

KINDS: Mapping[str, str] = {
    "provisioners": "Provisioner",
    "awsnodetemplates": "AWSNodeTemplate",
    "machines": "Machine",
    "nodepools": "NodePool",
    "ec2nodeclasses": "EC2NodeClass",
    "nodeclaims": "NodeClaim",
}
"""Parts of the inventory and the kind of their objects."""


def gauges(report: Report, objects: Mapping[tuple[str, str], int]) -> dict[str, Any]:
    """Verdicts by hop, checks by hop, severity and status, objects by kind and version, and the nodes of old."""
    checks = Counter((found.hop, found.severity, found.status) for found in report.checks)
    return {
        "verdicts": {line.hop: line.verdict for line in report.hops},
        "checks": [[*place, count] for place, count in sorted(checks.items())],
        "objects": [[*place, count] for place, count in sorted(objects.items())],
        "legacy_nodes": report.legacy.get("Node"),
    }


def objects_of(inventory: Inventory) -> dict[tuple[str, str], int]:
    """Karpenter's objects by kind and API version; a kind that could not be read, or is not served, is left out."""
    found: Counter[tuple[str, str]] = Counter()
    for name, kind in KINDS.items():
        part = inventory.part(name)
        if not isinstance(part, Seen) or not part.served:
            continue
        found[kind, part.served] += len(part.quarantined)  # makes the place, too: a kind that is served and empty is 0
        for one in part.items:
            found[kind, str(getattr(one, "api_version", "") or part.served)] += 1
    return dict(found)
