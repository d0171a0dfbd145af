"""What the chart of a release grants the controller: its ClusterRoles and Roles with their bindings."""

from collections.abc import Iterable
from typing import Any

from migrations_app.samples.kubernetes_objects import doc, meta

Document = dict[str, Any]
Order = tuple[int, int]

RBAC = "rbac.authorization.k8s.io"
READ, WRITE, CHANGE = ["get", "list", "watch"], ["create", "delete", "update", "patch"], ["update", "patch"]
CORE, AWS, EXTENSIONS = "karpenter.sh", "karpenter.k8s.aws", "apiextensions.k8s.io"
ADMISSION, CONVERTED = "admissionregistration.k8s.io", ["ec2nodeclasses.karpenter.k8s.aws", "nodepools.karpenter.sh"]


def _rule(group: str, resources: str, verbs: list[str], *, names: Iterable[str] = ()) -> Document:
    rule: Document = {"apiGroups": [group], "resources": resources.split(), "verbs": verbs}
    return rule | ({"resourceNames": list(names)} if names else {})


def _both(plurals: str) -> str:
    return " ".join(f"{one} {one}/status" for one in plurals.split())


def core_rules(order: Order, *, webhooks: bool) -> list[Document]:
    """The rules of the ClusterRole karpenter-core."""
    return [*_reads(order, webhooks=webhooks), *_writes(order), *(_of_webhooks(order) if webhooks else ())]


def _reads(order: Order, *, webhooks: bool) -> list[Document]:
    rules = [_rule(CORE, _both("provisioners machines"), READ)] if order <= (0, 32) else []
    rules += [_rule(CORE, _both("nodepools nodeclaims"), READ)] if order >= (0, 32) else []
    rules += [_rule(CORE, _both("nodeoverlays"), READ)] if order >= (1, 7) else []
    if order >= (1, 14):
        rules += [_rule("autoscaling.x-k8s.io", _both("capacitybuffers"), READ), _rule("", "podtemplates", READ)]
    attached = " volumeattachments" if order >= (1, 0) else ""
    rules += [
        _rule("", "pods nodes persistentvolumes persistentvolumeclaims replicationcontrollers namespaces", READ),
        _rule("storage.k8s.io", "storageclasses csinodes" + attached, ["get", "watch", "list"]),
        _rule("apps", "daemonsets deployments replicasets statefulsets", READ if order >= (1, 14) else READ[1:]),
        _rule("policy", "poddisruptionbudgets", READ),
    ]
    if webhooks and (0, 33) <= order < (1, 0):
        rules.append(_rule(EXTENSIONS, "customresourcedefinitions", ["watch", "list"]))
    if webhooks and order == (1, 0):
        rules.append(_rule(EXTENSIONS, "customresourcedefinitions", ["get", "watch", "list"]))
    return [*rules, _rule("", "events", READ)] if order >= (1, 1) else rules


def _writes(order: Order) -> list[Document]:
    ended = WRITE if order >= (0, 29) else ["create", "delete", "patch"]
    rules = [_rule(CORE, _both("machines"), ended)] if order <= (0, 32) else []
    rules += [_rule(CORE, _both("provisioners"), CHANGE)] if (0, 30) <= order <= (0, 32) else []
    if order >= (0, 32):
        rules += [_rule(CORE, _both("nodeclaims"), WRITE), _rule(CORE, _both("nodepools"), CHANGE)]
    rules += [_rule(CORE, "nodeoverlays/status", CHANGE)] if order >= (1, 7) else []
    rules += [_rule("autoscaling.x-k8s.io", "capacitybuffers/status", CHANGE)] if order >= (1, 14) else []
    nodes = ["patch", "delete", *(["create"] if order <= (0, 33) else []), *(["update"] if order >= (1, 0) else [])]
    rules += [
        _rule("", "events", ["create", "patch"]),
        _rule("", "nodes", nodes),
        _rule("", "pods/eviction", ["create"]),
    ]
    return [*rules, _rule("", "pods", ["delete"])] if order >= (1, 0) else rules


def _of_webhooks(order: Order) -> list[Document]:
    converted = [*CONVERTED, "nodeclaims.karpenter.sh"]
    rules = []
    if order < (1, 0):
        hooks = "validatingwebhookconfigurations mutatingwebhookconfigurations"
        own = ["validation.webhook.karpenter.sh", "validation.webhook.config.karpenter.sh"]
        rules += [
            _rule(ADMISSION, hooks, ["get", "watch", "list"]),
            _rule(ADMISSION, hooks.split()[0], ["update"], names=own),
        ]
    if order >= (0, 33):
        rules.append(_rule(EXTENSIONS, "customresourcedefinitions", ["update"], names=converted))
    if order == (1, 0):
        rules.append(_rule(EXTENSIONS, "customresourcedefinitions/status", ["patch"], names=converted))
    return rules


def aws_rules(order: Order, *, webhooks: bool) -> list[Document]:
    """The rules of the ClusterRole karpenter."""
    old = ["awsnodetemplates"] if order <= (0, 32) else []
    new = ["ec2nodeclasses"] if order >= (0, 32) else []
    changed = [] if order >= (0, 30) else ["awsnodetemplates/status"]
    changed = changed or _both(" ".join(old + new)).split()
    rules = [_rule(AWS, " ".join(old + new), READ), _rule(AWS, " ".join(changed), ["patch", "update"])]
    if webhooks and order < (1, 0):
        for kind, name in (("validating", "validation"), ("mutating", "defaulting")):
            own = f"{name}.webhook.karpenter.k8s.aws"
            rules.append(_rule(ADMISSION, f"{kind}webhookconfigurations", ["update"], names=[own]))
    return rules


def home_rules(order: Order, *, webhooks: bool) -> list[Document]:
    """The rules of the Role in the controller's namespace."""
    lease = "coordination.k8s.io"
    rules = [_rule(lease, "leases", ["get", "watch"])]
    if webhooks:
        rules += [
            _rule("", "configmaps secrets" + (" namespaces" if order <= (0, 32) else ""), READ),
            _rule("", "secrets", ["update"], names=["karpenter-cert"]),
        ]
    held = ["karpenter-leader-election"]
    return [*rules, _rule(lease, "leases", ["patch", "update"], names=held), _rule(lease, "leases", ["create"])]


def bound(name: str, rules: list[Document], *, home: str, namespace: str = "", **marks: Any) -> list[Document]:
    """A ClusterRole, or a Role of `namespace`, with its binding to the service account karpenter of `home`."""
    kind = "Role" if namespace else "ClusterRole"
    reference = {"apiGroup": RBAC, "kind": kind, "name": name}
    subjects = [{"kind": "ServiceAccount", "name": "karpenter", "namespace": home}]
    return [
        doc(f"{RBAC}/v1", kind, metadata=meta(name, namespace, **marks), rules=rules),
        doc(
            f"{RBAC}/v1",
            f"{kind}Binding",
            metadata=meta(name, namespace, **marks),
            roleRef=reference,
            subjects=subjects,
        ),
    ]
