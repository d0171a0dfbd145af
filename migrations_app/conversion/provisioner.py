"""Provisioner to NodePool, with its requirements, and the node class of an inline provider.

Requirements include the defaults that the alpha webhook added, without keys that the new API refuses. If the
official converter changes behaviour, the old behaviour is written explicitly. Sources:
kubernetes-sigs/karpenter@v0.32.3:pkg/utils/nodepool/nodepool.go;
aws/karpenter-provider-aws@v0.32.10:pkg/apis/v1alpha5/provisioner.go (defaults); CRDs at v0.32.10 (checks).
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

from migrations_app.conversion import kubelet, metadata, quantities, schema
from migrations_app.conversion.findings import FieldPath, FindingCollector
from migrations_app.conversion.node_template import CLASS_API, class_from_spec
from migrations_app.conversion.objects import KnownNames, ObjectDraft, Options, filled, free_name, manifest, spec_of
from migrations_app.conversion.refusals import values_refusal
from migrations_app.conversion.schema import shown

MAX_IN_BETA: Final = 30
MAX_IN_V1: Final = 100  # aws/karpenter-provider-aws@v1.0.14:pkg/apis/crds/karpenter.sh_nodepools.yaml

ConvertedRequirement = dict[str, Any]


def _default(key: str, operator: str, *values: str) -> ConvertedRequirement:
    return {"key": key, "operator": operator, "values": list(values)}


_SINGLE: Final = (
    _default(metadata.OS, "In", "linux"),
    _default(metadata.ARCH, "In", "amd64"),
    _default(metadata.CAPACITY_TYPE, "In", "on-demand"),
)
_CATEGORY: Final = _default(metadata.INSTANCE_CATEGORY, "In", "c", "m", "r")
_GENERATION: Final = _default(metadata.INSTANCE_GENERATION, "Gt", "2")
_SHAPE_KEYS: Final = frozenset(
    {metadata.INSTANCE_TYPE, metadata.INSTANCE_FAMILY, metadata.INSTANCE_CATEGORY, metadata.INSTANCE_GENERATION}
)


def checked(
    requirements: list[ConvertedRequirement], path: FieldPath, *, notes: FindingCollector
) -> list[ConvertedRequirement]:
    """The requirements without those whose key the new API refuses; an impossible requirement is an error."""
    for index, requirement in enumerate(requirements):
        _check_values(requirement, (*path, index), notes=notes)
        key = requirement.get("key")
        if isinstance(key, str) and metadata.is_restricted(key):
            dropped = f"{key} {requirement.get('operator')} {requirement.get('values', [])}"
            notes.add(
                "restricted-key-dropped", (*path, index), what=f"the requirement {dropped} is refused and left out"
            )
    return [item for item in requirements if not metadata.is_restricted(item.get("key") or "")]


def _check_values(requirement: ConvertedRequirement, path: FieldPath, *, notes: FindingCollector) -> None:
    if what := values_refusal(requirement):
        notes.add("bad-type", (*path, "values"), what=what)


def check_count(
    requirements: list[ConvertedRequirement], path: FieldPath, *, notes: FindingCollector, v1: bool
) -> None:
    """Adds a finding if v1, or the first v1beta1, would refuse the number of requirements."""
    most, api = (MAX_IN_V1, "v1") if v1 else (MAX_IN_BETA, "v1beta1 of 0.32")
    if len(requirements) > most:
        notes.add("too-many-terms", path, what=f"{len(requirements)} requirements; {api} accepts {most}")


def defaults(
    requirements: list[ConvertedRequirement], labels: Mapping[str, str], *, notes: FindingCollector
) -> list[ConvertedRequirement]:
    """The requirements that the alpha webhook would have added, in its order; labels that set such a key prevent it."""
    present = {metadata.real_key(item.get("key") or "") for item in requirements}
    candidates = [item for item in _SINGLE if item["key"] not in present]
    if not present & _SHAPE_KEYS:
        candidates += [_CATEGORY, _GENERATION]
    pinned = {metadata.real_key(key): key for key in labels}
    if pinned.keys() & {metadata.INSTANCE_TYPE, metadata.INSTANCE_FAMILY}:
        blocker = pinned.get(metadata.INSTANCE_TYPE) or pinned[metadata.INSTANCE_FAMILY]
        pinned = {metadata.INSTANCE_CATEGORY: blocker, metadata.INSTANCE_GENERATION: blocker} | pinned
    for item in candidates:
        if item["key"] in pinned:
            label = pinned[item["key"]]
            value = labels[label]
            message = f"the default {requirement_text(item)} is not added, because the label {label}={value} settles it"
            notes.add("label-pins-default", ("spec", "labels", label), what=message)
    return [dict(item) for item in candidates if item["key"] not in pinned]


def requirement_text(requirement: ConvertedRequirement) -> str:
    """`key In [a, b]`, for messages."""
    return f"{requirement['key']} {requirement['operator']} [{', '.join(requirement.get('values', []))}]"


POOL_API: Final = "karpenter.sh/v1beta1"

_LATER: Final = (
    "drift replaces nodes from 0.33 on, every NodePool has the disruption budget 10% from 0.34 on, and instances carry"
    " the tag karpenter.sh/nodepool instead of karpenter.sh/provisioner-name: let IAM conditions allow both"
)

Spec = dict[str, Any]


def convert_provisioner(
    body: Mapping[str, Any],
    notes: FindingCollector,
    *,
    options: Options,
    known_names: KnownNames,
    taken: Collection[str],
) -> list[ObjectDraft]:
    """The NodePool, followed by the EC2NodeClass of an inline provider; empty if the object has an error.

    `taken`: names of node classes that the inline one must not overwrite.
    """
    head = metadata.cleaned(schema.OBJECT(body, (), notes=notes) or {}, notes)
    if options.live:
        head = metadata.without_markers(head, notes)
    spec: Spec = schema.PROVISIONER(spec_of(body), ("spec",), notes=notes) or {}
    if notes.failed:
        return []
    inline = _inline_class(spec, notes, options=options, known_names=known_names, taken=taken)
    if notes.failed:
        return []
    reference = _reference(spec, notes, inline=inline)
    pool = manifest(POOL_API, "NodePool", metadata=head, spec=_pool_spec(spec, reference, notes=notes, options=options))
    if notes.failed:
        return []
    notes.add("later-defaults", ("spec",), what=_LATER)
    return [ObjectDraft(pool, notes), *([ObjectDraft(inline, notes)] if inline else [])]


def _inline_class(
    spec: Spec, notes: FindingCollector, *, options: Options, known_names: KnownNames, taken: Collection[str]
) -> dict[str, Any] | None:
    if spec.get("provider") is None:
        return None
    path = ("spec", "provider")
    provider: Spec = schema.PROVIDER(spec["provider"], path, notes=notes) or {}
    if notes.failed:
        return None
    name = notes.name
    if name in taken:
        name = free_name(f"{notes.name}-provider", taken)
        message = f"a node class {notes.name} is in the input too, so this one is named {name}"
        notes.add("nodeclass-name-clash", path, what=message, proposal=name)
    dns = (spec.get("kubeletConfiguration") or {}).get("clusterDNS") or []
    class_spec = class_from_spec(provider, path, notes=notes, options=options, known_names=known_names, cluster_dns=dns)
    return manifest(CLASS_API, "EC2NodeClass", metadata={"name": name}, spec=class_spec)


def _reference(spec: Spec, notes: FindingCollector, *, inline: dict[str, Any] | None) -> dict[str, str]:
    """The nodeClassRef of the pool."""
    old: dict[str, str] = spec.get("providerRef") or {}
    path = ("spec", "providerRef")
    class_kind = {"apiVersion": CLASS_API, "kind": "EC2NodeClass"}
    if inline is not None:
        if old:
            notes.add(
                "provider-and-ref",
                path,
                what=f"providerRef {shown(old.get('name'))} is left out; the inline provider wins",
            )
        return {**class_kind, "name": inline["metadata"]["name"]}
    if not old.get("name"):
        notes.add(
            "no-provider", path, what="neither spec.providerRef.name nor spec.provider is given; name a node class"
        )
        return {}
    if old.get("kind") not in (None, "AWSNodeTemplate", "EC2NodeClass"):
        notes.add("provider-ref-foreign", (*path, "kind"), what=f"kind {old['kind']} is kept as it is")
        return old
    if old.keys() & {"kind", "apiVersion"}:
        notes.add("provider-ref-rewritten", path, what=f"{shown(old)} now names kind EC2NodeClass of {CLASS_API}")
    return {**class_kind, "name": old["name"]}


def _pool_spec(spec: Spec, reference: dict[str, str], *, notes: FindingCollector, options: Options) -> Spec:
    template_metadata = filled(
        {
            "labels": metadata.open_labels(spec.get("labels") or {}, ("spec", "labels"), notes=notes),
            "annotations": metadata.current_annotations(
                spec.get("annotations") or {}, ("spec", "annotations"), notes=notes
            ),
        }
    )
    template: Spec = {
        "nodeClassRef": reference,
        "requirements": _requirements(spec, notes, options=options),
        **filled(
            {"taints": spec.get("taints"), "startupTaints": spec.get("startupTaints"), "kubelet": _kubelet(spec, notes)}
        ),
    }
    return {
        **(
            {"template": {"metadata": template_metadata, "spec": template}}
            if template_metadata
            else {"template": {"spec": template}}
        ),
        "disruption": _disruption(spec, notes),
        **filled({"limits": (spec.get("limits") or {}).get("resources"), "weight": spec.get("weight")}),
    }


def _requirements(spec: Spec, notes: FindingCollector, *, options: Options) -> list[dict[str, Any]]:
    path = ("spec", "requirements")
    old_requirements: list[dict[str, Any]] = spec.get("requirements") or []
    requirements = checked(old_requirements, path, notes=notes)
    if not options.ignore_defaults and not notes.failed:
        added = defaults(old_requirements, spec.get("labels") or {}, notes=notes)
        if added:
            added_texts = "; ".join(requirement_text(item) for item in added)
            notes.add("default-requirements-added", path, what=f"added: {added_texts}", proposal=added)
        requirements = requirements + added
    check_count(requirements, path, notes=notes, v1=options.to == "v1")
    return requirements


def _kubelet(spec: Spec, notes: FindingCollector) -> Spec | None:
    path = ("spec", "kubeletConfiguration")
    if not spec.get("kubeletConfiguration"):
        return None
    settings = kubelet.without_runtime(spec["kubeletConfiguration"], path, notes=notes)
    if not notes.failed:
        kubelet.check(settings, path, notes=notes)
    return settings


def _disruption(spec: Spec, notes: FindingCollector) -> dict[str, str]:
    until_expired = spec.get("ttlSecondsUntilExpired")
    expire = quantities.NEVER if until_expired is None else quantities.from_seconds(until_expired)
    return {**_consolidation(spec, notes), "expireAfter": expire}


def _consolidation(spec: Spec, notes: FindingCollector) -> dict[str, str]:
    empty = spec.get("ttlSecondsAfterEmpty")
    if (spec.get("consolidation") or {}).get("enabled"):
        if empty is not None:
            message = f"ttlSecondsAfterEmpty: {empty} is left out; consolidation removes empty nodes too"
            notes.add("consolidation-and-ttl", ("spec", "ttlSecondsAfterEmpty"), what=message)
        return {"consolidationPolicy": "WhenUnderutilized"}
    if empty is not None:
        return {"consolidationPolicy": "WhenEmpty", "consolidateAfter": quantities.from_seconds(empty)}
    message = "consolidation was off and stays off: consolidationPolicy WhenEmpty with consolidateAfter Never"
    notes.add("consolidation-was-off", ("spec", "consolidation"), what=message)
    return {"consolidationPolicy": "WhenEmpty", "consolidateAfter": quantities.NEVER}
