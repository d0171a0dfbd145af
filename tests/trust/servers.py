"""API servers that cut, delay, lie and replay, in each of the ways of tests/fakes/lying (T06, K09 to K12, R11)."""

import random
from collections.abc import Sequence

from tests.fakes.lying.scans import CLUSTERS, FAULTS, SHORT, complaints, honest_scan
from tests.fakes.lying.way import Fault
from tests.trust.parts import Part

TIMES = 20
"""How often each fault is tried at full size: each time other places, other lists, another cluster."""


def lied(count: int, dice: random.Random) -> Sequence[str]:
    """That many scans, one fault after the other."""
    told = []
    for name in CLUSTERS:
        honest_scan(name)  # what is read once is no growth
    for number in range(count):
        fault, seed = FAULTS[number % len(FAULTS)], dice.randrange(2**32)
        told.append("; ".join(f"{fault.name} (seed {seed}): {why}" for why in one(fault, seed)[:2]))
    return told


def one(fault: Fault, seed: int) -> list[str]:
    """What did not hold in one scan; the same again for the same seed."""
    dice = random.Random(seed)
    name = dice.choice(CLUSTERS)
    return complaints(fault, dice, name=name, plurals=_lists(fault, dice))


def _lists(fault: Fault, dice: random.Random) -> frozenset[str]:
    """All that the fault is about, those with several pages, or a few."""
    if fault.on != "lists" or dice.random() < 0.2:
        return frozenset()
    return SHORT if dice.random() < 0.4 else frozenset(dice.sample(ASKED, dice.randrange(1, 5)))


ASKED = (
    "pods", "nodes", "nodepools", "nodeclaims", "ec2nodeclasses", "provisioners", "machines", "awsnodetemplates",
    "customresourcedefinitions", "deployments", "daemonsets", "statefulsets", "poddisruptionbudgets", "secrets",
    "configmaps", "services", "endpoints", "serviceaccounts", "clusterroles", "clusterrolebindings", "namespaces",
    "validatingwebhookconfigurations", "mutatingwebhookconfigurations", "jobs", "cronjobs", "networkpolicies",
)  # fmt: skip
PARTS = (
    Part(name="lying servers", full=TIMES * len(FAULTS), rules="T06, K06, K09, K10, K11, K12, R11, R14", series=lied),
)
