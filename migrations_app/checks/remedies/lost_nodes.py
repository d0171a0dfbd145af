"""Remedies for Karpenter's nodes without a claim, and for instances that no object names."""

from collections.abc import Sequence

from migrations_app.checks.base import CheckContext, Evidence, Remedy
from migrations_app.checks.changes import Change, PersonTask, group
from migrations_app.checks.remedies.commands import in_aws
from migrations_app.checks.remedies.karpenter_objects import delete_claims
from migrations_app.checks.remedies.observations import read_command
from migrations_app.checks.shell import word
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.karpenter import KarpenterClaim
from migrations_app.inventory.parts import is_whole
from migrations_app.karpenter.labels import TERMINATION_FINALIZER
from migrations_app.karpenter.versions import Release, minor_order

FIRST = ("pools_admit_provisioner_pods", "old_provisioners_fenced")
LAST_OF_ALPHA, LAST_OF_BETA = (0, 32), (0, 37)
"""The last minors whose controller drains a Node of that generation without a claim and ends its instance.
kubernetes-sigs/karpenter@v0.37.8:pkg/controllers/node/termination/controller.go."""
_ENDED_AT_START = "Once the controller runs it may end any instance without a claim within minutes, and drains none"
"""aws/karpenter-provider-aws: pkg/controllers/nodeclaim/garbagecollection/controller.go, from 0.28 on."""
_NOTE = "Once a NodePool that fits these pods is ready and the old Provisioner is fenced, one node after the other"


def delete_nodes(case: CheckContext, evidence: Sequence[Evidence]) -> Change:
    """Deletes each Node whose instance the running controller then ends; the other nodes are manual tasks. While no
    controller runs, every node is one."""
    if _no_controller_runs(case.inventory):
        return group(*(_drain(row.name) for row in evidence), notes=(_ENDED_AT_START,))
    names = _ended_by_controller(case)
    ends = [row for row in evidence if row.name in names]
    steps = [delete_claims(ends, needs=FIRST)] if ends else []
    return group(*steps, *(_manual_deletion(row.name) for row in evidence if row.name not in names), notes=(_NOTE,))


def _no_controller_runs(inventory: Inventory) -> bool:
    """Whether it is known that no pod of a controller is ready; False if that was not read."""
    statuses = [workload.status for workload in inventory.controller.items]
    return is_whole(inventory.controller) and not any(status is None or status.ready_replicas for status in statuses)


def _ended_by_controller(case: CheckContext) -> frozenset[str]:
    running = case.running.release
    if running is None:
        return frozenset()
    finalized = {
        node.name for node in case.inventory.nodes.items if TERMINATION_FINALIZER in (node.metadata.finalizers or ())
    }
    minor = minor_order(running.minor)
    return frozenset(
        node.name
        for node in case.ownership.nodes
        if node.name in finalized and minor <= (LAST_OF_ALPHA if node.owner == "karpenter_alpha" else LAST_OF_BETA)
    )


def _manual_deletion(name: str) -> PersonTask:
    return PersonTask(
        what=f"drain {name}, end its instance, then delete the Node",
        why="the controller that runs does not end the instance of such a node",
        where=f"kubectl drain {word(name)} --ignore-daemonsets --delete-emptydir-data; its spec.providerID in EC2",
        needs=FIRST,
        done=f"Node {name} is gone and its instance is terminated",
    )


def _drain(name: str) -> PersonTask:
    return PersonTask(
        what=f"drain {name} before the controller runs again, onto nodes of another kind",
        why="where its pods go until then is a choice, and a claim that is gone cannot be written anew",
        where=f"kubectl drain {word(name)} --ignore-daemonsets --delete-emptydir-data",
        done=f"no pod but those of DaemonSets runs on {name}",
    )


def end_machines(inventory: Inventory, evidence: Sequence[Evidence], *, running: Release) -> Change:
    """Manual tasks that end each Machine and its node, for a release that acts on no Machine."""
    named = {row.name for row in evidence}
    machines = [machine for machine in inventory.machines.items if machine.name in named]
    note = f"{running} acts on no Machine: kubectl delete waits for ever. Each one by hand, or all with 0.32 again"
    return group(*map(_manual_end, machines), notes=(note,))


def _manual_end(machine: KarpenterClaim) -> PersonTask:
    node = (machine.status and machine.status.node_name) or ""
    drain = f"kubectl drain {word(node)} --ignore-daemonsets --delete-emptydir-data; " if node else ""
    both = "Machine and Node" if node else "Machine"
    return PersonTask(
        what=f"{machine.name}: drain {node or 'its node'}, end its instance, then take the finalizers off {both}",
        why="no controller that runs does any of this",
        where=f"{drain}{machine.provider_id or 'its status.providerID'} in EC2",
        needs=FIRST,
        done=f"{both} are gone and the instance is terminated" if node else "the Machine is gone",
    )


def compare_instances(case: CheckContext, ids: str) -> Remedy:
    """Lists Karpenter's instances in this cluster, to be compared with its claims; `ids` are the instances without a
    claim."""
    place = case.inventory.aws.place
    at = ("--region", place.region) if place.region else ()
    owned = (f"Name=tag:kubernetes.io/cluster/{place.cluster},Values=owned",) if place.cluster else ()
    with_pool_tag = "Name=tag-key,Values=karpenter.sh/nodepool,karpenter.sh/provisioner-name"
    query = "Reservations[].Instances[].[InstanceId,LaunchTime,PrivateDnsName]"
    words = (
        "aws",
        "ec2",
        "describe-instances",
        *at,
        "--filters",
        *owned,
        with_pool_tag,
        "--query",
        query,
        "--output",
        "table",
    )
    task = PersonTask(
        what="end those that were launched long ago and that nobody knows",
        why="an instance that just starts has no claim yet, and somebody else may use one",
        where=ids,
        aws=True,
    )
    return in_aws(group(read_command(*words, notes=("Compare with the provider ids of the claims",)), task))
