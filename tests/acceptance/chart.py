"""What the chart karpenter of a release puts into a cluster with the values of the guide of its time."""

import base64
import gzip
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from migrations_app.karpenter.versions import minor_order, release
from migrations_app.samples.kubernetes_objects import Strings, doc, meta
from tests.acceptance.chart_rights import Order, aws_rules, bound, core_rules, home_rules

Document = dict[str, Any]

SELECTED = {"app.kubernetes.io/name": "karpenter", "app.kubernetes.io/instance": "karpenter"}
ROLE = "arn:aws:iam::111122223333:role/{cluster}-karpenter"
SIZE = {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One release of the chart. `pod_identity`: the guide of that time gives the role without an annotation."""

    version: str
    cluster: str
    namespace: str = "kube-system"
    webhooks: bool = False
    pod_identity: bool = False

    @property
    def order(self) -> Order:
        return minor_order(release(self.version).minor)

    @property
    def tag(self) -> str:
        return f"v{self.version}" if self.order < (0, 35) else self.version

    @property
    def labels(self) -> dict[str, str]:
        own = {"helm.sh/chart": f"karpenter-{self.tag}", "app.kubernetes.io/version": self.version}
        return SELECTED | own | {"app.kubernetes.io/managed-by": "Helm"}

    @property
    def annotations(self) -> dict[str, str]:
        return {"meta.helm.sh/release-name": "karpenter", "meta.helm.sh/release-namespace": self.namespace}

    @property
    def values(self) -> Document:
        """What the guide tells people to give to Helm."""
        settings: Document = {"clusterName": self.cluster, "interruptionQueue": self.cluster}
        if self.order < (0, 32):
            settings = {
                "aws": {
                    "clusterName": self.cluster,
                    "defaultInstanceProfile": f"KarpenterNodeInstanceProfile-{self.cluster}",
                    "interruptionQueueName": self.cluster,
                }
            }
        role = {} if self.pod_identity else {"serviceAccount": {"annotations": self.role}}
        return {"settings": settings, "controller": {"resources": SIZE}} | role

    @property
    def role(self) -> dict[str, str]:
        return {} if self.pod_identity else {"eks.amazonaws.com/role-arn": ROLE.format(cluster=self.cluster)}

    @property
    def metrics_port(self) -> int:
        return 8000 if self.order < (1, 0) else 8080


def objects(chart: Chart) -> list[Document]:
    """Everything that Helm renders, and the record that it keeps."""
    return [
        deployment(chart),
        *_services(chart),
        *_rights(chart),
        *_settings(chart),
        *(_admission(chart) if chart.webhooks and chart.order < (1, 0) else ()),
        _budget(chart),
        record(chart, chart="karpenter", values=chart.values),
    ]


def _meta(chart: Chart, name: str, namespace: str | None = None, **notes: str) -> Document:
    home = chart.namespace if namespace is None else namespace
    return meta(name, home, labels=chart.labels, annotations=chart.annotations | notes)


def deployment(chart: Chart) -> Document:
    """The controller as the API server shows it."""
    notes = {"checksum/settings": "0" * 64} if chart.order <= (0, 32) else {}
    pod = {"metadata": {"labels": dict(SELECTED)} | ({"annotations": notes} if notes else {}), "spec": _pod(chart)}
    spec = {
        "progressDeadlineSeconds": 600,
        "replicas": 2,
        "revisionHistoryLimit": 10,
        "selector": {"matchLabels": dict(SELECTED)},
        "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}, "type": "RollingUpdate"},
        "template": pod,
    }
    counts = dict.fromkeys(("replicas", "readyReplicas", "availableReplicas", "updatedReplicas"), 2)
    status = {"conditions": [{"type": "Available", "status": "True"}], "observedGeneration": 3} | counts
    metadata = _meta(chart, "karpenter", **{"deployment.kubernetes.io/revision": "3"})
    return doc("apps/v1", "Deployment", metadata=metadata | {"generation": 3}, spec=spec, status=status)


def _pod(chart: Chart) -> Document:
    user = 65536 if chart.order < (0, 36) else 65532
    group = {"fsGroup": 1000 if chart.order < (0, 30) else user}
    spec: Document = {
        "affinity": _affinity(chart.order),
        "containers": [_container(chart, user=user)],
        "dnsPolicy": "Default" if chart.order < (0, 34) else "ClusterFirst",
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "priorityClassName": "system-cluster-critical",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {} if (0, 31) <= chart.order < (0, 34) else group,
        "serviceAccount": "karpenter",
        "serviceAccountName": "karpenter",
        "terminationGracePeriodSeconds": 30,
        "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
        "topologySpreadConstraints": [_spread(chart.order)],
    }
    if chart.order == (0, 32):
        spec["volumes"] = [{"name": "config-logging", "configMap": {"defaultMode": 420, "name": "config-logging"}}]
    return spec


def _affinity(order: Order) -> Document:
    keys = ["karpenter.sh/provisioner-name"] if order <= (0, 32) else []
    keys += ["karpenter.sh/nodepool"] if order >= (0, 32) else []
    term = {"matchExpressions": [{"key": key, "operator": "DoesNotExist"} for key in keys]}
    apart = {"labelSelector": {"matchLabels": dict(SELECTED)}, "topologyKey": "kubernetes.io/hostname"}
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"nodeAffinity": {required: {"nodeSelectorTerms": [term]}}, "podAntiAffinity": {required: [apart]}}


def _spread(order: Order) -> Document:
    return {
        "labelSelector": {"matchLabels": dict(SELECTED)},
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway" if order < (1, 0) else "DoNotSchedule",
    }


def _container(chart: Chart, *, user: int) -> Document:
    ports = [{"containerPort": chart.metrics_port, "name": "http-metrics", "protocol": "TCP"}]
    if chart.webhooks:
        ports += [{"containerPort": 8443, "name": "https-webhook", "protocol": "TCP"}]
        ports += (
            [{"containerPort": 8001, "name": "webhook-metrics", "protocol": "TCP"}] if chart.order > (0, 31) else []
        )
    security = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    named = {"runAsUser": user, "runAsGroup": user, "runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    mounted = [{"mountPath": "/etc/karpenter/logging", "name": "config-logging"}] if chart.order == (0, 32) else []
    return {
        "env": list(_env(chart)),
        "image": f"public.ecr.aws/karpenter/controller:{chart.tag}@sha256:" + "3d" * 32,
        "imagePullPolicy": "IfNotPresent",
        "livenessProbe": _probe("/healthz", 30),
        "name": "controller",
        "ports": [*ports, {"containerPort": 8081, "name": "http", "protocol": "TCP"}],
        "readinessProbe": _probe("/readyz", 5),
        "resources": SIZE,
        "securityContext": security | (named if chart.order >= (0, 31) else {}),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    } | ({"volumeMounts": mounted} if mounted else {})


def _probe(path: str, delay: int) -> Document:
    asked = {"httpGet": {"path": path, "port": "http", "scheme": "HTTP"}, "initialDelaySeconds": delay}
    return asked | {"failureThreshold": 3, "periodSeconds": 10, "successThreshold": 1, "timeoutSeconds": 30}


def _env(chart: Chart) -> Iterator[Document]:
    plain = {"KUBERNETES_MIN_VERSION": "1.19.0-0", "KARPENTER_SERVICE": "karpenter"}
    yield from _variables(plain | _of_webhook(chart) | _of_logs(chart.order))
    yield from _variables({"METRICS_PORT": str(chart.metrics_port), "HEALTH_PROBE_PORT": "8081"})
    field = {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
    yield {"name": "SYSTEM_NAMESPACE", "valueFrom": field}
    limit = {"containerName": "controller", "divisor": "0", "resource": "limits.memory"}
    if chart.order >= (1, 8):
        asked = {"containerName": "controller", "divisor": "1m", "resource": "requests.cpu"}
        yield {"name": "CPU_REQUESTS", "valueFrom": {"resourceFieldRef": asked}}
    yield {"name": "MEMORY_LIMIT", "valueFrom": {"resourceFieldRef": limit}}
    yield from _variables(_of_settings(chart) if chart.order >= (0, 32) else {})


def _variables(given: Strings) -> list[Document]:
    return [{"name": name, "value": value} for name, value in given.items()]


def _of_webhook(chart: Chart) -> dict[str, str]:
    if chart.order >= (1, 1):
        return {}
    on = {"WEBHOOK_PORT": "8443"} | ({"WEBHOOK_METRICS_PORT": "8001"} if chart.order >= (0, 32) else {})
    if not chart.webhooks:  # up to the last patches of 0.37 that is the default, and told by nothing
        return {"DISABLE_WEBHOOK": "true"} if chart.order == (1, 0) else {}
    return on | ({"DISABLE_WEBHOOK": "false"} if chart.order >= (0, 33) else {})


def _of_logs(order: Order) -> dict[str, str]:
    level = {"LOG_LEVEL": "debug" if order == (0, 32) else "info"} if order >= (0, 32) else {}
    paths = {"LOG_OUTPUT_PATHS": "stdout", "LOG_ERROR_OUTPUT_PATHS": "stderr"} if order >= (1, 0) else {}
    return level | paths


def _of_settings(chart: Chart) -> dict[str, str]:
    order = chart.order
    given = {"FEATURE_GATES": _gates(order), "BATCH_MAX_DURATION": "10s", "BATCH_IDLE_DURATION": "1s"}
    given |= {"ASSUME_ROLE_DURATION": "15m"} if order < (1, 0) else {}
    given |= {"PREFERENCE_POLICY": "Respect"} if order >= (1, 4) else {}
    given |= {"MIN_VALUES_POLICY": "Strict"} if order >= (1, 6) else {}
    given |= {"CLUSTER_NAME": chart.cluster, "VM_MEMORY_OVERHEAD_PERCENT": "0.075"}
    given |= {"INTERRUPTION_QUEUE": chart.cluster, "RESERVED_ENIS": "0"}
    given |= {"IGNORE_DRA_REQUESTS": "true"} if order >= (1, 8) else {}
    return given | ({"AMI_REFRESH_INTERVAL": "1m", "SUBNET_REFRESH_INTERVAL": "1m"} if order >= (1, 13) else {})


def _gates(order: Order) -> str:
    told = {"Drift": "false" if order == (0, 32) else "true"} if order < (1, 0) else {}
    told |= {"ReservedCapacity": "false" if order < (1, 6) else "true"} if order >= (1, 3) else {}
    told |= {"SpotToSpotConsolidation": "false"} if order >= (0, 34) else {}
    for first, gate in (((1, 1), "NodeRepair"), ((1, 7), "NodeOverlay"), ((1, 8), "StaticCapacity")):
        told |= {gate: "false"} if order >= first else {}
    told |= {"CapacityBuffer": "false"} if order >= (1, 14) else {}
    return ",".join(f"{gate}={value}" for gate, value in told.items())


def service_ports(chart: Chart) -> list[Document]:
    old = chart.order < (0, 29)
    ports = {"http-metrics": 8080 if old else chart.metrics_port}
    if chart.webhooks:
        ports |= {"https-webhook": 443 if old else 8443} | ({"webhook-metrics": 8001} if chart.order > (0, 31) else {})
    return [{"name": name, "port": port, "protocol": "TCP", "targetPort": name} for name, port in ports.items()]


def _services(chart: Chart) -> list[Document]:
    spec = {
        "clusterIP": "10.100.12.7",
        "clusterIPs": ["10.100.12.7"],
        "internalTrafficPolicy": "Cluster",
        "ipFamilies": ["IPv4"],
        "ports": service_ports(chart),
        "selector": dict(SELECTED),
        "sessionAffinity": "None",
        "type": "ClusterIP",
    }
    inside = {"http-metrics": chart.metrics_port, "https-webhook": 8443, "webhook-metrics": 8001}
    held = [{"name": one["name"], "port": inside[one["name"]], "protocol": "TCP"} for one in service_ports(chart)]
    addresses = [{"ip": f"192.168.{place}.20", "nodeName": f"node-{place}"} for place in (1, 2)]
    account = meta("karpenter", chart.namespace, labels=chart.labels, annotations=chart.annotations | chart.role)
    return [
        doc("v1", "Service", metadata=_meta(chart, "karpenter"), spec=spec, status={"loadBalancer": {}}),
        doc(
            "v1",
            "Endpoints",
            metadata=meta("karpenter", chart.namespace, labels=chart.labels),
            subsets=[{"addresses": addresses, "ports": held}],
        ),
        doc("v1", "ServiceAccount", metadata=account),
    ]


def _rights(chart: Chart) -> list[Document]:
    marks: dict[str, Any] = {"home": chart.namespace, "labels": chart.labels, "annotations": chart.annotations}
    kinds = {"webhooks": chart.webhooks}
    dns = [{"apiGroups": [""], "resources": ["services"], "resourceNames": ["kube-dns"], "verbs": ["get"]}]
    return [
        *bound("karpenter-core", core_rules(chart.order, **kinds), **marks),
        *bound("karpenter", aws_rules(chart.order, **kinds), **marks),
        *bound("karpenter", home_rules(chart.order, **kinds), namespace=chart.namespace, **marks),
        *bound("karpenter-dns", dns, namespace="kube-system", **marks),
    ]


def _settings(chart: Chart) -> list[Document]:
    """The ConfigMaps of the releases before 0.33, and the Secret of the webhook."""
    found = []
    if chart.order <= (0, 32):
        logging = {"zap-logger-config": '{"level": "debug"}', "loglevel.webhook": "error"}
        data = _flat(chart) if chart.order < (0, 32) else {"batchMaxDuration": "10s", "batchIdleDuration": "1s"}
        found += [
            doc("v1", "ConfigMap", metadata=_meta(chart, "karpenter-global-settings"), data=data),
            doc("v1", "ConfigMap", metadata=_meta(chart, "config-logging"), data=logging),
        ]
    if chart.webhooks:
        held = dict.fromkeys(("ca-cert.pem", "server-cert.pem", "server-key.pem"), "UkVEQUNURUQ=")
        found.append(doc("v1", "Secret", metadata=_meta(chart, "karpenter-cert"), type="Opaque", data=held))
    return found


def _flat(chart: Chart) -> dict[str, str]:
    """Every value below `settings`, defaults included, as the charts up to 0.31 write them."""
    since = {"aws.assumeRoleARN": "", "aws.assumeRoleDuration": "15m", "aws.clusterCABundle": ""}
    return (since if chart.order >= (0, 30) else {}) | {
        "aws.clusterEndpoint": "",
        "aws.clusterName": chart.cluster,
        "aws.defaultInstanceProfile": f"KarpenterNodeInstanceProfile-{chart.cluster}",
        "aws.enableENILimitedPodDensity": "true",
        "aws.enablePodENI": "false",
        "aws.interruptionQueueName": chart.cluster,
        "aws.isolatedVPC": "false",
        "aws.vmMemoryOverheadPercent": "0.075",
        "batchIdleDuration": "1s",
        "batchMaxDuration": "10s",
        "featureGates.driftEnabled": "false",
    }


def _admission(chart: Chart) -> list[Document]:
    core = {"karpenter.sh": "nodepools nodeclaims" if chart.order >= (0, 32) else "provisioners"}
    aws = {"karpenter.k8s.aws": "ec2nodeclasses" if chart.order >= (0, 32) else "awsnodetemplates"}
    return [
        _hook(chart, "validation.webhook.karpenter.sh", core),
        _hook(chart, "validation.webhook.config.karpenter.sh", {}),
        _hook(chart, "validation.webhook.karpenter.k8s.aws", aws),
        _hook(chart, "defaulting.webhook.karpenter.k8s.aws", aws, mutating=True),
    ]


def _hook(chart: Chart, name: str, watched: Strings, *, mutating: bool = False) -> Document:
    # The API server fills in 443 where the chart names no port.
    service = {"name": "karpenter", "namespace": chart.namespace, "port": 443 if chart.order < (0, 29) else 8443}
    versions = ["v1beta1"] if chart.order >= (0, 32) else ["v1alpha5", "v1alpha1"]
    rules = [
        {
            "apiGroups": [group],
            "apiVersions": versions,
            "operations": ["CREATE", "UPDATE"],
            "resources": plurals.split(),
            "scope": "*",
        }
        for group, plurals in watched.items()
    ]
    hook = {
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"caBundle": "LS0tLS1CRUdJTi0tLS0tCg==", "service": service},
        "failurePolicy": "Fail",
        "name": name,
        "rules": rules,
        "sideEffects": "None",
        "timeoutSeconds": 10,
    }
    kind = "MutatingWebhookConfiguration" if mutating else "ValidatingWebhookConfiguration"
    return doc("admissionregistration.k8s.io/v1", kind, metadata=_meta(chart, name, ""), webhooks=[hook])


def _budget(chart: Chart) -> Document:
    spec = {"maxUnavailable": 1, "selector": {"matchLabels": dict(SELECTED)}}
    status = {"currentHealthy": 2, "desiredHealthy": 1, "disruptionsAllowed": 1, "expectedPods": 2}
    return doc("policy/v1", "PodDisruptionBudget", metadata=_meta(chart, "karpenter"), spec=spec, status=status)


def record(made: Chart, *, chart: str, values: Document, manifest: str = "") -> Document:
    """The Secret in which Helm keeps the deployed release."""
    body = {
        "name": chart,
        "namespace": made.namespace,
        "version": 3,
        "info": {"status": "deployed", "first_deployed": "2026-03-02T08:00:00Z", "description": "Upgrade complete"},
        "chart": {
            "metadata": {"name": chart, "version": made.tag, "appVersion": made.version, "apiVersion": "v2"},
            "values": {},
        },
        "config": values,
        "manifest": manifest,
    }
    packed = base64.b64encode(gzip.compress(json.dumps(body, sort_keys=True).encode(), mtime=0))
    marks = {"name": chart, "owner": "helm", "status": "deployed", "version": "3", "modifiedAt": "1789000000"}
    metadata = meta(f"sh.helm.release.v1.{chart}.v3", made.namespace, labels=marks)
    data = {"release": base64.b64encode(packed).decode()}
    return doc("v1", "Secret", metadata=metadata, type="helm.sh/release.v1", data=data)
