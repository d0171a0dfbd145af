"""The alias that pins the images of a node class to its family and the version in use."""

import re
from typing import Final

from migrations_app.inventory.facts.node_pools import family, rows
from migrations_app.inventory.objects.karpenter import EC2NodeClass
from migrations_app.karpenter.release_facts import AL2, AL2023, BOTTLEROCKET, CUSTOM, UBUNTU, bottlerocket_version

AMIS: Final = "status.amis"
VERSION: Final = "VERSION"
"""Placeholder for an unknown version; no version is made up, because an alias with a version that does not exist finds
no image."""
_DATED: Final = re.compile(r"amazon-eks-[a-z0-9._-]{1,120}-(v\d{8})", re.ASCII)


def pinned_alias(node_class: EC2NodeClass) -> str:
    """The alias to write for the family of the class; with VERSION if the images in use have no single version."""
    name = family(node_class)
    if name in (AL2, AL2023, BOTTLEROCKET):
        versions = {_release(name, str(row.get("name") or "")) for _, row in rows(node_class, AMIS)}
        version = versions.pop() if len(versions) == 1 else ""
        return f"{name.lower()}@{version or VERSION}"
    if name.startswith("Windows"):
        return f"images by id, as {name.lower()} has no alias but @latest"
    if name in (UBUNTU, CUSTOM):
        return f"images by id, name or tags, as {name} has no alias"
    return f"family@{VERSION} of its family"


def _release(name: str, image: str) -> str:
    if name == BOTTLEROCKET:
        version = bottlerocket_version(image)
        return f"v{'.'.join(map(str, version))}" if version else ""
    match = _DATED.fullmatch(image)
    return match[1] if match else ""
