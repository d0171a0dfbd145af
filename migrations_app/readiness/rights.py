"""What a scan must be allowed to read in a cluster, and the ClusterRole that grants it. Read only, nothing else."""

from collections.abc import Iterable
from dataclasses import dataclass

from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind

READ: tuple[Kind, ...] = (
    kinds.CRD,
    kinds.PROVISIONER,
    kinds.AWS_NODE_TEMPLATE,
    kinds.MACHINE,
    kinds.NODE_POOL,
    kinds.EC2_NODE_CLASS,
    kinds.NODE_CLAIM,
    kinds.NODE,
    kinds.POD,
    kinds.DEPLOYMENT,
    kinds.STATEFUL_SET,
    kinds.DAEMON_SET,
    kinds.JOB,
    kinds.CRON_JOB,
    kinds.DISRUPTION_BUDGET,
    kinds.VALIDATING_WEBHOOKS,
    kinds.MUTATING_WEBHOOKS,
    kinds.CONFIG_MAP,
    kinds.SERVICE_ACCOUNT,
    kinds.SERVICE,
    kinds.ENDPOINTS,
    kinds.SECRET,
    kinds.FLUX_HELM_RELEASE,
    kinds.FLUX_KUSTOMIZATION,
    kinds.ARGO_APPLICATION,
    kinds.PROMETHEUS_RULE,
    kinds.CLUSTER_ROLE,
    kinds.CLUSTER_ROLE_BINDING,
    kinds.NETWORK_POLICY,
)
"""Secrets: only Helm's release records (label owner=helm) in Karpenter's namespaces are asked for; RBAC is coarser."""

PART_KINDS: dict[str, tuple[Kind, ...]] = {
    "crds": (kinds.CRD,),
    "provisioners": (kinds.PROVISIONER,),
    "awsnodetemplates": (kinds.AWS_NODE_TEMPLATE,),
    "machines": (kinds.MACHINE,),
    "nodepools": (kinds.NODE_POOL,),
    "ec2nodeclasses": (kinds.EC2_NODE_CLASS,),
    "nodeclaims": (kinds.NODE_CLAIM,),
    "nodes": (kinds.NODE,),
    "pods": (kinds.POD,),
    "deployments": (kinds.DEPLOYMENT,),
    "statefulsets": (kinds.STATEFUL_SET,),
    "daemonsets": (kinds.DAEMON_SET,),
    "jobs": (kinds.JOB,),
    "cronjobs": (kinds.CRON_JOB,),
    "pdbs": (kinds.DISRUPTION_BUDGET,),
    "controller": (kinds.DEPLOYMENT,),
    "controller_pods": (kinds.POD,),
    "controller_accounts": (kinds.SERVICE_ACCOUNT,),
    "services": (kinds.SERVICE,),
    "endpoints": (kinds.ENDPOINTS,),
    "settings": (kinds.CONFIG_MAP,),
    "aws_auth": (kinds.CONFIG_MAP,),
    "webhooks": (kinds.VALIDATING_WEBHOOKS, kinds.MUTATING_WEBHOOKS),
    "helm_releases": (kinds.SECRET,),
    "deliveries": (kinds.FLUX_HELM_RELEASE, kinds.FLUX_KUSTOMIZATION, kinds.ARGO_APPLICATION),
    "prometheus_rules": (kinds.PROMETHEUS_RULE,),
    "dashboards": (kinds.CONFIG_MAP,),
    "controller_rbac": (kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING),
    "network_policies": (kinds.NETWORK_POLICY,),
}
"""Which kinds a part is read from; `version` and `discovery` are open to every signed-in client."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A kind that may not be listed."""

    group: str
    plural: str


def kinds_of(parts: Iterable[str]) -> tuple[Missing, ...]:
    """The kinds behind parts that could not be read, each once."""
    found = (Missing(kind.group, kind.plural) for name in parts for kind in PART_KINDS.get(name, ()))
    return tuple(dict.fromkeys(found))


def cluster_role(missing: Iterable[Missing], *, name: str = "karpdash-scan") -> str:
    """A ClusterRole as YAML that grants `list` on those kinds; the text needs a binding to be of use."""
    by_group: dict[str, list[str]] = {}
    for kind in missing:
        by_group.setdefault(kind.group, []).append(kind.plural)
    rules = "".join(_rule(group, sorted(plurals)) for group, plurals in sorted(by_group.items()))
    head = f"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: {name}\nrules:\n"
    return head + rules if rules else ""


def everything() -> tuple[Missing, ...]:
    """All that a scan reads, for the ClusterRole of a new cluster."""
    return tuple(Missing(kind.group, kind.plural) for kind in READ)


def _rule(group: str, plurals: list[str]) -> str:
    resources = ", ".join(plurals)
    return f'  - apiGroups: ["{group}"]\n    resources: [{resources}]\n    verbs: ["list"]\n'
