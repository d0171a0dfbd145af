"""How the nodes of Provisioners are made to go: the fence, and the short life, that the official guides name."""

from typing import Final, NamedTuple

from migrations_app.karpenter import labels


class Fence(NamedTuple):
    """A taint that keeps new pods off new nodes of a Provisioner."""

    key: str
    value: str
    effect: str
    source: str

    @property
    def taint(self) -> dict[str, str]:
        """The taint as spec.taints holds it."""
        return {"key": self.key, "value": self.value, "effect": self.effect}


class ShortLife(NamedTuple):
    """How many seconds nodes are left to live where expiry replaces them, and how many are too few or no roll."""

    seconds: int
    least: int
    most: int
    source: str


class RollsOn(NamedTuple):
    """The minor that runs Provisioners and NodePools side by side; only there one takes over from the other."""

    minor: str
    source: str


FENCE: Final = Fence(
    key=labels.LEGACY_TAINT,
    value="true",
    effect="NoSchedule",
    source="aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
)
SHORT_LIFE: Final = ShortLife(
    seconds=300,
    least=60,
    most=86_400,
    source="aws/karpenter-provider-aws@v0.37.8:website/content/en/v0.32/upgrading/v1beta1-migration.md (2023-12-19)",
)
ROLLS_ON: Final = RollsOn(
    minor="0.32",
    source="aws/karpenter-provider-aws@v1.14.1:website/content/en/v1.0/upgrading/v1beta1-migration.md",
)
