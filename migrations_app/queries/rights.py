"""Which rights each part of a scan needs, and the rules that grant them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind

PART_KINDS: dict[str, tuple[Kind, ...]] = {
    "version": (),
    "discovery": (),
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
}
"""What a part lists. Two parts need no list: every signed-in account may read /version and the discovery documents."""
HELM_NAMESPACE = "karpenter"
ROLE = "karpdash-reader"
VERBS = "[get, list]"


@dataclass(frozen=True, slots=True)
class _Rule:
    group: str
    plurals: tuple[str, ...]

    def lines(self) -> tuple[str, ...]:
        return (
            f'  - apiGroups: ["{self.group}"]',
            f"    resources: [{', '.join(self.plurals)}]",
            f"    verbs: {VERBS}",
        )


def reader_role(parts: Iterable[str]) -> str:
    """YAML that lets an account read those parts: a ClusterRole, and a Role for Secrets. Empty for no part."""
    wanted = dict.fromkeys(kind for name in parts for kind in PART_KINDS.get(name, ()))
    secrets = [kind for kind in wanted if kind is kinds.SECRET]
    plain = [kind for kind in wanted if kind is not kinds.SECRET]
    documents = []
    if plain:
        documents.append(_document("ClusterRole", _rules(plain), namespace=""))
    if secrets:
        documents.append(_document("Role", _rules(secrets), namespace=HELM_NAMESPACE))
    return "---\n".join(documents)


def whole_role() -> str:
    """YAML of every right that a complete scan needs."""
    return reader_role(PART_KINDS)


def _rules(wanted: Sequence[Kind]) -> tuple[_Rule, ...]:
    groups: dict[str, list[str]] = {}
    for kind in wanted:
        groups.setdefault(kind.group, []).append(kind.plural)
    return tuple(_Rule(group, tuple(sorted(plurals))) for group, plurals in sorted(groups.items()))


def _document(kind: str, rules: Sequence[_Rule], *, namespace: str) -> str:
    head = ["apiVersion: rbac.authorization.k8s.io/v1", f"kind: {kind}", "metadata:", f"  name: {ROLE}"]
    if namespace:
        # Helm keeps its releases in Secrets beside the controller; nobody needs Secrets of other namespaces.
        head.append(f"  namespace: {namespace}")
    lines = [*head, "rules:", *(line for rule in rules for line in rule.lines())]
    return "\n".join(lines) + "\n"
