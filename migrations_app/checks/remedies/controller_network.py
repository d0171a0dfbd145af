"""Remedies that let callers reach the controller: open ports and no service mesh; and stopping a second autoscaler."""

from collections.abc import Sequence
from typing import Final

from migrations_app.checks.base import Evidence, Remedy
from migrations_app.checks.changes import Change, ChangeTarget, ObjectPatch, PersonTask, seen_patch
from migrations_app.checks.remedies.commands import in_cluster
from migrations_app.checks.remedies.placement import workload_target
from migrations_app.inventory.facts.controller import Installation
from migrations_app.inventory.facts.workloads import workload
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.cluster import NetworkPolicy
from migrations_app.manifests import JsonMap

INGRESS: Final = "/spec/ingress"
NO_SIDECAR: Final = {"sidecar.istio.io/inject": "false", "linkerd.io/inject": "disabled"}
BY_LABEL: Final = "sidecar.istio.io/inject"
"""Istio reads this label first, and the annotation only if the label is missing."""


def open_ports(inventory: Inventory, evidence: Sequence[Evidence]) -> Remedy:
    """Opens the ports of the evidence in the first NetworkPolicy that it names, in addition to what the policy
    allows."""
    first = evidence[0]
    ports = [int(row.value("port")) for row in evidence if row.value("port").isdecimal()]
    value: JsonMap = {"ports": [{"port": port, "protocol": "TCP"} for port in ports]}
    policy = next(
        policy
        for policy in inventory.network_policies.items
        if (policy.namespace, policy.name) == (first.namespace, first.name)
    )
    rules = len(policy.spec.ingress or ())
    target, last = ChangeTarget("NetworkPolicy", first.name, first.namespace), f"{INGRESS}/{rules}"
    body: JsonMap = {"op": "add", "path": INGRESS, "value": [value]}
    undo_body: tuple[JsonMap, ...] = (
        {"op": "test", "path": INGRESS, "value": [value]},
        {"op": "replace", "path": INGRESS, "value": []},
    )
    if rules:
        body = {"op": "add", "path": f"{INGRESS}/-", "value": value}
        undo_body = ({"op": "test", "path": last, "value": value}, {"op": "remove", "path": last})
    patch = ObjectPatch(
        target=target,
        body=(*_spec_as_seen(policy), body),
        notes=("Lets everybody call these ports; narrow it by ipBlock to the subnets of the control plane",),
        undo=ObjectPatch(target=target, body=undo_body),
        done=f"NetworkPolicy {first.namespace}/{first.name} lets these ports in",
    )
    return in_cluster(patch)


def _spec_as_seen(policy: NetworkPolicy) -> tuple[JsonMap, ...]:
    """The operation by which a patch is refused if the policy has changed since the scan: each change of its spec
    counts its generation up. Peers of rules are not read whole and cannot be compared. Empty for a policy without a
    generation, as in a manifest."""
    if policy.metadata.generation is None:
        return ()
    return ({"op": "test", "path": "/metadata/generation", "value": policy.metadata.generation},)


def remove_sidecars(installation: Installation) -> Remedy:
    """Recreates the controller's pods without sidecars of a service mesh."""
    target = ChangeTarget("Deployment", installation.name, installation.namespace)
    template = installation.workload.template.metadata
    annotations, labels = template.annotations or {}, template.labels or {}
    label = BY_LABEL in labels
    patch = ObjectPatch(
        target=target,
        body=_template_patch(dict(NO_SIDECAR), {BY_LABEL: "false"} if label else {}),
        notes=("Replaces the controller's pods by some without a sidecar; in the chart: podAnnotations, podLabels",),
        undo=ObjectPatch(
            target=target,
            body=_template_patch(
                {key: annotations.get(key) for key in NO_SIDECAR}, {BY_LABEL: labels[BY_LABEL]} if label else {}
            ),
        ),
        done="no pod of the controller has a sidecar",
    )
    return in_cluster(patch)


def _template_patch(annotations: JsonMap, labels: JsonMap) -> JsonMap:
    metadata = {"annotations": annotations} | ({"labels": labels} if labels else {})
    return {"spec": {"template": {"metadata": metadata}}}


def stop_autoscaler(inventory: Inventory, row: Evidence) -> Change:
    """Scales the other autoscaler to 0 pods; the undo restores its replicas. A manual task if its kind has no
    replicas."""
    autoscaler = workload(inventory, kind=row.kind, namespace=row.namespace, name=row.name)
    if row.kind not in ("Deployment", "StatefulSet"):
        return PersonTask(
            what=f"stop {row.kind} {row.name} in {row.namespace}",
            why="it has no number of pods that could be 0",
            where=f"the owner of {row.kind} {row.name}",
        )
    target, done = workload_target(row), f"no pod of {row.kind} {row.namespace}/{row.name} runs"
    if autoscaler is None:
        final = "how many pods it had was not read"
        return ObjectPatch(target=target, body={"spec": {"replicas": 0}}, final=final, done=done)
    before = autoscaler.spec.replicas if autoscaler.spec.replicas is not None else 1
    return seen_patch(target, {"spec": {"replicas": 0}}, tree={"spec": {"replicas": before}}, done=done)
