"""The rules that a scan and the actions need in a cluster, computed from their declarations, and the ClusterRoles as
YAML."""

from collections.abc import Iterable
from dataclasses import dataclass

from migrations_app.actions.base import Action
from migrations_app.actions.changes import RbacNeed
from migrations_app.karpenter import kinds
from migrations_app.karpenter.kinds import Kind
from migrations_app.karpenter.release_facts import ADMISSION_WEBHOOKS

SCANNED_KINDS: tuple[Kind, ...] = (
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
    *kinds.ADMISSION_POLICIES,
    *kinds.QUERY_KINDS,
    *kinds.FLUX_SOURCES,
)
"""The kinds that a scan lists. Of Secrets only Helm's release records (label owner=helm) in Karpenter's namespaces
are read; RBAC cannot be that precise."""

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
    "cilium_config": (kinds.CONFIG_MAP,),
    "webhooks": (kinds.VALIDATING_WEBHOOKS, kinds.MUTATING_WEBHOOKS),
    "helm_releases": (kinds.SECRET,),
    "deliveries": (kinds.FLUX_HELM_RELEASE, kinds.FLUX_KUSTOMIZATION, kinds.ARGO_APPLICATION),
    "prometheus_rules": (kinds.PROMETHEUS_RULE,),
    "dashboards": (kinds.CONFIG_MAP,),
    "other_queries": kinds.QUERY_KINDS,
    "controller_rbac": (kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING),
    "network_policies": (kinds.NETWORK_POLICY,),
    "namespaces": (kinds.NAMESPACE,),
    "volumes": (kinds.PERSISTENT_VOLUME,),
    "monitors": (kinds.SERVICE_MONITOR, kinds.POD_MONITOR),
    "argo_rollouts": (kinds.ARGO_ROLLOUT,),
    "policies": (*kinds.POLICY_KINDS, kinds.GATEKEEPER_CONSTRAINT),
    "admission_policies": kinds.ADMISSION_POLICIES,
    "sources": kinds.FLUX_SOURCES,
}
"""By data source, the kinds that it is read from. Every signed-in client may read `version` and `discovery`."""


@dataclass(frozen=True, slots=True)
class MissingPermission:
    """A permission that the account lacks: to list a kind, or with another `verb` to read one object."""

    group: str
    plural: str
    verb: str = "list"
    name: str = ""

    @property
    def words(self) -> str:
        """Text such as `list pods` or `get namespaces kube-system`."""
        full = f"{self.plural}.{self.group}" if self.group else self.plural
        return f"{self.verb} {full} {self.name}".rstrip()


def kinds_of(parts: Iterable[str]) -> tuple[MissingPermission, ...]:
    """Returns the permissions to list the kinds of these data sources, each once."""
    missings = (MissingPermission(kind.group, kind.plural) for name in parts for kind in PART_KINDS.get(name, ()))
    return tuple(dict.fromkeys(missings))


def all_scan_permissions() -> tuple[MissingPermission, ...]:
    """Returns the permissions for all that a scan reads, for the ClusterRole of a new cluster."""
    return tuple(MissingPermission(kind.group, kind.plural) for kind in SCANNED_KINDS)


SCAN = "karpdash-scan"
RELEASES = "karpdash-scan-releases"
ACT = "karpdash-act"
SCAN_BOUND = "What a scan reads; it replaces a role of this name by the whole one. Bind it with a ClusterRoleBinding."
RELEASES_BOUND = """Helm's release records are Secrets. Bind this one with a RoleBinding in the namespace of
Karpenter's release, never with a ClusterRoleBinding: it would open every Secret of the cluster."""

KNOWN_NAMES: dict[tuple[str, str], tuple[str, ...]] = {
    (kinds.CRD.group, kinds.CRD.plural): tuple(kind.crd_name for kind in kinds.KARPENTER_KINDS),
    **{
        (row.group, row.plural): tuple(admission.name for admission in ADMISSION_WEBHOOKS if admission.kind == row.kind)
        for row in (kinds.MUTATING_WEBHOOKS, kinds.VALIDATING_WEBHOOKS)
    },
}
"""By group and plural, the known names of objects; rules for them are limited to these names, except for `create`."""

COUNTED_KINDS = (
    kinds.NODE,
    kinds.POD,
    kinds.DISRUPTION_BUDGET,
    kinds.PROVISIONER,
    kinds.MACHINE,
    kinds.NODE_CLAIM,
    kinds.AWS_NODE_TEMPLATE,
)
"""Kinds that are counted while a rollout runs, or right before one of its requests is sent."""


@dataclass(frozen=True, slots=True, order=True)
class RbacRule:
    """One rule of RBAC; without `names` it covers every object of the resources."""

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
"""The uid of the namespace kube-system identifies a cluster (A05)."""
REVIEWS = RbacRule("authorization.k8s.io", ("selfsubjectaccessreviews",), ("create",))
"""Lets the account ask the API server for its own permissions; most clusters allow that to everyone."""


WATCH_RULE = RbacRule("", tuple(sorted(kind.plural for kind in (kinds.NODE, kinds.POD))), ("watch",))
"""The watch proves that a long list has not changed; without it the list is read again each time. Not used by
agents."""


def scan_rules() -> tuple[RbacRule, ...]:
    """Returns the rules to list all kinds but Secrets, which have a role for one namespace."""
    return (IDENTITY, REVIEWS, *_lists(kind for kind in SCANNED_KINDS if kind is not kinds.SECRET))


def direct_rules() -> tuple[RbacRule, ...]:
    """As `scan_rules`, with the watch for a cluster that karpdash reaches without an agent."""
    return (*scan_rules(), WATCH_RULE)


def release_rules() -> tuple[RbacRule, ...]:
    """Returns the rule to list Secrets, Helm's release records; bind it in the namespaces of Karpenter's releases
    only."""
    return _lists((kinds.SECRET,))


def act_rules(actions: Iterable[Action]) -> tuple[RbacRule, ...]:
    """Returns the rules that the actions declare, with `get` for their objects and lists for the counts of a
    rollout. Actions with a role of their own are left out."""
    declared = {need for action in actions if not action.role for need in action.may}
    read = {RbacNeed(verb="get", group=need.group, plural=need.plural) for need in declared}
    return (IDENTITY, REVIEWS, *_lists(COUNTED_KINDS), *merged_rules(declared | read))


def scan_roles(missing: Iterable[MissingPermission]) -> str:
    """Returns the published roles that grant the missing permissions, as YAML; empty if none is missing.

    Each role is complete: applying a smaller role of the same name would remove permissions. Secrets are never part of
    the ClusterRole that is bound for the whole cluster.
    """
    secret = MissingPermission(kinds.SECRET.group, kinds.SECRET.plural)
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
    """Returns rules in which resources of a group with the same verbs and names share one rule."""
    verbs: dict[tuple[str, str, tuple[str, ...]], set[str]] = {}
    for need in needs:
        names = () if need.verb == "create" else KNOWN_NAMES.get((need.group, need.plural), ())
        resource = f"{need.plural}/{need.subresource}" if need.subresource else need.plural
        verbs.setdefault((need.group, resource, names), set()).add(need.verb)
    resources_by_rule: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for (group, resource, names), verbs_of_resource in verbs.items():
        resources_by_rule.setdefault((group, tuple(sorted(verbs_of_resource)), names), []).append(resource)
    return tuple(
        sorted(
            RbacRule(group, tuple(sorted(verbs_of_resource)), resources, names)
            for (group, resources, names), verbs_of_resource in resources_by_rule.items()
        )
    )


def manifest(name: str, rules: Iterable[RbacRule], *, comment: str) -> str:
    """Returns a ClusterRole as YAML with a comment before it."""
    lines = "".join(f"# {line}\n" for line in comment.splitlines())
    head = f"apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: {name}\n"
    return f"{lines}{head}rules:\n{body(rules)}"


def body(rules: Iterable[RbacRule]) -> str:
    """Returns the rules alone, as YAML, for a role with another name."""
    return "".join(rule.yaml for rule in rules)
