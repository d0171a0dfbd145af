"""What node classes say in their user data about joining, and what proves that they get along with it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import EC2NodeClass
from migrations_app.inventory.pools import USER_DATA, family, own_claims, text
from migrations_app.inventory.sharing import once
from migrations_app.karpenter import labels
from migrations_app.karpenter.image_families import CUSTOM, starts_kubelet

BARRED = "UnregisteredTaintNotFound"
"""The reason of a claim's Registered condition where its node joined without the taint."""


@dataclass(frozen=True, slots=True)
class Untainted:
    """A node class whose user data starts the kubelet without the taint; `how` says by what."""

    node_class: EC2NodeClass
    how: str


def untainted(classes: Iterable[EC2NodeClass]) -> Iterator[Untainted]:
    """Those whose nodes would join without the taint karpenter.sh/unregistered."""
    for one in classes:
        told = text(one, USER_DATA)
        if labels.UNREGISTERED_TAINT in told:
            continue
        call = starts_kubelet(family(one), told)
        if family(one) == CUSTOM:
            yield Untainted(
                one, "amiFamily Custom, and user data without the taint" if told else "Custom, no user data"
            )
        elif call:
            yield Untainted(one, f"{call} called without the taint")


@once
def barred_claims(inventory: Inventory) -> tuple[str, ...]:
    """The claims whose nodes are left out for want of the taint."""
    return tuple(
        claim.name
        for claim in own_claims(inventory)
        for condition in (claim.status and claim.status.conditions) or ()
        if condition.type == "Registered" and condition.status != "True" and condition.reason == BARRED
    )
