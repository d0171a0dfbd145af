"""API servers that cut, delay, lie and replay, in each of the ways of tests/fakes/lying (T06, K09 to K12, R11)."""

import random
from collections.abc import Sequence

from tests.fakes.lying.scans import CLUSTERS, SHORT, WAYS, complaints, truth
from tests.fakes.lying.way import Way
from tests.trust.parts import Part

TIMES = 20
"""How often each way is tried at full size: each time other places, other lists, another cluster."""


def lied(count: int, dice: random.Random) -> Sequence[str]:
    """That many scans, one way after the other."""
    told = []
    for name in CLUSTERS:
        truth(name)  # what is read once is no growth
    for number in range(count):
        way, seed = WAYS[number % len(WAYS)], dice.randrange(2**32)
        told.append("; ".join(f"{way.name} (seed {seed}): {why}" for why in one(way, seed)[:2]))
    return told


def one(way: Way, seed: int) -> list[str]:
    """What did not hold in one scan; the same again for the same seed."""
    dice = random.Random(seed)
    name = dice.choice(CLUSTERS)
    return complaints(way, dice, name=name, plurals=_lists(way, dice))


def _lists(way: Way, dice: random.Random) -> frozenset[str]:
    """All that the way is about, those with several pages, or a few."""
    if way.on != "lists" or dice.random() < 0.2:
        return frozenset()
    return SHORT if dice.random() < 0.4 else frozenset(dice.sample(ASKED, dice.randrange(1, 5)))


ASKED = (
    "pods", "nodes", "nodepools", "nodeclaims", "ec2nodeclasses", "provisioners", "machines", "awsnodetemplates",
    "customresourcedefinitions", "deployments", "daemonsets", "statefulsets", "poddisruptionbudgets", "secrets",
    "configmaps", "services", "endpoints", "serviceaccounts", "clusterroles", "clusterrolebindings", "namespaces",
    "validatingwebhookconfigurations", "mutatingwebhookconfigurations", "jobs", "cronjobs", "networkpolicies",
)  # fmt: skip
PARTS = (
    Part(name="lying servers", full=TIMES * len(WAYS), rules="T06, K06, K09, K10, K11, K12, R11, R14", series=lied),
)
