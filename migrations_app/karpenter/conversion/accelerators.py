"""Pools that ask for GPUs or other accelerators, where the image alias would not bring the right image."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from migrations_app.karpenter.conversion import keys
from migrations_app.karpenter.conversion.drafts import Draft, template_spec

_ASKING_KEYS: Final = ("karpenter.k8s.aws/instance-gpu-", "karpenter.k8s.aws/instance-accelerator-")
_RESOURCES: Final = ("nvidia.com/gpu", "amd.com/gpu", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore")
_FAMILY: Final = re.compile(r"(?:p\d|g\d|trn\d|inf\d|dl\d)")
_CATEGORIES: Final = frozenset({"p", "g", "trn", "inf", "dl"})


def _asks(requirement: Mapping[str, Any]) -> bool:
    key, operator = keys.real_key(str(requirement.get("key"))), requirement.get("operator")
    given = requirement.get("values")
    values = [str(value) for value in given] if isinstance(given, list) else []
    if operator in ("DoesNotExist", "NotIn"):
        return False
    if key.startswith(_ASKING_KEYS):
        return operator != "Lt"
    if key == keys.INSTANCE_CATEGORY:
        return not _CATEGORIES.isdisjoint(values)
    return key in (keys.INSTANCE_FAMILY, keys.INSTANCE_TYPE) and any(_FAMILY.match(value) for value in values)


def wants_accelerators(pool: Mapping[str, Any]) -> bool:
    """True when a NodePool asks for GPUs or the like by requirement or limit; a v1 pool may hold odd values."""
    requirements = template_spec(pool).get("requirements")
    rows = [one for one in requirements if isinstance(one, dict)] if isinstance(requirements, list) else []
    limits = (pool.get("spec") or {}).get("limits")
    limited = limits if isinstance(limits, dict) else {}
    return any(_asks(one) for one in rows) or any(str(limited.get(name, 0)) != "0" for name in _RESOURCES)


def warn(pools: Sequence[Draft], classes: Mapping[str, Draft]) -> None:
    """Notes AL2023 classes chosen by alias whose pools ask for accelerators."""
    users: dict[str, list[str]] = {}
    for pool in pools:
        owner = classes.get(pool.class_name or "")
        if owner is not None and _alias(owner).startswith("al2023@") and wants_accelerators(pool.body):
            users.setdefault(owner.name, []).append(pool.name)
    for name, names in users.items():
        what = f"NodePool {', '.join(sorted(names))} asks for accelerators; name their image in amiSelectorTerms"
        classes[name].notes.add("al2023-gpu", ("spec", "amiFamily"), what=what)


def _alias(owner: Draft) -> str:
    terms = owner.body["spec"].get("amiSelectorTerms") or [{}]
    return str(terms[0].get("alias", ""))
