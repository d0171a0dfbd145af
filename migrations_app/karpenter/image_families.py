"""What is known about image families: until when they exist, what they do with user data, which patches insist.

Sources stand with each row; P = aws/karpenter-provider-aws, K = kubernetes-sigs/karpenter.
"""

import re
from typing import Final, NamedTuple

from migrations_app.karpenter.versions import Release, release

AL2, AL2023, BOTTLEROCKET, UBUNTU, CUSTOM = "AL2", "AL2023", "Bottlerocket", "Ubuntu", "Custom"


class FamilyStart(NamedTuple):
    """The first release that knows the family, in spec.amiFamily and as an alias; one without a row is as old as v1."""

    family: str
    release: Release
    source: str


FAMILY_STARTS: Final = (
    FamilyStart("Windows2025", release("1.9.0"), "P@v1.9.0:pkg/apis/crds/karpenter.k8s.aws_ec2nodeclasses.yaml"),
)


class FamilyEnd(NamedTuple):
    """From that Kubernetes minor on, EKS publishes no image of the family."""

    family: str
    kubernetes: str
    instead: str
    source: str


FAMILY_ENDS: Final = (
    FamilyEnd(AL2, "1.33", "AL2023 or Bottlerocket", "P@v1.14.1:website/content/en/preview/concepts/nodeclasses.md"),
)

UBUNTU_UNFOUND_FROM: Final = "1.29"
"""From that Kubernetes minor on the images are of 22.04, which discovery does not find.
P@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md."""

BOTTLEROCKET_RAID0_FROM: Final = (1, 22, 0)
"""The first Bottlerocket that knows RAID0. P@v1.14.1:website/content/en/preview/upgrading/upgrade-guide.md."""


class Enforced(NamedTuple):
    """Patches, first to last, on which a node that joins without the taint karpenter.sh/unregistered stays out."""

    first: str
    last: str

    def covers(self, running: Release) -> bool:
        return release(self.first) <= running <= release(self.last)


UNREGISTERED_ENFORCED: Final = (Enforced("1.0.0", "1.0.8"), Enforced("1.1.0", "1.1.3"), Enforced("1.2.0", "1.2.1"))
"""Others write an event and go on. K@v1.0.0:pkg/controllers/nodeclaim/lifecycle/registration.go, K#1991."""


class OwnBootstrap(NamedTuple):
    """How user data of a family starts the kubelet by itself, past what Karpenter adds."""

    family: str
    call: str


OWN_BOOTSTRAPS: Final = (
    OwnBootstrap(AL2, "/etc/eks/bootstrap.sh"),
    OwnBootstrap(UBUNTU, "/etc/eks/bootstrap.sh"),
    OwnBootstrap(AL2023, "nodeadm init"),
)
"""P@v1.14.1:website/content/en/preview/concepts/nodeclasses.md: user data is merged before Karpenter's own part."""

_BOTTLEROCKET: Final = re.compile(r"v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})(?:-[0-9a-f]+)?(?!\d)", re.ASCII)


def enforces_unregistered(running: Release) -> bool:
    """Whether that patch leaves nodes out that join without the taint."""
    return any(row.covers(running) for row in UNREGISTERED_ENFORCED)


def starts_kubelet(family: str, user_data: str) -> str:
    """The call by which user data of that family starts the kubelet itself; empty where it does not."""
    return next((row.call for row in OWN_BOOTSTRAPS if row.family == family and row.call in user_data), "")


def family_start(family: str) -> Release | None:
    """The first release that knows the family; None where each that serves v1 does."""
    return next((row.release for row in FAMILY_STARTS if row.family == family), None)


def family_end(family: str) -> FamilyEnd | None:
    """When images of the family end; None while they do not."""
    return next((row for row in FAMILY_ENDS if row.family == family), None)


def bottlerocket_version(told: str) -> tuple[int, int, int] | None:
    """The release in an alias ("bottlerocket@v1.21.1") or an image's name; None for latest and anything else."""
    found = _BOTTLEROCKET.search(told.rpartition("@")[2] if "@" in told else told.rpartition("-v")[2])
    return (int(found[1]), int(found[2]), int(found[3])) if found else None
