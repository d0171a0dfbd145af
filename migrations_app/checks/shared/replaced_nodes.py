"""The nodes that a hop replaces, and the groups of pods on them."""

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

from migrations_app.checks.base import CheckContext, Evidence, LowerBound, ManualCheck, Remedy
from migrations_app.checks.changes import ChangeGroup, ChangeTarget, ObjectPatch
from migrations_app.checks.remedies.commands import remedies_of
from migrations_app.checks.remedies.karpenter_objects import RESOURCES, append_patch, append_undo
from migrations_app.inventory.facts.managers import managed
from migrations_app.inventory.facts.workloads import claiming_templates, protects
from migrations_app.inventory.objects.karpenter import PodGroup, Provisioner
from migrations_app.inventory.pod_groups import NODES_KEPT
from migrations_app.karpenter import labels
from migrations_app.karpenter.release_facts import replacements

NOTHING_REPLACED = "the upgrade replaces no node that exists now"
LEGACY_TAINT = {"key": "karpenter.sh/legacy", "value": "true", "effect": "NoSchedule"}
"""The taint with which the guide keeps new pods off nodes that a Provisioner launches."""
NODES_PARTLY_KNOWN = LowerBound("of large groups of pods only some nodes are kept")


@dataclass(frozen=True, slots=True)
class GroupOnNodes:
    """A group with pods on the given nodes. `pods` is the number of these pods; a lower bound unless `exact`."""

    group: PodGroup
    nodes: tuple[str, ...]
    pods: int
    exact: bool

    def evidence(self, *, path: str, seen: str, wanted: str) -> Evidence:
        """Evidence for the group, named after its workload or, without one, its first pod."""
        kind = self.group.owner_kind or "Pod"
        name = self.group.owner_name or next(iter(self.group.samples), "")
        where = self.nodes[0] if len(self.nodes) == 1 else f"{len(self.nodes)} nodes, first {self.nodes[0]}"
        return Evidence(
            kind=kind,
            namespace=self.group.namespace,
            name=name,
            path=path,
            seen=f"{seen}, on {where}",
            wanted=wanted,
            count=self.pods,
        )


def replaced_nodes(case: CheckContext) -> frozenset[str]:
    """The names of the nodes that the hop replaces; empty where it replaces none."""
    owners = {owner for row in replacements(case.hop.entered) for owner in row.owners}
    return frozenset(node.name for node in case.ownership.nodes if node.owner in owners) if owners else frozenset()


def groups_on_nodes(
    case: CheckContext, nodes: Collection[str], *, wanted: Callable[[PodGroup], object]
) -> Iterator[GroupOnNodes]:
    """The wanted groups with at least one pod on those nodes. DaemonSets are left out, because their pods end with the
    node."""
    for group in case.inventory.pods.items:
        # The nodes are compared last, because thousands of groups have dozens of nodes each.
        if group.owner_kind not in ("DaemonSet", "Node") and wanted(group):
            replaced = tuple([name for name in group.nodes if name in nodes])
            if replaced:
                yield _counted(group, replaced)


def protection(case: CheckContext, group: PodGroup) -> str:
    """The do-not-disrupt of the pods that counts before or after the upgrade, `true` or a duration; empty without."""
    value = group.markers.get(labels.DO_NOT_DISRUPT, "")
    return value if any(protects(value, one) for one in (case.running.release, case.hop.release)) else ""


def _counted(group: PodGroup, replaced: tuple[str, ...]) -> GroupOnNodes:
    if len(replaced) == len(group.nodes) < NODES_KEPT:
        return GroupOnNodes(group, replaced, group.count, exact=True)
    return GroupOnNodes(group, replaced, len(replaced), exact=group.count == len(group.nodes))


def taint_remedies(provisioners: Sequence[Provisioner]) -> tuple[Remedy, ...]:
    """Keeps new pods off nodes that these Provisioners launch, for each tool."""
    note = "Once a NodePool that admits these pods is ready; nodes that are there keep their pods"
    task = f"add to spec.taints: {json.dumps(LEGACY_TAINT)}"
    change = ChangeGroup(steps=tuple(map(legacy_taint_patch, provisioners)), what=task, notes=(note,))
    return remedies_of(change, managed(provisioners[0].metadata))


def legacy_taint_patch(provisioner: Provisioner) -> ObjectPatch:
    """Adds the taint to the Provisioner, with its undo."""
    target = ChangeTarget("Provisioner", provisioner.name, resource=RESOURCES["Provisioner"][1])
    return ObjectPatch(
        target=target,
        body=tuple(append_patch(provisioner, "spec.taints", value=LEGACY_TAINT)),
        needs=("pools_admit_provisioner_pods",),
        done=f"Provisioner {provisioner.name} has the taint {LEGACY_TAINT['key']}",
        undo=ObjectPatch(target=target, body=tuple(append_undo(provisioner, "spec.taints", value=LEGACY_TAINT))),
    )


def claim_questions(case: CheckContext) -> Iterator[ManualCheck]:
    """A question for each workload whose pods will name ResourceClaims, and that has none now; no DaemonSet."""
    for kind, workload in claiming_templates(case.inventory):
        if kind != "DaemonSet":
            place = f"{kind} {workload.namespace}/{workload.name}"
            yield ManualCheck(
                f"{place} names ResourceClaims and has no pod now: see that its pods need no node of Karpenter"
            )
