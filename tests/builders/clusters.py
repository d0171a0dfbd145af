"""Builds an Inventory for tests: `a_cluster("0.37.8").with_docs(...).build()` has every part read.

Objects are written as in the API; `samples.kube` and its neighbours make them short. A part that is not given is Seen
and empty, so a test calls `unseen` for what could not be read.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

import msgspec

from migrations_app.checks.base import CheckContext, Evidence, Finding, Remedy
from migrations_app.checks.changes import ChangeTime, HelmChange
from migrations_app.checks.registry import all_checks
from migrations_app.checks.runner import run
from migrations_app.inventory.aws_facts.pod_network import is_network_plugin
from migrations_app.inventory.facts.controller import is_controller, is_other_autoscaler
from migrations_app.inventory.facts.workloads import claims_devices
from migrations_app.inventory.inventory import AWS_PREFIX, PART_NAMES, Inventory
from migrations_app.inventory.metric_queries import read_monitor
from migrations_app.inventory.objects import cluster
from migrations_app.inventory.objects import karpenter as o
from migrations_app.inventory.objects.aws import AWS_PART_NAMES, NO_AWS, AwsSeen
from migrations_app.inventory.objects.cluster import ClusterRole, NetworkPolicy
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.inventory.parse import read_crd
from migrations_app.inventory.parts import Part, Seen, UnparsableObject, Unseen
from migrations_app.inventory.pod_groups import PodGrouper, names_karpenter
from migrations_app.karpenter.releases import crd_set, find
from migrations_app.karpenter.upgrade_path import HOPS, PathHop, path
from migrations_app.karpenter.versions import kubernetes_minor, release
from migrations_app.manifests import JsonMap
from migrations_app.readiness import stage as facts
from migrations_app.readiness.stage import stage_of
from migrations_app.samples.installation import HELM_LABEL, Crds, Install, controller, crds, helm_marks
from migrations_app.samples.kubernetes_objects import containers, namespaces_of, server_version, template, workload

NOW = "2026-10-01T12:00:00Z"
PLACE = AwsPlace(region="eu-central-1", cluster="test", account="111122223333")
NODE = "ip-10-20-200-10.eu-central-1.compute.internal"
PARTS: dict[str, tuple[str, type[o.Projection]]] = {
    "Provisioner": ("provisioners", o.Provisioner),
    "AWSNodeTemplate": ("awsnodetemplates", o.AWSNodeTemplate),
    "Machine": ("machines", o.Machine),
    "NodePool": ("nodepools", o.NodePool),
    "EC2NodeClass": ("ec2nodeclasses", o.EC2NodeClass),
    "NodeClaim": ("nodeclaims", o.NodeClaim),
    "Node": ("nodes", o.Node),
    "StatefulSet": ("statefulsets", o.Workload),
    "DaemonSet": ("daemonsets", o.Workload),
    "Job": ("jobs", o.Workload),
    "CronJob": ("cronjobs", o.Workload),
    "PodDisruptionBudget": ("pdbs", o.DisruptionBudget),
    "CustomResourceDefinition": ("crds", o.CRD),
    "ServiceAccount": ("controller_accounts", o.ServiceAccount),
    "Service": ("services", o.Service),
    "Endpoints": ("endpoints", o.Endpoints),
    "ValidatingWebhookConfiguration": ("webhooks", o.WebhookConfiguration),
    "MutatingWebhookConfiguration": ("webhooks", o.WebhookConfiguration),
    "Application": ("deliveries", o.GitOpsDelivery),
    "HelmRelease": ("deliveries", o.GitOpsDelivery),
    "Kustomization": ("deliveries", o.GitOpsDelivery),
    "ClusterRole": ("controller_rbac", ClusterRole),
    "NetworkPolicy": ("network_policies", NetworkPolicy),
    "Namespace": ("namespaces", cluster.Namespace),
    "PersistentVolume": ("volumes", cluster.PersistentVolume),
    "Rollout": ("argo_rollouts", o.Workload),
    "ClusterPolicy": ("policies", cluster.AdmissionPolicy),
    "Policy": ("policies", cluster.AdmissionPolicy),
    "ValidatingAdmissionPolicy": ("admission_policies", cluster.AdmissionPolicy),
    "Assign": ("policies", cluster.AdmissionPolicy),
    "GitRepository": ("sources", cluster.GitOpsSource),
    "OCIRepository": ("sources", cluster.GitOpsSource),
    "HelmRepository": ("sources", cluster.GitOpsSource),
}


class ACluster:
    """Collects objects; every method returns the builder itself."""

    def __init__(self) -> None:
        self._items: dict[str, list[Any]] = {name: [] for name in PART_NAMES}
        self._instead: dict[str, Part[Any]] = {}
        self._bad: dict[str, tuple[UnparsableObject, ...]] = {}
        self._aws: dict[str, Part[Any]] | None = None
        self._served: dict[str, str] = {}
        self._fold = PodGrouper()

    def with_docs(self, *docs: JsonMap) -> Self:
        """Adds each document to its part, as a scan would."""
        for doc in docs:
            self._file(doc)
        return self

    def with_items(self, part: str, *items: Any) -> Self:
        self._items[part] += items
        return self

    def with_kubernetes(self, version: str) -> Self:
        self._items["version"] = [o.ServerVersion(git_version=version)]
        return self

    def with_values(self, values: JsonMap, *, version: str = "0.37.8", namespace: str = "kube-system") -> Self:
        """Adds the Helm record of the chart karpenter with these values."""
        record = o.HelmRelease(
            name="karpenter",
            namespace=namespace,
            revision=3,
            status="deployed",
            chart="karpenter",
            chart_version=version,
            app_version=version,
            config=values,
            defaults={},
            crds=[],
        )
        self._items["helm_releases"] = [record]
        return self

    def with_hidden(self, variable: str = "") -> Self:
        """Makes the controller take that variable from an object that is not read; without a name, any variable."""

        def hide(container: JsonMap) -> None:
            kept = [one for one in container.get("env") or () if one["name"] != variable]
            by_name = [{"name": variable, "valueFrom": {"secretKeyRef": {}}}] if variable else []
            container |= {"env": [*kept, *by_name], "envFrom": [] if variable else [{"secretRef": {}}]}

        return self._with_containers(hide)

    def with_flag(self, flag: str) -> Self:
        """Starts the controller with that flag."""
        return self._with_containers(lambda container: container.update(args=[flag]))

    def _with_containers(self, change: Callable[[JsonMap], None]) -> Self:
        for place, one in enumerate(self._items["controller"]):
            body = msgspec.to_builtins(one)
            for container in body["spec"]["template"]["spec"]["containers"]:
                change(container)
            self._items["controller"][place] = msgspec.convert(body, type(one))
        return self

    def with_aws(self, **parts: Part[Any] | tuple[Any, ...]) -> Self:
        """Marks AWS as read: each part is given as its items, or as Unseen; a part that is not given is Seen
        and empty.
        """
        given = {name: Seen(part) if isinstance(part, tuple) else part for name, part in parts.items()}
        self._aws = (self._aws or dict.fromkeys(AWS_PART_NAMES, Seen(()))) | given
        return self

    def without(self, *parts: str) -> Self:
        """Empties these parts."""
        for part in parts:
            self._items[part] = []
        return self

    def unseen(self, *parts: str, why: str = "forbidden") -> Self:
        of_aws = {part.removeprefix(AWS_PREFIX): Unseen(why) for part in parts if part.startswith(AWS_PREFIX)}
        self._instead |= {part: Unseen(why) for part in parts if not part.startswith(AWS_PREFIX)}
        return self.with_aws(**of_aws) if of_aws else self

    def quarantined(self, part: str, *, name: str = "broken") -> Self:
        return self.set_aside(part, UnparsableObject("Thing", "", name, "$.spec", "Expected `object`"))

    def set_aside(self, part: str, *bad: UnparsableObject) -> Self:
        """Adds objects to the part that exist but could not be parsed."""
        self._bad[part] = bad
        return self

    def build(self) -> Inventory:
        found: dict[str, Part[Any]] = {
            name: Seen(tuple(items), self._served.get(name), self._bad.get(name, ()))
            for name, items in self._items.items()
        }
        if "pods" not in self._bad:
            found["pods"] = self._fold.seen("v1")
        aws = NO_AWS if self._aws is None else AwsSeen(**{"place": PLACE} | self._aws)
        return Inventory(cluster="test", taken_at=NOW, aws=aws, **(found | self._instead))

    def _file(self, doc: JsonMap) -> None:
        kind = doc["kind"]
        if kind == "Pod":
            self._file_pod(doc)
        elif kind == "Deployment":
            self._file_deployment(doc)
        elif kind == "ConfigMap":
            part = {"aws-auth": "aws_auth", "cilium-config": "cilium_config"}.get(doc["metadata"]["name"], "settings")
            self._items[part].append(msgspec.convert(doc, o.ConfigMap))
        elif kind in ("ServiceMonitor", "PodMonitor"):
            self._items["monitors"].append(read_monitor(msgspec.Raw(msgspec.json.encode(doc)), kind))
        elif kind == "CustomResourceDefinition":
            self._items["crds"].append(read_crd(msgspec.Raw(msgspec.json.encode(doc))))
        elif kind != "ClusterRoleBinding":  # roles are filed as bound
            part, projection = PARTS[kind]
            item = msgspec.convert(doc, projection)
            if kind == "DaemonSet":
                same = (item.namespace, item.name)
                self._items[part] = [one for one in self._items[part] if (one.namespace, one.name) != same]
            self._items[part].append(item)
            self._served[part] = doc["apiVersion"]

    def _file_pod(self, doc: JsonMap) -> None:
        self._fold.add([msgspec.Raw(msgspec.json.encode(doc))])
        if doc["metadata"].get("labels", {}).get("app.kubernetes.io/name") == "karpenter":
            self._items["controller_pods"].append(msgspec.convert(doc, o.ControllerPod))

    def _file_deployment(self, doc: JsonMap) -> None:
        one = msgspec.convert(doc, o.Workload)
        if is_controller(one):
            self._items["controller"].append(one)
        if names_karpenter(one) or is_other_autoscaler(one) or is_network_plugin(one) or claims_devices(one):
            self._items["deployments"].append(one)


def an_empty_cluster() -> ACluster:
    """Returns a cluster in which everything was read and nothing was found."""
    return ACluster()


def a_cluster(version: str = "0.37.8", *, kubernetes: str = "1.29", **install: Any) -> ACluster:
    """Returns a cluster that runs that release as its charts install it, without pools, claims and nodes of
    Karpenter.
    """
    made = ACluster().with_kubernetes(server_version(kubernetes)["gitVersion"])
    chosen = Install(cluster="test", version=version, **install)
    docs = controller(chosen, [NODE])
    return made.with_docs(aws_node(), *docs, *namespaces_of(docs), *helm_crds(version, namespace=chosen.namespace))


def aws_node(**env: str) -> JsonMap:
    """Returns the DaemonSet of the VPC CNI with these settings; a cluster has one of them, the last that it got."""
    (container,) = containers("aws-node", "amazon-k8s-cni:v1.18.3")
    container["env"] = [{"name": name, "value": value} for name, value in env.items()]
    pod = template({"app": "aws-node"}, {"hostNetwork": True, "containers": [container]})
    return workload("DaemonSet", "aws-node", namespace="kube-system", replicas=2, pod=pod)


def helm_crds(version: str, *, namespace: str = "kube-system", stored: tuple[str, ...] = ()) -> list[JsonMap]:
    """Returns the CRDs of a release as the chart karpenter-crd installs them beside the controller."""
    shipped = crd_set(release(version))
    service = (namespace, "karpenter") if shipped and shipped.crd_chart_converts else ()
    marks = helm_marks("karpenter-crd", namespace)
    return crds(Crds(version=version, service=service, stored=stored, labels=HELM_LABEL, annotations=marks))


def path_hop_at(hop: str, *, start: str = "0.37.8", kubernetes: str | None = "1.29") -> PathHop:
    """Returns that hop of the path from `start` to the newest release. Raises LookupError if there
    is none.

    If that path skips the minor, as it may once newer minors are known, the hop is taken from a path that ends at the
    minor.
    """
    found = path(start, kubernetes=kubernetes)
    if hop not in found.hop_names and find(hop) is not None and hop not in HOPS:
        found = path(start, target=hop, kubernetes=kubernetes)
    path_hop = next((path_hop for path_hop in found.hops if path_hop.name == hop), None)
    if path_hop is None:
        raise LookupError(f"the path from {start} has no hop {hop}: {found.hop_names}")
    return path_hop


def case_at(hop: str, cluster: ACluster, *, start: str = "") -> CheckContext:
    """Returns the check context of that hop; the path begins at the running release, or at `start` if the running
    release is unknown.
    """
    inventory = cluster.build()
    running = facts.detect_running_release(inventory)
    version = next((one.git_version for one in inventory.version.items), "")
    path_hop = path_hop_at(hop, start=start or str(running.release), kubernetes=kubernetes_minor(version))
    return CheckContext(inventory, path_hop, running, stage_of(inventory, running), NOW)


def finding_of(check: str, hop: str, cluster: ACluster, *, start: str = "") -> Finding:
    """Returns the finding of that check at that hop. Raises LookupError if the check is not asked there."""
    chosen = next(one for one in all_checks() if one.id == check)
    found = run([chosen], case_at(hop, cluster, start=start))
    if not found:
        raise LookupError(f"{check} is not asked at {hop}")
    return found[0]


def result_of(check: str, hop: str, cluster: ACluster, *, start: str = "") -> tuple[str, str, tuple[Evidence, ...]]:
    """Returns status, summary and evidence: all that a test of a check's judgement compares."""
    found = finding_of(check, hop, cluster, start=start)
    return found.status, found.summary, found.evidence


def remedies(check: str, hop: str, cluster: ACluster, *, start: str = "") -> tuple[Remedy, ...]:
    """Returns the remedies that the check writes itself, without the actions that it names (see test_runner)."""
    return tuple(one for one in finding_of(check, hop, cluster, start=start).remedies if one.how != "action")


def without_changes(found: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """Returns the remedies without their changes."""
    return tuple(msgspec.structs.replace(one, change=msgspec.UNSET) for one in found)


def helm_values_of(remedy: Remedy, *, when: ChangeTime = "landing", version: str = "") -> Mapping[str, str]:
    """Returns the values that the remedy changes in the release karpenter, key to value as JSON; asserts time and
    version.
    """
    assert isinstance(remedy.change, HelmChange)
    where = (remedy.change.chart, remedy.change.release, remedy.change.namespace)
    assert where == ("karpenter", "karpenter", "kube-system")
    assert (remedy.change.when, remedy.change.version) == (when, version)
    return remedy.change.given


def reads(check: str) -> tuple[str, ...]:
    """Returns the parts that the check needs."""
    return next(one for one in all_checks() if one.id == check).reads


def result_without(check: str, hop: str, cluster: ACluster, *, part: str) -> tuple[str, str]:
    """Returns status and summary if that part could not be read; the path is that of the cluster with the part."""
    running = facts.detect_running_release(cluster.build()).release
    found = finding_of(check, hop, cluster.unseen(part), start=str(running))
    return found.status, found.summary


def asked_hops(check: str) -> tuple[str, ...]:
    """Returns the hops at which that check is asked; ("*",) is every hop."""
    return next(one for one in all_checks() if one.id == check).hops
