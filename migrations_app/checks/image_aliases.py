"""What is wrong with one alias of an image, and with the family beside it."""

from migrations_app.inventory.pools import FAMILIES
from migrations_app.karpenter.image_families import CUSTOM, UBUNTU, family_start
from migrations_app.karpenter.versions import Release

WITHOUT_ALIAS = (UBUNTU, CUSTOM)

SeenWanted = tuple[str, str]


def flaw(alias: str, *, beside: str, landing: Release) -> SeenWanted | None:
    """What was seen and what is wanted in its place; None for an alias that the release takes beside that amiFamily."""
    family, _, version = alias.partition("@")
    means = FAMILIES.get(family.lower(), "")
    if not means or means in WITHOUT_ALIAS or not version:
        return alias, "family@version, such as bottlerocket@v1.40.0"
    if beside not in ("", CUSTOM, means):
        return f"{alias} beside amiFamily {beside}", f"amiFamily {means} or none"
    if means.startswith("Windows") and version != "latest":
        return alias, f"{family}@latest: Windows images cannot be pinned"
    return _too_new(means, seen=alias, landing=landing)


def family_flaw(family: str, landing: Release) -> SeenWanted | None:
    """The same of spec.amiFamily alone."""
    return _too_new(family, seen=family, landing=landing)


def _too_new(family: str, *, seen: str, landing: Release) -> SeenWanted | None:
    first = family_start(family)
    if first is None or first <= landing:
        return None
    return seen, f"a family that {landing} knows: {family} came with {first}"
