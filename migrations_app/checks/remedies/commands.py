"""Writes a change as remedies for each tool, with the real names; the remedy for the tool that manages the object comes
first.

Also grants missing Kubernetes permissions to the controller.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from migrations_app.checks.base import CheckContext, Evidence, Remedy, RemedyTool
from migrations_app.checks.changes import (
    Change,
    ChangeTarget,
    ChangeTime,
    HelmChange,
    HelmValue,
    KarpdashAction,
    ObjectApply,
    ObjectDelete,
    PersonTask,
    group,
)
from migrations_app.checks.render import argocd, aws_cli, cloudformation, flux, helm, terraform
from migrations_app.checks.render import kubectl as kubectl_lines
from migrations_app.checks.render.charts import chart_as_code
from migrations_app.checks.render.helm import Upgrade, crd_upgrade, upgrade_lines
from migrations_app.checks.render.lines import task_lines
from migrations_app.checks.render.sources import source_note
from migrations_app.checks.shell import json_word, note, words
from migrations_app.inventory.facts.controller import (
    ABSENT,
    CHART,
    CRD_CHART,
    VARIABLES,
    given_values,
    helm_release,
    installation,
    value_at,
    variables_without,
)
from migrations_app.inventory.facts.managers import BY_HAND, Managed, Manager, managed
from migrations_app.inventory.facts.rbac import missing_rights, per_target
from migrations_app.inventory.facts.workloads import workload
from migrations_app.inventory.inventory import Inventory
from migrations_app.inventory.objects.cluster import ClusterRole
from migrations_app.inventory.objects.karpenter import NamedObject
from migrations_app.inventory.parts import Seen
from migrations_app.karpenter.kinds import Kind
from migrations_app.karpenter.releases import as_tag, crd_set
from migrations_app.karpenter.tables.rbac_rows import RbacRight
from migrations_app.karpenter.versions import Release
from migrations_app.manifests import JsonMap
from migrations_app.manifests.patches import merge_patch_at
from migrations_app.manifests.text_lines import one_line

FIRST: dict[Manager, RemedyTool] = {
    "flux": "flux",
    "argocd": "argocd",
    "terraform": "terraform",
    "eksctl": "kubectl",
    "helm": "helm",
    "hand": "kubectl",
}
NAMES_SHOWN = 20
Needs = tuple[str, ...]
Guard = tuple[tuple[str, ...], ...]
_TYPED = re.compile(r"true|false|0|[1-9]\d{0,17}")
"""Text that Helm's --set reads as a boolean or a number."""


def ordered(by: Managed, remedies: Iterable[Remedy]) -> tuple[Remedy, ...]:
    """The remedies, sorted so that those for the tool that manages the object come first."""
    return tuple(sorted(remedies, key=lambda remedy: remedy.how != FIRST[by.by]))


def remedies_of(change: Change, manager: Managed, *, target_release: str = "the target version") -> tuple[Remedy, ...]:
    """One remedy for every tool that can make the change; remedies for the tool that manages the object come first.
    Empty if no tool can. `target_release` is the target version of the hop, named in texts about chart values."""
    texts: tuple[tuple[RemedyTool, str], ...] = (
        ("kubectl", kubectl_lines.text(change)),
        ("helm", helm.text(change, manager, target_release=target_release)),
        ("iam", aws_cli.text(change)),
        ("terraform", terraform.text(change, manager)),
        ("flux", flux.text(change, manager)),
        ("argocd", argocd.text(change, manager)),
        ("iam", cloudformation.text(change)),
    )
    remedies = [Remedy(how=how, text=text, change=change) for how, text in texts if text]
    if isinstance(change, KarpdashAction):
        text = f"Action {one_line(change.action)} of karpdash"
        remedies.append(Remedy(how="action", text=text, action=change.action, change=change))
    return ordered(manager, remedies)


def after_task(task: PersonTask, remedies: Iterable[Remedy]) -> Iterator[Remedy]:
    """The remedies, each after the task that a person does first. The task stands with every tool, because a reader
    sees the remedies of one tool."""
    for remedy in remedies:
        yield Remedy(how=remedy.how, text="\n".join(task_lines(task)), change=task)
        yield remedy


def in_cluster(change: Change) -> Remedy:
    """The change as kubectl commands, whatever manages the object. Raises ValueError if kubectl cannot make it."""
    text = kubectl_lines.text(change)
    if not text:
        raise ValueError("kubectl cannot make this change")
    return Remedy(how="kubectl", text=text, change=change)


def in_aws(change: Change) -> Remedy:
    """The change as commands of the aws program. Raises ValueError if the program cannot make it."""
    text = aws_cli.text(change)
    if not text:
        raise ValueError("the aws program cannot make this change")
    return Remedy(how="iam", text=text, change=change)


def names(evidence: Iterable[Evidence]) -> str:
    """The distinct names in the evidence as shell words; a long list ends in three dots."""
    all_names = dict.fromkeys(row.name for row in evidence)
    return words(names_shown(evidence)) + (" ..." if len(all_names) > NAMES_SHOWN else "")


def names_shown(evidence: Iterable[Evidence]) -> list[str]:
    """The distinct names in the evidence, unquoted, at most NAMES_SHOWN."""
    return list(dict.fromkeys(row.name for row in evidence))[:NAMES_SHOWN]


def merge_patch_word(path: str, leaf: object) -> str:
    """A merge patch that sets the value at a dotted path, quoted as the argument of kubectl patch -p."""
    return json_word(merge_patch_at(path, leaf))


def workload_manager(inventory: Inventory, row: Evidence) -> Managed:
    """The tool that manages the workload that the evidence names."""
    owner = workload(inventory, kind=row.kind, namespace=row.namespace, name=row.name)
    return managed(owner.metadata) if owner else Managed("hand")


def kubectl(*lines: str) -> Remedy:
    """A kubectl remedy of these lines; empty lines are dropped. Line breaks inside a line are removed, so that a
    comment cannot start a command."""
    return Remedy(how="kubectl", text="\n".join(map(one_line, filter(None, lines))))


def chart_values(
    case: CheckContext,
    settings: Mapping[str, object],
    *,
    about: str = "",
    to: Release | None = None,
    when: ChangeTime = "landing",
) -> tuple[Remedy, ...]:
    """Remedies that set these values of the chart karpenter, one for each tool; an empty text removes the value.

    The texts true, false and numbers are typed values, as with Helm's --set. `to` is the release that the chart has to
    be upgraded to before the hop. Without values, `about` says what to change.
    """
    values = tuple(HelmValue(key, as_json(value), about) for key, value in settings.items())
    return helm_remedies(case, values, about="" if values else about, to=to, when=when)


def helm_remedies(
    case: CheckContext,
    values: tuple[HelmValue, ...],
    *,
    about: str = "",
    to: Release | None = None,
    when: ChangeTime = "landing",
    chart: str = CHART,
) -> tuple[Remedy, ...]:
    """Remedies that change these values of one of the two charts, one for each tool. `when` is "before" if `to` is
    given."""
    controller = installation(case.inventory)
    by = controller.managed if controller else Managed("hand")
    release, namespace = _release_of(case, chart)
    version = max(to, case.hop.start) if to else None
    change = HelmChange(
        chart=chart, release=release, namespace=namespace, when="before" if to else when, why=about,
        version=str(version or ""), values=values,
    )  # fmt: skip
    # The delivery object found belongs to the chart karpenter, not to karpenter-crd.
    owner = by if chart == CHART else Managed(by.by)
    return remedies_of(change, owner, target_release=str(case.hop.release))


def variable_remedies(
    case: CheckContext, variable: str, *, setting: str, value: str, when: ChangeTime = "landing"
) -> tuple[Remedy, ...]:
    """Remedies by which the chart gives a variable of the controller the value of its setting. The chart writes the
    variables in controller.env last: where the variable is among them, it is taken out."""
    values = given_values(case.inventory)
    rows = value_at(values.tree, VARIABLES) if values else None
    is_added = isinstance(rows, list) and any(isinstance(row, dict) and row.get("name") == variable for row in rows)
    change = HelmValue(setting, as_json(value))
    if values is None or not is_added:
        also = f"where {VARIABLES} has {variable}, take it out there: it overrides this value"
        return helm_remedies(case, (change,), about="" if values else also, when=when)
    variables = variables_without(case.inventory, frozenset((variable,)))
    if variables is None:
        return helm_remedies(case, (), about=f"take {variable} out of {VARIABLES}", when="person")
    removal = HelmValue(VARIABLES, json.dumps(variables), f"without {variable}, which overrides {setting}")
    is_given = value_at(values.tree, setting) is not ABSENT
    return helm_remedies(case, (removal, change) if is_given else (removal,), when=when)


def _release_of(case: CheckContext, chart: str) -> tuple[str, str]:
    """Name and namespace of the Helm release of that chart, from its record or the controller's labels."""
    controller = installation(case.inventory)
    release, namespace = (controller.release_name, controller.namespace) if controller else (CHART, "kube-system")
    record = helm_release(case.inventory, chart=CRD_CHART) if chart == CRD_CHART else None
    if record:
        return record.name, record.namespace
    return (CRD_CHART if chart == CRD_CHART else release), namespace


def as_json(value: object) -> str:
    """The value as JSON; empty for an empty text, which removes the value."""
    if value == "":
        return ""
    return value if isinstance(value, str) and _TYPED.fullmatch(value) else json.dumps(value, ensure_ascii=False)


def release_at_start(case: CheckContext) -> Release | None:
    """The release at the start of the hop: the running version, or the target version of an earlier hop."""
    return max(case.running.release, case.hop.start) if case.running.release else None


def crd_chart_remedies(case: CheckContext, to: Release | None) -> tuple[Remedy, ...]:
    """Remedies that upgrade the CRDs with the chart karpenter-crd, one for each tool; without `to`, to the release at
    the start of the hop."""
    controller, version = installation(case.inventory), to or case.hop.start
    release, namespace = _release_of(case, CRD_CHART)
    with_upgrade = version >= case.hop.release
    change = HelmChange(
        chart=CRD_CHART, release=release, namespace=namespace, when="landing" if with_upgrade else "before",
        version=str(version), why=f"the CRDs of {version}", done=f"each CRD is that of {version}",
        needs=("stored_versions_clean",) if "v1beta1" in dropped_versions(case.inventory, version) else (),
    )  # fmt: skip
    by = controller.managed if controller else Managed("hand")
    remedies = crd_upgrade_remedies(by, crd_upgrade(release, namespace=namespace, version=as_tag(version)))
    return tuple(replace(remedy, change=change) for remedy in remedies)


def dropped_versions(inventory: Inventory, version: Release) -> frozenset[str]:
    """The versions that are listed as stored and that the CRDs of that release lack: the API server refuses such CRDs.
    kubernetes/apiextensions-apiserver@v0.30.0:pkg/apis/apiextensions/validation/validation.go."""
    shipped = crd_set(version)
    served = {row.name: row.served for row in shipped.crds} if shipped else {}
    return frozenset(
        one for crd in inventory.crds.items if crd.name in served for one in crd.stored if one not in served[crd.name]
    )


def crd_upgrade_remedies(by: Managed, upgrade: Upgrade) -> tuple[Remedy, ...]:
    """Remedies that upgrade the CRDs with the given Helm upgrade, or as code for the tools."""
    helm = Remedy(how="helm", text=upgrade_lines(upgrade))
    code = chart_as_code(CRD_CHART, version=upgrade.version, namespace=upgrade.namespace)
    return ordered(by, (helm, *code))


def deletion_remedies(
    target: ChangeTarget,
    objects: Sequence[NamedObject],
    *,
    first: str = "",
    when: ChangeTime = "after",
    needs: Needs = (),
    by: Managed | None = None,
    guard: Callable[[NamedObject], Guard] = lambda _item: (),
) -> tuple[Remedy, ...]:
    """Remedies that delete these objects: first from their source, if a tool would recreate them. The name in `target`
    is replaced by that of each object; `first` is a note before the commands; `by` is the tool that manages them if
    their metadata does not show it; `guard` is what has to succeed right before the deletion of an object."""
    by = by or next((item for item in map(managed, (item.metadata for item in objects)) if item.by != "hand"), BY_HAND)
    listed = words(item.name for item in objects[:NAMES_SHOWN]) + (" ..." if len(objects) > NAMES_SHOWN else "")
    steps = (
        ObjectDelete(
            target=replace(target, name=item.name), when=when, needs=needs, done=f"{target.kind} {item.name} is gone",
            final="the object is deleted; its source or a backup recreates it", guard=guard(item),
        )
        for item in objects
    )  # fmt: skip
    task = f"take {target.resource or target.kind.lower()} {listed} out"
    return remedies_of(group(*steps, what=task, notes=(first,) if first else ()), by)


def none_left(resource: str) -> Guard:
    """A pipe that succeeds only if the API server answers that no object of the kind exists."""
    every = ("kubectl", "get", resource, "-o", "jsonpath={.kind}{.items[*].metadata.name}")
    return every, ("grep", "-qx", "List")


def none_left_where_served(kind: Kind, inventory: Inventory) -> Guard:
    """As `none_left`; empty if the cluster was seen to have no CRD of the kind: its server would not answer."""
    crds = inventory.crds
    unserved = isinstance(crds, Seen) and all(crd.name != kind.crd_name for crd in crds.items)
    return () if unserved else none_left(kind.crd_name)


def with_cluster_commands(remedies: Sequence[Remedy], cluster_change: Change) -> tuple[Remedy, ...]:
    """The remedies with the commands of `cluster_change` added as comments for Flux, Argo CD and Terraform: that part
    of the change is in no source, for instance an annotation that Karpenter wrote."""
    lines = [note(f"Then {line}") for line in kubectl_lines.text(cluster_change).splitlines()]
    sources = ("flux", "argocd", "terraform")
    return tuple(
        replace(remedy, text="\n".join((remedy.text, *lines))) if remedy.how in sources else remedy
        for remedy in remedies
    )


def source_remedies(by: Managed, what: str) -> tuple[Remedy, ...]:
    """What to change in the source that the tool applies; empty for objects managed by hand or by a tool without a
    source."""
    text = source_note(by, what)
    return (Remedy(how=FIRST[by.by], text=text),) if text else ()


LACKING = "karpenter-lacking"
"""Name of the ClusterRole and binding with permissions that the controller's own roles lack."""


def grant_permissions(case: CheckContext, rights: Iterable[RbacRight], *, name: str = LACKING) -> Remedy:
    """Grants the controller these permissions with an additional ClusterRole of that name.

    `kubectl apply` replaces the rules of a role: where the controller has a role of that name, its rules are kept.
    """
    own = [role for role in case.inventory.controller_rbac.items if role.metadata.name == name]
    if own:
        return in_cluster(_addition(own, rights, name=name))
    controller = installation(case.inventory)
    account = (controller and controller.workload.template.spec.service_account_name) or "default"
    home = controller.namespace if controller else "kube-system"
    binding = {
        **_rbac("ClusterRoleBinding", name),
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": home}],
    }
    role = {**_rbac("ClusterRole", name), "rules": _rules(rights)}
    note = "Gives the controller the rights it lacks; the roles that it has stay as they are"
    return in_cluster(group(*map(_creation, (role, binding)), notes=(note,)))


def _addition(own: Sequence[ClusterRole], rights: Iterable[RbacRight], *, name: str) -> ObjectApply:
    """The role of that name with its present rules and with those that it lacks."""
    kept: list[JsonMap] = [msgspec.to_builtins(rule) for role in own for rule in role.rules or ()]
    added = _rules(missing_rights(own, rights))
    return ObjectApply(
        manifest={**_rbac("ClusterRole", name), "rules": [*kept, *added]},
        notes=(f"Adds rights that the controller lacks to its ClusterRole {name}; the rules that it has stay",),
        undo=ObjectApply(manifest={**_rbac("ClusterRole", name), "rules": kept}),
        done=f"ClusterRole {name} has the added rules",
    )


RBAC = "rbac.authorization.k8s.io"


def _rbac(kind: str, name: str) -> JsonMap:
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": {"name": name}}


def _creation(manifest: JsonMap) -> ObjectApply:
    creation = ObjectApply(manifest=manifest, done=f"{manifest['kind']} {manifest['metadata']['name']} is there")
    return replace(creation, undo=ObjectDelete(target=creation.target))


def _rules(rights: Iterable[RbacRight]) -> list[JsonMap]:
    """One rule for each API group and set of verbs, in the order of the permissions."""
    resources: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for target_rights in per_target(rights).values():
        verbs = tuple(dict.fromkeys(right.verb for right in target_rights))
        resources.setdefault((target_rights[0].group, verbs), []).append(target_rights[0].resource)
    return [{"apiGroups": [api], "resources": names, "verbs": list(verbs)} for (api, verbs), names in resources.items()]
