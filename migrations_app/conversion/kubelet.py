"""Kubelet settings: validation as in the API server, equality by meaning, and moving them from v1beta1 NodePools to v1
node classes.

A class that several pools use with different settings is split into copies. Source:
aws/karpenter-provider-aws@v1.3.0:website/content/en/v1.0/upgrading/v1-migration.md; grouping and names are
karpdash's own.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from migrations_app.conversion import quantities
from migrations_app.conversion.findings import FieldPath, FindingCollector
from migrations_app.conversion.objects import KnownNames, ObjectDraft, filled, free_name, replaced, template_spec

_RESERVABLE: Final = frozenset({"cpu", "memory", "ephemeral-storage", "pid"})
_SIGNALS: Final = frozenset(
    {
        "memory.available",
        "nodefs.available",
        "nodefs.inodesFree",
        "imagefs.available",
        "imagefs.inodesFree",
        "pid.available",
    }
)
_RESERVED: Final = ("systemReserved", "kubeReserved")
_EVICTION: Final = ("evictionHard", "evictionSoft", "evictionSoftGracePeriod")
_PERCENT: Final = re.compile(r"(\d{1,2}(\.\d{1,2})?|100(\.0{1,2})?)%", re.ASCII)
_DEFAULT_RUNTIME: Final = "containerd"


def without_runtime(kubelet: Mapping[str, Any], path: FieldPath, *, notes: FindingCollector) -> dict[str, Any]:
    """The settings without containerRuntime, which the new API does not have."""
    runtime = kubelet.get("containerRuntime")
    if runtime is not None:
        runtime_at = (*path, "containerRuntime")
        if runtime == _DEFAULT_RUNTIME:
            notes.add("container-runtime-default", runtime_at, what=f"containerRuntime: {runtime} is left out")
        else:
            notes.add(
                "container-runtime-dropped", runtime_at, what=f"nodes change from {runtime} to {_DEFAULT_RUNTIME}"
            )
    return {key: value for key, value in kubelet.items() if key != "containerRuntime"}


def check(kubelet: Mapping[str, Any], path: FieldPath, *, notes: FindingCollector) -> None:
    """Adds a finding for each setting that the API server would refuse."""
    for part in _RESERVED:
        for key, value in (kubelet.get(part) or {}).items():
            if key not in _RESERVABLE:
                notes.add(
                    "kubelet-invalid", (*path, part, key), what=f"{key} cannot be reserved, only {_listed(_RESERVABLE)}"
                )
            if str(value).startswith("-"):
                notes.add("kubelet-invalid", (*path, part, key), what=f"{value} is negative")
    for part in _EVICTION:
        for key in kubelet.get(part) or {}:
            if key not in _SIGNALS:
                notes.add("kubelet-invalid", (*path, part, key), what=f"{key} is no signal, only {_listed(_SIGNALS)}")
    _check_thresholds(kubelet, path, notes=notes)
    _check_pairs(kubelet, path, notes=notes)


def _check_thresholds(kubelet: Mapping[str, Any], path: FieldPath, *, notes: FindingCollector) -> None:
    for part in ("evictionHard", "evictionSoft"):
        for key, value in (kubelet.get(part) or {}).items():
            if value and not _PERCENT.fullmatch(value) and quantities.read(value) is None:
                message = f"{value} is no threshold such as 5% or 500Mi"
                notes.add("kubelet-invalid", (*path, part, key), what=message)


def _check_pairs(kubelet: Mapping[str, Any], path: FieldPath, *, notes: FindingCollector) -> None:
    soft, grace = kubelet.get("evictionSoft") or {}, kubelet.get("evictionSoftGracePeriod") or {}
    for key in sorted(soft.keys() - grace.keys()):
        notes.add("kubelet-invalid", (*path, "evictionSoft", key), what=f"{key} has no grace period")
    for key in sorted(grace.keys() - soft.keys()):
        notes.add("kubelet-invalid", (*path, "evictionSoftGracePeriod", key), what=f"{key} has no soft threshold")
    high, low = kubelet.get("imageGCHighThresholdPercent"), kubelet.get("imageGCLowThresholdPercent")
    if high is not None and low is not None and high <= low:
        message = f"the high threshold {high} must be above the low one, {low}"
        notes.add("kubelet-invalid", (*path, "imageGCHighThresholdPercent"), what=message)


def _listed(words: frozenset[str]) -> str:
    return ", ".join(sorted(words))


def kubelet_meaning(kubelet: Mapping[str, Any] | None) -> str:
    """A key that is equal for settings with the same meaning; "" for none."""
    settings: dict[str, Any] = {}
    for key, value in (kubelet or {}).items():
        if value is None:
            continue
        if key in _RESERVED:
            value = {name: quantities.billionths(str(item)) for name, item in value.items()}
        elif key == "evictionSoftGracePeriod":
            value = {name: quantities.nanoseconds(str(item)) for name, item in value.items()}
        if value not in ({}, []):
            settings[key] = value
    return json.dumps(settings, sort_keys=True) if settings else ""


KubeletGroup = list[ObjectDraft]


def move_kubelet_settings(
    pools: Sequence[ObjectDraft], classes: Mapping[str, ObjectDraft], *, known_names: KnownNames, taken: set[str]
) -> dict[str, list[ObjectDraft]]:
    """Moves the kubelet settings of the pools to their classes. Returns the copies made, by the name of the original
    class.
    """
    users: dict[str, KubeletGroup] = {}
    for pool in pools:
        name = pool.class_name
        if name is not None and name in classes:
            users.setdefault(name, []).append(pool)
        elif pool.kubelet:
            _note_missing_class(pool)
    return {
        name: _settle_class(classes[name], group, known_names=known_names, taken=taken) for name, group in users.items()
    }


def _note_missing_class(pool: ObjectDraft) -> None:
    reference = template_spec(pool.body).get("nodeClassRef") or {}
    owner = f"{reference.get('kind')} {reference.get('name')}"
    message = (
        f"{owner} is not among the converted objects; write this into its spec.kubelet: {json.dumps(pool.kubelet)}"
    )
    proposal = {"class": reference.get("name"), "kubelet": pool.kubelet}
    pool.notes.add("kubelet-nodeclass-missing", pool.kubelet_at, what=message, proposal=proposal)


def _settle_class(
    owner: ObjectDraft, users: KubeletGroup, *, known_names: KnownNames, taken: set[str]
) -> list[ObjectDraft]:
    own = (owner.body.get("spec") or {}).get("kubelet")
    groups: dict[str, KubeletGroup] = {}
    for pool in users:
        # a pool without settings of its own uses those of the class, as in 1.0
        groups.setdefault(kubelet_meaning(pool.kubelet or own), []).append(pool)
    ranked = sorted(groups.items(), key=lambda item: _rank(item[0], item[1], known_names=known_names))
    if ranked[0][0] != kubelet_meaning(own):
        _warn_of_others(owner, own, groups=groups, known_names=known_names)
    original, copies = owner.body, []
    for index, (_, group) in enumerate(ranked):
        settings = next((pool.kubelet for pool in group if pool.kubelet), own)
        if index == 0:
            owner.body = _with_kubelet(original, settings)
            _note_moved(group, owner.name)
        else:
            copies.append(_copy(owner, original, group=group, settings=settings, taken=taken))
    return copies


def _rank(meaning: str, group: KubeletGroup, *, known_names: KnownNames) -> tuple[int, int, bool, str]:
    """Sort key for the group that keeps the original class: most nodes, most pools, no settings, first name."""
    nodes = sum(known_names.nodes_of_pool.get(pool.name, 0) for pool in group)
    return (-nodes, -len(group), meaning != "", min(pool.name for pool in group))


def _with_kubelet(body: dict[str, Any], settings: Mapping[str, Any] | None) -> dict[str, Any]:
    if not settings and "kubelet" not in (body.get("spec") or {}):
        return body
    spec = {key: value for key, value in (body.get("spec") or {}).items() if key != "kubelet"}
    return {**body, "spec": {**spec, **filled({"kubelet": settings})}}


def _note_moved(group: KubeletGroup, name: str) -> None:
    for pool in group:
        if pool.kubelet:
            pool.notes.add(
                "kubelet-moved", pool.kubelet_at, what=f"the kubelet settings are in EC2NodeClass {name} now"
            )


def _copy(
    owner: ObjectDraft,
    original: dict[str, Any],
    *,
    group: KubeletGroup,
    settings: Mapping[str, Any] | None,
    taken: set[str],
) -> ObjectDraft:
    names = sorted(pool.name for pool in group)
    name = free_name(f"{owner.name}-{names[0]}", taken)
    taken.add(name)
    message = (
        f"{owner.name} is split by kubelet settings: {name} is its copy for NodePool {', '.join(names)}, whose nodes"
        " will be replaced"
    )
    owner.notes.add("nodeclass-split", (), what=message, proposal={"class": name, "pools": names})
    for pool in group:
        pool.use_class(name)
    _note_moved(group, name)
    return ObjectDraft(replaced(_with_kubelet(original, settings), ("metadata", "name"), value=name), owner.notes)


def _warn_of_others(
    owner: ObjectDraft, own: Mapping[str, Any] | None, *, groups: Mapping[str, KubeletGroup], known_names: KnownNames
) -> None:
    if own and kubelet_meaning(own) not in groups:
        message = f"spec.kubelet was {json.dumps(own)}, which no NodePool of the input follows; it is replaced"
        owner.notes.add("nodeclass-other-users", ("spec", "kubelet"), what=message)
    elif not known_names.all_pools_given:
        message = (
            "the class has kubelet settings of its NodePools now; NodePools that are not in the input would follow them"
        )
        owner.notes.add("nodeclass-other-users", (), what=message)
