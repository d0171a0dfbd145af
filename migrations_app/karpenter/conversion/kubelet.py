"""Kubelet settings: what the API server checks about them, what v1alpha5 had more, and when two are the same."""

import json
from collections.abc import Mapping
from typing import Any, Final

from migrations_app.karpenter.conversion import durations, quantities
from migrations_app.karpenter.conversion.losses import Notes, Path

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
_DEFAULT_RUNTIME: Final = "containerd"


def without_runtime(kubelet: Mapping[str, Any], at: Path, *, notes: Notes) -> dict[str, Any]:
    """The settings without containerRuntime, which the new API does not have."""
    runtime = kubelet.get("containerRuntime")
    if runtime is not None:
        runtime_at = (*at, "containerRuntime")
        if runtime == _DEFAULT_RUNTIME:
            notes.add("container-runtime-default", runtime_at, what=f"containerRuntime: {runtime} is left out")
        else:
            notes.add(
                "container-runtime-dropped", runtime_at, what=f"nodes change from {runtime} to {_DEFAULT_RUNTIME}"
            )
    return {key: value for key, value in kubelet.items() if key != "containerRuntime"}


def check(kubelet: Mapping[str, Any], at: Path, *, notes: Notes) -> None:
    """Notes what the API server would refuse."""
    for part in _RESERVED:
        for key, value in (kubelet.get(part) or {}).items():
            if key not in _RESERVABLE:
                notes.add(
                    "kubelet-invalid", (*at, part, key), what=f"{key} cannot be reserved, only {_listed(_RESERVABLE)}"
                )
            if str(value).startswith("-"):
                notes.add("kubelet-invalid", (*at, part, key), what=f"{value} is negative")
    for part in _EVICTION:
        for key in kubelet.get(part) or {}:
            if key not in _SIGNALS:
                notes.add("kubelet-invalid", (*at, part, key), what=f"{key} is no signal, only {_listed(_SIGNALS)}")
    _check_pairs(kubelet, at, notes=notes)


def _check_pairs(kubelet: Mapping[str, Any], at: Path, *, notes: Notes) -> None:
    soft, grace = kubelet.get("evictionSoft") or {}, kubelet.get("evictionSoftGracePeriod") or {}
    for key in sorted(soft.keys() - grace.keys()):
        notes.add("kubelet-invalid", (*at, "evictionSoft", key), what=f"{key} has no grace period")
    for key in sorted(grace.keys() - soft.keys()):
        notes.add("kubelet-invalid", (*at, "evictionSoftGracePeriod", key), what=f"{key} has no soft threshold")
    high, low = kubelet.get("imageGCHighThresholdPercent"), kubelet.get("imageGCLowThresholdPercent")
    if high is not None and low is not None and high <= low:
        what = f"the high threshold {high} must be above the low one, {low}"
        notes.add("kubelet-invalid", (*at, "imageGCHighThresholdPercent"), what=what)


def _listed(words: frozenset[str]) -> str:
    return ", ".join(sorted(words))


def meaning(kubelet: Mapping[str, Any] | None) -> str:
    """A key that is equal for settings that mean the same; "" for none."""
    found: dict[str, Any] = {}
    for key, value in (kubelet or {}).items():
        if key in _RESERVED:
            value = {name: quantities.billionths(str(item)) for name, item in value.items()}
        elif key == "evictionSoftGracePeriod":
            value = {name: durations.nanoseconds(str(item)) for name, item in value.items()}
        if value is not None and value not in ({}, []):
            found[key] = value
    return json.dumps(found, sort_keys=True) if found else ""
