"""Whether the chart alone wrote the controller's rule to stay off Karpenter's nodes: it does so anew every release."""

from typing import Final

from migrations_app.checks.base import Case
from migrations_app.inventory.installation import ABSENT, given_values, value_at
from migrations_app.karpenter.versions import minor_order

LAST: Final = "0.31"
"""The last minor whose chart names the old label alone; 0.32 names both, later ones the new one.
aws/karpenter-provider-aws@v0.31.4, @v0.32.10 and @v0.33.0:charts/karpenter/values.yaml."""
VALUE: Final = "affinity.nodeAffinity"


def names_old_label_alone(case: Case) -> bool:
    """A rule that values give is kept when the release changes; where no values were seen, the chart's counts."""
    minors = case.running.minors
    values = given_values(case.inventory)
    written = values is not None and value_at(values.tree, VALUE) is not ABSENT
    return bool(minors) and all(minor_order(minor) <= minor_order(LAST) for minor in minors) and not written
