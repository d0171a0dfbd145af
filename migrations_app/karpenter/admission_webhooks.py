"""The admission webhook configurations of the charts, and the releases that ship them.

Source: webhooks.yaml and webhooks-core.yaml below charts/karpenter/templates in aws/karpenter-provider-aws at v0.28.1,
v0.31.5, v0.32.10, v0.33.12 and v0.37.8; both are gone at v1.0.0. Left-overs from before 0.28: #5504 there.
"""

from dataclasses import dataclass

from migrations_app.karpenter.releases import RELEASES, Table, find
from migrations_app.karpenter.versions import Release, minor_order

MUTATING = "MutatingWebhookConfiguration"
VALIDATING = "ValidatingWebhookConfiguration"


@dataclass(frozen=True, slots=True)
class AdmissionRow:
    """A configuration and the last minor whose chart ships it; `last` is empty for one older than the tables."""

    name: str
    kind: str
    last: str

    def shipped_by(self, running: Release) -> bool:
        return bool(self.last) and minor_order(running.minor) <= minor_order(self.last)


ADMISSION_WEBHOOKS: tuple[AdmissionRow, ...] = (
    AdmissionRow("defaulting.webhook.karpenter.k8s.aws", MUTATING, "0.37"),
    AdmissionRow("validation.webhook.karpenter.k8s.aws", VALIDATING, "0.37"),
    AdmissionRow("validation.webhook.karpenter.sh", VALIDATING, "0.37"),
    AdmissionRow("validation.webhook.config.karpenter.sh", VALIDATING, "0.37"),
    AdmissionRow("defaulting.webhook.karpenter.sh", MUTATING, ""),
    AdmissionRow("defaulting.webhook.provisioners.karpenter.sh", MUTATING, ""),
    AdmissionRow("validation.webhook.provisioners.karpenter.sh", VALIDATING, ""),
)


def admission_row(name: str) -> AdmissionRow | None:
    """The row of a configuration; None for one that no chart of Karpenter ever shipped."""
    return next((row for row in ADMISSION_WEBHOOKS if row.name == name), None)


def admits(running: Release, *, webhooks_off: bool, table: Table = RELEASES) -> bool | None:
    """Whether a controller of that release answers admission webhooks; None for a minor the table does not know."""
    row = find(running, table=table)
    if row is None:
        return None
    if row.webhooks.admission == "removed":
        return False
    return row.webhooks.admission == "always_on" or not webhooks_off
