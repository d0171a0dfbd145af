"""Fails for each pod on a legacy node with a volume in a zone where no NodePool launches nodes."""

from collections.abc import Iterator

from migrations_app.checks.base import Check, CheckContext, Evidence, JudgeResult, NotApplicable, Remedy
from migrations_app.checks.changes import PersonTask, group
from migrations_app.checks.remedies.commands import NAMES_SHOWN, in_cluster
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shared.replaced_nodes import (
    NODES_PARTLY_KNOWN,
    NOTHING_REPLACED,
    groups_on_nodes,
    replaced_nodes,
)
from migrations_app.checks.shell import no_option
from migrations_app.inventory.facts.node_pools import ZONE, reaches_zone
from migrations_app.inventory.facts.volumes import zones_claimed_in
from migrations_app.karpenter.hops import ALPHA_LEFT

check = Check(
    __name__,
    title="NodePools cover the zones of all volumes",
    phase="rollout",
    severity="warning",
    why="An EBS volume stays in its zone: a pod that needs it stays pending where no NodePool launches nodes.",
    reads=("pods", "nodes", "nodepools", "ec2nodeclasses", "volumes"),
    says=(
        "{count} pod is pinned by its volume to a zone without a NodePool",
        "{count} pods are pinned by their volumes to zones without a NodePool",
    ),
    how=(
        "Compares the zones of PersistentVolumes of the pods on legacy nodes with the zone requirements of NodePools "
        "and the subnets in the status of their node classes."
    ),
    hops=(ALPHA_LEFT,),
    sources=("Kubernetes documentation, Storage Classes, allowed topologies",),
    remedy_tools=("kubectl",),
)
WANTED = "a NodePool that reaches the zone"


@check.judge
def judge(case: CheckContext) -> Iterator[JudgeResult]:
    nodes = replaced_nodes(case)
    pools = case.inventory.nodepools.items
    if not nodes or not pools:
        yield NotApplicable(NOTHING_REPLACED if not nodes else "there is no NodePool yet, where this is asked again")
        return
    zones = {node.name: node.metadata.label(ZONE) or "" for node in case.inventory.nodes.items if node.name in nodes}
    reached = {
        zone for zone in set(zones.values()) if any(reaches_zone(case.inventory, pool, zone=zone) for pool in pools)
    }
    cut_off = {name: zone for name, zone in zones.items() if zone and zone not in reached}
    bound = zones_claimed_in(case.inventory)
    for situation in groups_on_nodes(case, cut_off, wanted=lambda group: "claim" in group.storage):
        # Without a known volume in the namespace, each of its claims may be bound to the zone of its node.
        node_zones = {cut_off[name] for name in situation.nodes}
        volume_zones = node_zones & bound.get(situation.group.namespace, node_zones)
        if volume_zones:
            yield situation.evidence(
                path="spec.volumes", seen=f"claims in {' '.join(sorted(volume_zones))}", wanted=WANTED
            )
            yield from () if situation.exact else (NODES_PARTLY_KNOWN,)


@check.advise
def advise(_case: CheckContext, evidence: tuple[Evidence, ...]) -> Iterator[Remedy]:
    homes = list(dict.fromkeys(no_option(row.namespace) for row in evidence))[:NAMES_SHOWN]
    columns = "NAME:.metadata.name,CLASS:.spec.storageClassName,ZONE:.spec.nodeAffinity.required.nodeSelectorTerms"
    task = PersonTask(
        what=f"let a NodePool and the subnets of its class reach these zones, in requirements of {ZONE}",
        why="which subnets nodes may stand in is a choice of the network",
        where=", ".join(dict.fromkeys(row.seen for row in evidence[:NAMES_SHOWN])),
    )
    looks = (read_command("kubectl", "-n", home, "get", "pvc") for home in homes)
    volumes = read_command("kubectl", "get", "pv", "-o", f"custom-columns={columns}")
    yield in_cluster(group(*looks, volumes, task, notes=("Which volumes are bound to a zone",)))
