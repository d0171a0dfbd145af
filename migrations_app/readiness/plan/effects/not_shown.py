"""Why the inventory after a change cannot be told."""

from dataclasses import dataclass
from typing import Literal

Why = Literal[
    "for_a_person",
    "reads_only",
    "in_aws",
    "own_action",
    "kind_not_read",
    "part_not_read",
    "target_gone",
    "field_not_kept",
    "refused",
    "record_not_read",
    "value_not_applied",
    "release_not_known",
]
"""`for_a_person`: what is done depends on a choice. `reads_only`: nothing is changed. `in_aws`: only AWS shows it.
`own_action`: karpdash plans it itself. `kind_not_read`, `part_not_read`: no scan, or this one, holds such objects.
`target_gone`: the object is not there. `field_not_kept`: an inventory leaves out what is changed. `refused`: a server
would refuse it. `record_not_read`: the values that were given to the chart are not known. `value_not_applied`: the
tables do not say what the value does to the controller. `release_not_known`: they do not know that release."""


@dataclass(frozen=True, slots=True)
class NotShown:
    """Code and the place that it is about: an object, a field, a release."""

    why: Why
    about: str = ""
