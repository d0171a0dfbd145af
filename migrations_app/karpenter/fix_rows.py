"""Faults that every older patch has, with the patch of each minor that mends them: no reason to avoid a minor, but one
to take its newest patch.

Source: aws/karpenter-provider-aws#8665 and #8664, and the tags that carry their commits.
"""

from dataclasses import dataclass

from migrations_app.karpenter.versions import Release, minor_order
from migrations_app.karpenter.versions import release as parsed


@dataclass(frozen=True, slots=True)
class KnownFix:
    """`fixed` holds the first good patch of each minor that has one; later minors are good, earlier ones never are."""

    fault: str
    fixed: tuple[str, ...]

    def needed_by(self, running: Release) -> str:
        """The patch to go to, "no patch of 0.36" where there is none; empty where that release has no such fault."""
        patches = {parsed(text).minor: parsed(text) for text in self.fixed}
        own = patches.get(running.minor)
        if own is not None:
            return "" if running >= own else str(own)
        newest = max(patches, key=minor_order)
        return "" if minor_order(running.minor) > minor_order(newest) else f"no patch of {running.minor}"


KNOWN_FIXES: tuple[KnownFix, ...] = (
    KnownFix(
        "what one selector finds may be given to a node class with another",
        ("0.37.8", "1.0.12", "1.1.8", "1.2.6", "1.3.6", "1.4.2", "1.5.6", "1.6.5", "1.7.3", "1.8.2"),
    ),
)
