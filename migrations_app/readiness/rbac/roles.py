"""What a scan must be allowed to read in a cluster, and the ClusterRole that grants it. Read only, nothing else.

The published ClusterRoles: what a scan may read, and the least that actions may do, made from the declarations.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from migrations_app.actions.base import Action
from migrations_app.actions.changes import RbacNeed
from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind
from migrations_app.karpenter.release_facts import ADMISSION_WEBHOOKS

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
    kinds.NAMESPACE,
    kinds.PERSISTENT_VOLUME,
    kinds.SERVICE_MONITOR,
    kinds.POD_MONITOR,
    kinds.ARGO_ROLLOUT,
    *kinds.POLICY_KINDS,
    kinds.GATEKEEPER_CONSTRAINT,
    *kinds.FLUX_SOURCES,
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
    "namespaces": (kinds.NAMESPACE,),
    "volumes": (kinds.PERSISTENT_VOLUME,),
    "monitors": (kinds.SERVICE_MONITOR, kinds.POD_MONITOR),
    "argo_rollouts": (kinds.ARGO_ROLLOUT,),
    "policies": (*kinds.POLICY_KINDS, kinds.GATEKEEPER_CONSTRAINT),
    "sources": kinds.FLUX_SOURCES,
}
"""Which kinds a part is read from; `version` and `discovery` are open to every signed-in client."""


@dataclass(frozen=True, slots=True)
class Missing:
    """A kind that may not be listed, or with another `verb` an object that may not be read."""

    group: str
    plural: str
    verb: str = "list"
    name: str = ""

    @property
    def words(self) -> str:
        """Such as `list pods` or `get namespaces kube-system`."""
        full = f"{self.plural}.{self.group}" if self.group else self.plural
        return f"{self.verb} {full} {self.name}".rstrip()


def kinds_of(parts: Iterable[str]) -> tuple[Missing, ...]:
    """The kinds behind parts that could not be read, each once."""
    missings = (Missing(kind.group, kind.plural) for name in parts for kind in PART_KINDS.get(name, ()))
    return tuple(dict.fromkeys(missings))


def everything() -> tuple[Missing, ...]:
    """All that a scan reads, for the ClusterRole of a new cluster."""
    return tuple(Missing(kind.group, kind.plural) for kind in READ)


SCAN = "karpdash-scan"
RELEASES = "karpdash-scan-releases"
ACT = "karpdash-act"
SCAN_BOUND = "What a scan reads; it replaces a role of this name by the whole one. Bind it with a ClusterRoleBinding."
RELEASES_BOUND = """Helm's release records are Secrets. Bind this one with a RoleBinding in the namespace of
Karpenter's release, never with a ClusterRoleBinding: it would open every Secret of the cluster."""

NARROWED: dict[tuple[str, str], tuple[str, ...]] = {
    (kinds.CRD.group, kinds.CRD.plural): tuple(kind.crd_name for kind in kinds.KARPENTER_KINDS),
    **{
        (row.group, row.plural): tuple(admission.name for admission in ADMISSION_WEBHOOKS if admission.kind == row.kind)
        for row in (kinds.MUTATING_WEBHOOKS, kinds.VALIDATING_WEBHOOKS)
    },
}
"""Objects whose names are known beforehand: a rule about them names them. RBAC cannot do that for `create`."""

PICTURE = (kinds.NODE, kinds.POD, kinds.DISRUPTION_BUDGET, kinds.PROVISIONER, kinds.MACHINE, kinds.NODE_CLAIM)
"""What is counted while a rollout runs."""


@dataclass(frozen=True, slots=True, order=True)
class RbacRule:
    """One rule of RBAC; without `names` it holds for every object of the resources."""

    group: str
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    @property
    def yaml(self) -> str:
        resources = ", ".join('"*"' if name == "*" else name for name in self.resources)
        text = f'  - apiGroups: ["{self.group}"]\n    resources: [{resources}]\n'
        if self.names:
            text += "    resourceNames:\n" + "".join(f"      - {name}\n" for name in self.names)
        return f"{text}    verbs: [{', '.join(self.verbs)}]\n"


IDENTITY = RbacRule("", ("namespaces",), ("get",), ("kube-system",))
"""The uid of kube-system tells one cluster from another (A05)."""
REVIEWS = RbacRule("authorization.k8s.io", ("selfsubjectaccessreviews",), ("create",))
"""Asking the server what one may do; most clusters let everybody."""


UNCHANGED = RbacRule("", tuple(sorted(kind.plural for kind in (kinds.NODE, kinds.POD))), ("watch",))
"""Proves that a long list has not changed; without it the list is read whole each time. Not through an agent."""


def scan_rules() -> tuple[RbacRule, ...]:
    """Lists, and nothing else; Secrets are apart, for one namespace."""
    return (IDENTITY, REVIEWS, *_lists(kind for kind in READ if kind is not kinds.SECRET))


def direct_rules() -> tuple[RbacRule, ...]:
    """The same for a cluster that is reached directly, and what tells whether two long lists have changed."""
    return (*scan_rules(), UNCHANGED)


def release_rules() -> tuple[RbacRule, ...]:
    """Helm's release records are Secrets: to be bound by a RoleBinding in the namespaces of Karpenter's releases."""
    return _lists((kinds.SECRET,))


def act_rules(actions: Iterable[Action]) -> tuple[RbacRule, ...]:
    """What the requests of those actions ask for, reading their objects again, and the picture of a run. Actions with
    a role of their own are left out.
    """
    declared = {need for action in actions if not action.role for need in action.may}
    read = {RbacNeed(verb="get", group=need.group, plural=need.plural) for need in declared}
    return (IDENTITY, REVIEWS, *_lists(PICTURE), *merged_rules(declared | read))


def scan_roles(missing: Iterable[Missing]) -> str:
    """The published roles that grant what is missing, as YAML; empty when nothing is.

    Each is whole: a role of the same name with less in it would take rights away. Secrets are never part of the
    ClusterRole that is bound for the whole cluster.
    """
    secret = Missing(kinds.SECRET.group, kinds.SECRET.plural)
    missing_roles = set(missing)
    texts = [manifest(SCAN, direct_rules(), comment=SCAN_BOUND)] if missing_roles - {secret} else []
    texts += [manifest(RELEASES, release_rules(), comment=RELEASES_BOUND)] if secret in missing_roles else []
    return "---\n".join(texts)


def _lists(rows: Iterable[Kind]) -> tuple[RbacRule, ...]:
    by_group: dict[str, list[str]] = {}
    for kind in rows:
        by_group.setdefault(kind.group, []).append(kind.plural)
    return tuple(RbacRule(group, tuple(sorted(plurals)), ("list",)) for group, plurals in sorted(by_group.items()))


def merged_rules(needs: Iterable[RbacNeed]) -> tuple[RbacRule, ...]:
    """Resources of a group with the same verbs share a rule; two rules where `create` cannot be narrowed to names."""
    verbs: dict[tuple[str, str, tuple[str, ...]], set[str]] = {}
    for need in needs:
        names = () if need.verb == "create" else NARROWED.get((need.group, need.plural), ())
        resource = f"{need.plural}/{need.subresource}" if need.subresource else need.plural
        verbs.setdefault((need.group, resource, names), set()).add(need.verb)
    alike: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (group, resource, names), verbs_of_resource in verbs.items():
        alike.setdefault((group, tuple(sorted(verbs_of_resource)), names), []).append(resource)
    return tuple(
        sorted(
            RbacRule(group, tuple(sorted(verbs_of_resource)), resources, names)
            for (group, resources, names), verbs_of_resource in alike.items()
        )
    )


def manifest(name: str, rules: Iterable[RbacRule], *, comment: str) -> str:
    """A ClusterRole as YAML behind a comment."""
    lines = "".join(f"# {line}\n" for line in comment.splitlines())
    head = f"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: {name}\n"
    return f"{lines}{head}rules:\n{body(rules)}"


def body(rules: Iterable[RbacRule]) -> str:
    """The rules alone, as YAML: for whoever names the role otherwise."""
    return "".join(rule.yaml for rule in rules)
