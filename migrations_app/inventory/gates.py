"""The feature gates that the controller was given, by flag or by variable."""

from dataclasses import dataclass

from migrations_app.inventory.installation import FEATURE_GATES, Installation
from migrations_app.karpenter.controller import parse_gates

FLAG = "--feature-gates"


@dataclass(frozen=True, slots=True)
class GivenGates:
    """`path` is told from the pod's spec on; `text` is empty where it is taken from an object that is not read."""

    path: str
    text: str

    @property
    def malformed(self) -> tuple[str, ...]:
        """Parts that the controller cannot read, which keeps it from starting."""
        parts = (part for part in self.text.split(",") if part)
        return tuple(part for part in parts if part.partition("=")[2].strip() not in _WORDS)


def told_gates(found: Installation) -> dict[str, bool]:
    """The gates that it was given, as it reads them; empty where it was given none."""
    given = given_gates(found)
    return parse_gates(given.text) if given else {}


_WORDS = frozenset(["1", "t", "T", "true", "TRUE", "True", "0", "f", "F", "false", "FALSE", "False"])


def given_gates(found: Installation) -> GivenGates | None:
    """What it was given: a flag before a variable, and either before what may stand in envFrom; None for nothing."""
    for container in found.workload.template.spec.containers or ():
        args = container.args or []
        for place, arg in enumerate(args):
            name, equals, text = arg.partition("=")
            if name == FLAG:
                following = args[place + 1] if place + 1 < len(args) else ""
                return GivenGates(f"containers[{container.name}].args[{place}]", text if equals else following)
    if FEATURE_GATES in found.env:
        return GivenGates(f"containers[].env[{FEATURE_GATES}]", found.env[FEATURE_GATES])
    return GivenGates("containers[].envFrom", "") if found.env_elsewhere else None
