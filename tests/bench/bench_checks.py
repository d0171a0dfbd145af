"""Speed of judging: all checks at every hop of the path, beside the time it takes to decode what they read; and the
walk, which makes fixes and lands releases between the hops, beside the same hops judged by one inventory.

Run as a script; KARPDASH_BENCH_SCALE makes it smaller. Targets, at full size (10,000 nodes, as many claims, 150,000
pods of 5,000 workloads): a third of the decode time for a whole path, and less than 1 MB of evidence. The walk of 2,000
nodes and 40,000 pods costs at most 1.5 times the judging.
"""

import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from migrations_app.checks.base import CheckContext, Finding
from migrations_app.checks.registry import all_checks
from migrations_app.checks.runner import run
from migrations_app.inventory.facts.ownership import ownership
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.parse import read_items
from migrations_app.inventory.parts import Seen
from migrations_app.inventory.pod_groups import PodGrouper
from migrations_app.karpenter.upgrade_path import path
from migrations_app.readiness import stage as facts
from migrations_app.readiness.runbook.walk import findings_of_hops
from migrations_app.readiness.stage import stage_of
from migrations_app.samples.karpenter_objects import ON_DEMAND, Launched, claim, node_class, pool, provisioner
from migrations_app.samples.kubernetes_objects import budget
from tests.bench import load
from tests.builders.clusters import a_cluster

WANTED_SHARE = 1 / 3
WANTED_BYTES = 1_000_000
WANTED_WALK = 1.5
PAGE = 500
ROUNDS = 3
KUBERNETES = "1.28"

Document = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """A cluster at its full size. `share` of the size is what is made."""

    version: str
    nodes: int = 10_000
    pods: int = 150_000
    workloads: int = 5_000

    def scaled(self, scale: float) -> "Scene":
        few = (max(8, round(number * scale)) for number in (self.nodes, self.pods, self.workloads))
        nodes, pods, workloads = few
        return replace(self, nodes=nodes, pods=max(load.WORKLOADS, pods), workloads=max(load.WORKLOADS, workloads))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Seconds of this process, and bytes of evidence as JSON over all hops."""

    scene: Scene
    decode: float
    judge: float
    hops: int
    evidence: int
    slowest: tuple[tuple[str, int], ...]
    """Checks with their microseconds over all hops."""
    findings: tuple[Finding, ...]

    @property
    def reached(self) -> bool:
        return self.judge <= self.decode * WANTED_SHARE and self.evidence < WANTED_BYTES


SCENES = (Scene(version="0.32.10"), Scene(version="1.0.8"))
WALKED = tuple(Scene(version=version, nodes=2_000, pods=40_000, workloads=1_000) for version in ("0.32.10", "1.0.8"))


@dataclass(frozen=True, slots=True, kw_only=True)
class WalkFigures:
    """Seconds of this process: every hop judged by the inventory of today, and the walk over the same hops."""

    scene: Scene
    judge: float
    walk: float
    hops: int

    @property
    def ratio(self) -> float:
        return self.walk / self.judge

    @property
    def reached(self) -> bool:
        return self.ratio <= WANTED_WALK


def walk_measured(scene: Scene) -> WalkFigures:
    """Both take turns, so that a busy moment of the machine slows both; of each the shortest round counts."""
    inventory, _ = _decoded(scene, load.launched(scene.nodes))
    judge, walk, hops = [], [], 0
    for _ in range(ROUNDS):
        judge.append(_judged(replace(inventory))[0])
        seconds, hops = _walked(replace(inventory))
        walk.append(seconds)
    return WalkFigures(scene=scene, judge=min(judge), walk=min(walk), hops=hops)


def _walked(inventory: Inventory) -> tuple[float, int]:
    started = time.process_time()
    path_hops = path(facts.detect_running_release(inventory), kubernetes=KUBERNETES).hops
    hops = len(list(findings_of_hops(inventory, path_hops, checks=all_checks())))
    return time.process_time() - started, hops


def measured(scene: Scene) -> Figures:
    """Decodes a scene page by page, then puts every check to each hop ahead of it."""
    instances = load.launched(scene.nodes)
    inventory, decode = _decoded(scene, instances)
    rounds = [_judged(replace(inventory)) for _ in range(ROUNDS)]
    judge, found = min(rounds, key=lambda each: each[0])
    cases, taken = _cases(replace(inventory)), Counter[str]()
    for case in cases:
        for check in all_checks():
            started = time.process_time()
            run([check], case)
            taken[check.id] += round(1e6 * (time.process_time() - started))
    return Figures(
        scene=scene,
        decode=decode,
        judge=judge,
        hops=len(cases),
        evidence=sum(len(msgspec.json.encode(finding.evidence)) for finding in found),
        slowest=tuple(taken.most_common(3)),
        findings=found,
    )


def _judged(inventory: Inventory) -> tuple[float, tuple[Finding, ...]]:
    """The seconds of a whole path, by an inventory of which nothing is worked out yet, and what is found.

    Of several rounds the shortest counts: what else the machine does only ever adds.
    """
    started = time.process_time()
    found = [finding for case in _cases(inventory) for finding in run(all_checks(), case)]
    return time.process_time() - started, tuple(found)


def _cases(inventory: Inventory) -> list[CheckContext]:
    running, owned = facts.detect_running_release(inventory), ownership(inventory)
    here = stage_of(inventory, running)
    hops = path(running, kubernetes=KUBERNETES).hops
    return [CheckContext(inventory, hop, running, here, inventory.taken_at, owned) for hop in hops]


def _decoded(scene: Scene, instances: list[Launched]) -> tuple[Inventory, float]:
    """The inventory, and the time that its nodes, claims and pods took."""
    alpha = scene.version.startswith("0.32")
    claims = load.machines(instances) if alpha else _claims(instances)
    by_kind: dict[bool, list[msgspec.Raw]] = {True: [], False: []}
    for document in claims:
        by_kind[document["kind"] == "Node"].append(msgspec.Raw(msgspec.json.encode(document)))
    started = time.process_time()
    nodes, _ = read_items(by_kind[True], o.Node)
    decode = time.process_time() - started
    kind: type[o.KarpenterClaim] = o.Machine if alpha else o.NodeClaim
    started = time.process_time()
    launched, _ = read_items(by_kind[False], kind)
    decode += time.process_time() - started
    fold = PodGrouper()
    for raw in _pages(scene, [load.node_name(one) for one in instances]):
        started = time.process_time()
        fold.add(raw)
        decode += time.process_time() - started
    part, served = ("machines", "karpenter.sh/v1alpha5") if alpha else ("nodeclaims", "karpenter.sh/v1")
    whole = _around(alpha, scene.version)
    parts: dict[str, Any] = {part: Seen(tuple(launched), served)}
    return replace(whole, nodes=Seen(tuple(nodes), "v1"), pods=fold.seen("v1"), **parts), decode


def _around(alpha: bool, version: str) -> Inventory:
    """Karpenter itself, its pools, and a budget for every namespace that lets nothing go."""
    pools: list[Document] = []
    for name in load.POOLS:
        if alpha:
            pools.append(provisioner(name, ON_DEMAND, template="default"))
        else:
            pools.append(pool(name, ON_DEMAND, node_class="default", version="v1"))
    if not alpha:
        pools.append(node_class("default", cluster=load.CLUSTER, version="v1"))
    budgets = [budget(f"all-{n}", f"team-{n:02}", healthy=3, allowed=0, minAvailable=3) for n in range(load.NAMESPACES)]
    return a_cluster(version, kubernetes=KUBERNETES).with_docs(*pools, *budgets).build()


def _claims(instances: list[Launched]) -> Iterator[Document]:
    """Claims of long ago, as 1.0 finds them: owned in the old version, past their time, without the cluster's tag."""
    for one in instances:
        made, node = claim(one, node_class="default", version="v1", born_as="v1beta1")
        made["status"]["nodeName"] = node["metadata"]["name"] = load.node_name(one)
        made["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        yield made
        yield node


def _pages(scene: Scene, nodes: list[str]) -> Iterator[list[msgspec.Raw]]:
    """Pages of pods. `load` makes pods of 200 workloads; blocks of them get names of their own."""
    blocks = max(1, scene.workloads // load.WORKLOADS)
    each = scene.pods // blocks
    for block in range(blocks):
        for first in range(0, each, PAGE):
            numbers = range(block * each + first, block * each + min(each, first + PAGE))
            made = (msgspec.json.encode(pod) for pod in load.pods(numbers, nodes))
            yield [msgspec.Raw(body.replace(b"service-", b"b%02d-service-" % block)) for body in made]


def said(figures: Figures) -> str:
    """The figures of a scene, for people."""
    scene, share = figures.scene, figures.judge / figures.decode
    slow = ", ".join(f"{name} {micro / 1000:.0f} ms" for name, micro in figures.slowest)
    return (
        f"checks on {scene.version}: {scene.nodes:,} nodes and {scene.pods:,} pods decoded in {figures.decode:.1f} s, "
        f"judged at {figures.hops} hops in {figures.judge:.2f} s: {share:.2f} of it (wanted {WANTED_SHARE:.2f}); "
        f"evidence {figures.evidence / 1000:,.0f} kB (wanted below {WANTED_BYTES / 1000:,.0f}); slowest: {slow}\n"
    )


def walk_said(figures: WalkFigures) -> str:
    """The figures of a walk, for people."""
    scene = figures.scene
    return (
        f"walk from {scene.version}: {scene.nodes:,} nodes and {scene.pods:,} pods, {figures.hops} hops judged by one "
        f"inventory in {figures.judge:.2f} s, walked in {figures.walk:.2f} s: {figures.ratio:.2f} times "
        f"(wanted at most {WANTED_WALK})\n"
    )


def walk_page(every: Iterable[WalkFigures]) -> str:
    """The section of the page on walks."""
    head = (
        "\n## The walk over all hops\n\n"
        "Every check at each hop by one inventory, and the walk that makes fixes, judges again what they changed and "
        "lands\nreleases in between; seconds of CPU, the shortest of the rounds, in turns in one process.\n\n"
        "| from | nodes | pods | hops | judged s | walked s | times (at most 1.5) |\n"
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n"
    )
    rows = (
        f"| {one.scene.version} | {one.scene.nodes:,} | {one.scene.pods:,} | {one.hops} | {one.judge:.2f} | "
        f"{one.walk:.2f} | {one.ratio:.2f} |\n"
        for one in every
    )
    return head + "".join(rows)


def main() -> int:
    """0 when the targets are reached, or when the size is too small to tell."""
    scale = float(os.environ.get("KARPDASH_BENCH_SCALE") or 1)
    found = [measured(scene.scaled(scale)) for scene in SCENES]
    walks = [walk_measured(scene.scaled(scale)) for scene in WALKED]
    sys.stdout.write("".join((*map(said, found), *map(walk_said, walks))))
    return int(scale >= 1 and not all(figures.reached for figures in (*found, *walks)))


if __name__ == "__main__":
    sys.exit(main())
