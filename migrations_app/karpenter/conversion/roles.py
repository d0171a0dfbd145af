"""Who the nodes are: the role or the instance profile of a node class, and the placeholder where nobody knows."""

from collections.abc import Iterator, Mapping
from typing import Final

from migrations_app.karpenter.conversion.losses import Notes, Path
from migrations_app.karpenter.conversion.options import PLACEHOLDER as PLACEHOLDER
from migrations_app.karpenter.conversion.options import Known, Options
from migrations_app.karpenter.yaml_scalars import Plain

# envsubst knows both spellings
SPELLINGS: Final = (PLACEHOLDER, "${KARPENTER_NODE_ROLE}")


def identity(profile: str | None, at: Path, *, notes: Notes, options: Options, known: Known) -> dict[str, str]:
    """`role` or `instanceProfile` for the new class; exactly one of them."""
    profile_at = (*at, "instanceProfile")
    if options.keep_instance_profile and profile:
        return {"instanceProfile": profile}
    seen = known.role_of_profile.get(profile or known.default_profile or "")
    role = options.node_role or seen or PLACEHOLDER
    if role == PLACEHOLDER:
        used = f"the role of instance profile {profile}" if profile else "the role of the default instance profile"
        what = f"role is {PLACEHOLDER}: put the name of {used} in its place, or give it as the node role"
        notes.add("node-role-placeholder", profile_at, what=what, proposal={"instanceProfile": profile})
    check_role(role, profile_at, notes=notes)
    return {"role": role}


def check_role(role: str, at: Path, *, notes: Notes) -> None:
    """Notes a role that is given as an ARN."""
    if role.startswith("arn:"):
        name = role.rpartition("/")[2]
        notes.add("role-is-arn", at, what=f"{role} is an ARN; the name of the role is {name}", proposal=name)


def is_placeholder(text: str) -> bool:
    """True when the text still holds the placeholder for the node role."""
    return any(spelling in text for spelling in SPELLINGS)


def placeholder_paths(value: Plain, at: Path = ()) -> Iterator[Path]:
    """Every place in a manifest that still holds the placeholder; such a manifest must never reach an API server."""
    if isinstance(value, str):
        if is_placeholder(value):
            yield at
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from placeholder_paths(item, (*at, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from placeholder_paths(item, (*at, index))
