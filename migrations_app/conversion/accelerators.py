"""NodePools that request GPUs or other accelerators, and which image the AL2023 alias selects for them.

Up to 0.37 AL2023 meant the standard image for every instance type. From 1.0 on the standard image is not for
accelerators: types with a GPU count get the NVIDIA image, those with an accelerator count the Neuron image, and types
without an image are not launched. Sources: aws/karpenter-provider-aws@v0.37.8, @v1.0.14 and @v1.4.0 (NVIDIA on arm64):
pkg/providers/amifamily/al2023.go; types.go beside it, where 1.0.0 to 1.0.2 had both counts swapped.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from migrations_app.conversion import metadata
from migrations_app.conversion.objects import ObjectDraft, template_spec

_ASKING_KEYS: Final = ("karpenter.k8s.aws/instance-gpu-", "karpenter.k8s.aws/instance-accelerator-")
_MANUFACTURERS: Final = tuple(f"{key}manufacturer" for key in _ASKING_KEYS)
_RESOURCES: Final = ("nvidia.com/gpu", "amd.com/gpu", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore")
_FAMILY: Final = re.compile(r"(?:p\d|g\d|trn\d|inf\d|dl\d)")
_CATEGORIES: Final = frozenset({"p", "g", "trn", "inf", "dl"})
_NO_ARM64_YET: Final = re.compile(r"[pg]\d+[a-z-]*g")  # g5g, p6e-gb200: Graviton or Grace
_FOREIGN: Final = re.compile(r"g4ad|dl\d")
_KNOWN_MAKERS: Final = frozenset({"nvidia", "aws"})

AskedRow = Mapping[str, Any]


def _key(row: AskedRow) -> str:
    return metadata.real_key(str(row.get("key")))


def _values(row: AskedRow) -> list[str]:
    listed = row.get("values")
    return [str(value) for value in listed] if isinstance(listed, list) else []


def _asks(row: AskedRow) -> bool:
    key, operator = _key(row), row.get("operator")
    if operator in ("DoesNotExist", "NotIn"):
        return False
    if key.startswith(_ASKING_KEYS):
        return operator != "Lt"
    if key == metadata.INSTANCE_CATEGORY:
        return not _CATEGORIES.isdisjoint(_values(row))
    return any(_FAMILY.match(value) for value in _named_types(row))


def _named_types(row: AskedRow) -> list[str]:
    """The instance types or families that the requirement lists."""
    is_list = _key(row) in (metadata.INSTANCE_FAMILY, metadata.INSTANCE_TYPE) and row.get("operator") == "In"
    return _values(row) if is_list else []


def _rows(pool: Mapping[str, Any]) -> list[AskedRow]:
    requirements = template_spec(pool).get("requirements")
    return [row for row in requirements if isinstance(row, dict)] if isinstance(requirements, list) else []


def _limited(pool: Mapping[str, Any]) -> list[str]:
    """The accelerator resources that the pool's limits allow."""
    limits = (pool.get("spec") or {}).get("limits")
    return [name for name in _RESOURCES if str(limits.get(name, 0)) != "0"] if isinstance(limits, dict) else []


def wants_accelerators(pool: Mapping[str, Any]) -> bool:
    """True if a NodePool requests GPUs or other accelerators by requirement or limit; malformed values
    are tolerated.
    """
    return any(_asks(row) for row in _rows(pool)) or bool(_limited(pool))


def _names_arm64(pool: Mapping[str, Any]) -> bool:
    """True if the pool lists arm64 types with accelerators, or excludes amd64."""
    for row in _rows(pool):
        values, operator = _values(row), row.get("operator")
        excludes = ("amd64" not in values) if operator == "In" else operator == "NotIn" and "amd64" in values
        if _key(row) == metadata.ARCH and excludes:
            return True
        if any(_NO_ARM64_YET.match(value) for value in _named_types(row)):
            return True
    return False


def _names_foreign(pool: Mapping[str, Any]) -> bool:
    """True if the pool names accelerators that are neither NVIDIA's nor of AWS."""
    if "amd.com/gpu" in _limited(pool):
        return True
    for row in _rows(pool):
        if row.get("operator") != "In":
            continue
        if _key(row) in _MANUFACTURERS and not _KNOWN_MAKERS.issuperset(_values(row)):
            return True
        if any(_FOREIGN.match(value) for value in _named_types(row)):
            return True
        if _key(row) == metadata.INSTANCE_CATEGORY and "dl" in _values(row):
            return True
    return False


def warn(pools: Sequence[ObjectDraft], classes: Mapping[str, ObjectDraft], *, of_v1: Collection[str]) -> None:
    """Adds findings for each AL2023 class chosen by alias whose pools request accelerators. `of_v1`: names of the pools
    that were written for v1, to which the alias means what it meant.
    """
    users: dict[str, list[ObjectDraft]] = {}
    for pool in pools:
        owner = classes.get(pool.class_name or "")
        if owner is not None and _alias(owner).startswith("al2023@") and wants_accelerators(pool.body):
            users.setdefault(owner.name, []).append(pool)
    for name, group in users.items():
        _warn_class(classes[name], group, of_v1=of_v1)


def _warn_class(owner: ObjectDraft, users: Sequence[ObjectDraft], *, of_v1: Collection[str]) -> None:
    changed = _listed(pool.name for pool in users if pool.name not in of_v1)
    if changed:
        message = (
            f"NodePool {changed} asks for accelerators: AL2023 was the standard image up to 0.37, and the alias takes"
            " the NVIDIA or Neuron image from 1.0 on; fit what installs drivers, or name the image in amiSelectorTerms"
        )
        owner.notes.add("al2023-gpu", ("spec", "amiFamily"), what=message)
    path = ("spec", "amiSelectorTerms")
    if arm64 := _listed(pool.name for pool in users if _names_arm64(pool.body)):
        message = f"NodePool {arm64} names arm64 with accelerators: before 1.4 the alias has no image for them"
        owner.notes.add("al2023-gpu-no-image", path, what=f"{message}, and no node is launched")
    if foreign := _listed(pool.name for pool in users if _names_foreign(pool.body)):
        message = f"NodePool {foreign} names accelerators that are neither NVIDIA's nor AWS's"
        owner.notes.add("al2023-gpu-no-image", path, what=f"{message}: the alias has no image with their drivers")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))


def _alias(owner: ObjectDraft) -> str:
    terms = (owner.body.get("spec") or {}).get("amiSelectorTerms") or [{}]
    return str(terms[0].get("alias", ""))
