"""Kubeconfigs and bundles that people upload, with other bytes and values than a tool would write (T01, T02, T05)."""

import json
import random
from functools import cache
from typing import Any

from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.collect.collect import collect
from migrations_app.errors import InvalidBundle, InvalidKubeconfig
from migrations_app.readiness.evaluate import evaluate
from tests.acceptance.clusters import CLEAN, objects
from tests.acceptance.judging import as_list, crashes
from tests.clients.archives import member, tar
from tests.clients.kubernetes.kubeconfigs import dump, hostile, kubeconfig
from tests.trust.parts import Part
from tests.trust.tampering import TEXT_PIECES, changed, changed_archive, changed_tree


@cache
def _kubeconfigs() -> tuple[bytes, ...]:
    """Hostile ones, and as many good ones."""
    found = [dump(document) for document in hostile()]
    return (*found, *[dump(kubeconfig())] * len(found))


def a_kubeconfig(dice: random.Random) -> str:
    try:
        connection = read_kubeconfig(changed(dice.choice(_kubeconfigs()), dice))
    except InvalidKubeconfig as refused:
        return "" if refused.code else "refused without a code"
    return "" if connection.server.url.startswith("https://") else f"reads {connection.server.url}"


@cache
def _clusters() -> tuple[tuple[str, tuple[dict[str, Any], ...]], ...]:
    return tuple((clean.kubernetes, tuple(objects(clean))) for clean in CLEAN)


@cache
def _archives() -> tuple[bytes, ...]:
    return tuple(
        tar(*(member(name, body) for name, body in as_list(documents, kubernetes=version).items()))
        for version, documents in _clusters()
    )


def a_bundle(dice: random.Random) -> str:
    """Packed bytes or JSON values that were changed; whatever is still read is judged, and no check may crash."""
    if dice.random() < 0.5:
        source: Any = changed_archive(dice.choice(_archives()), dice)
    else:
        version, documents = dice.choice(_clusters())
        few = [changed_tree(one, dice) if dice.random() < 0.3 else one for one in documents]
        source = as_list(few, kubernetes=version)
        if dice.random() < 0.2:
            source["objects.json"] = changed(source["objects.json"], dice, pieces=TEXT_PIECES)
    try:
        report = evaluate(collect(open_bundle(source), cluster="blue")).report
    except InvalidBundle as refused:
        return "" if refused.code else "refused without a code"
    json.dumps([one.summary for one in report.checks])
    return "; ".join(crashes(report))


PARTS = (
    Part(name="kubeconfigs", full=1_000_000, rules="T01, T02, K18", trial=a_kubeconfig),
    Part(name="bundles", full=100_000, rules="T05, T07, K12", trial=a_bundle),
)
