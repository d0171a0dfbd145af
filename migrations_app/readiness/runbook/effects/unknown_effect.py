"""The result if the effect of a change is not known, with its reason."""

from dataclasses import dataclass
from typing import Literal

UnknownEffectReason = Literal[
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
"""`for_a_person`: a person has to choose. `reads_only`: nothing is changed. `in_aws`: only AWS shows the effect.
`own_action`: an action of karpdash plans its own steps. `kind_not_read`: no scan reads objects of this kind.
`part_not_read`: this scan did not read the part. `target_gone`: the object does not exist. `field_not_kept`: an
inventory leaves out the changed field. `refused`: an API server would refuse the change. `record_not_read`: the values
of the chart are not known. `value_not_applied`: the tables do not tell what the value changes. `release_not_known`: the
tables do not have the release."""


@dataclass(frozen=True, slots=True)
class NotShown:
    """The effect of a change is not known. `about` is what the reason is about: an object, a field, a release."""

    why: UnknownEffectReason
    about: str = ""
