"""The roles that were looked at, with the documents on them and their sizes, and where AWS judges otherwise than we."""

import json
from collections.abc import Iterable, Iterator

from migrations_app.iam.site import role_name
from migrations_app.inventory.aws_facts.permissions import working
from migrations_app.inventory.objects.aws import LIMITS, ControllerRole, CrossCheck, InstanceProfile, PolicyDocument
from migrations_app.inventory.parts import Part, Unseen
from migrations_app.readiness.iam_sheet.values import (
    IamDisagreement,
    IamDocument,
    IamProfile,
    IamRole,
    IamSimulation,
    IamUnread,
)


def roles_of(part: Part[ControllerRole]) -> tuple[IamRole, ...]:
    """Every role that something names, those that only lead to another one included."""
    counting = working(part.items)
    return tuple(_role(one, counts=one in counting) for one in part.items)


def simulation_of(part: Part[CrossCheck]) -> IamSimulation:
    """How the answers of AWS compare with ours; all disagreements, the rest counted."""
    if isinstance(part, Unseen):
        return IamSimulation(why=part.why, detail=part.detail)
    found = [one.agreement for one in part.items]
    differing = (one for one in part.items if one.agreement == "disagree")
    return IamSimulation(
        seen=True,
        agree=found.count("agree"),
        cannot_tell=found.count("cannot_tell"),
        disagreements=tuple(map(_disagreement, differing)),
    )


def _role(one: ControllerRole, *, counts: bool) -> IamRole:
    looked_up = one.found_by != "given" and not isinstance(one.role, Unseen)
    return IamRole(
        arn=one.arn,
        found_by=one.found_by,
        counts=counts,
        exists=bool(one.role.items) if looked_up else None,
        account_of=f"{one.namespace}/{one.service_account}" if one.service_account else "",
        inline_size=one.inline_size,
        inline_limit=LIMITS["inline"],
        documents=(*_documents(one.policies.items), *_documents(one.boundary.items, boundary=True)),
        unread=tuple(_unread(one)),
    )


def _documents(found: Iterable[PolicyDocument], *, boundary: bool = False) -> Iterator[IamDocument]:
    for one in sorted(found, key=lambda document: (document.name, document.arn, document.text)):
        yield IamDocument(
            name=one.name,
            kind=one.kind,
            size=one.size,
            limit=LIMITS[one.kind],
            arn=one.arn,
            boundary=boundary,
            text=_indented(one.text),
        )


def _indented(text: str) -> str:
    """The same document, one element a line; as it is where it is no JSON."""
    try:
        return json.dumps(json.loads(text), indent=2)
    except (ValueError, RecursionError):
        return text


def _unread(one: ControllerRole) -> Iterator[IamUnread]:
    parts: tuple[tuple[str, Part[object]], ...] = (("policies", one.policies), ("boundary", one.boundary))
    # Documents that were handed in belong to no role that anybody could look up.
    own: tuple[tuple[str, Part[object]], ...] = () if one.found_by == "given" else (("role", one.role),)
    for name, part in (*own, *parts):
        if isinstance(part, Unseen):
            yield IamUnread(part=name, why=part.why, detail=part.detail)
            continue
        for bad in part.quarantined:
            yield IamUnread(part=name, why="unreadable", detail=f"{bad.name}: {bad.why}")


def _disagreement(one: CrossCheck) -> IamDisagreement:
    return IamDisagreement(
        release=one.release,
        role=one.role_arn,
        action=one.action,
        resource=one.resource,
        ours=one.ours,
        theirs=one.theirs,
        because=one.because,
    )


def profiles_of(part: Part[InstanceProfile]) -> tuple[IamProfile, ...]:
    """The profiles that exist and hold one role: with more, or none, nobody can say which role nodes would get."""
    one_role = (one for one in part.items if one.exists and len(one.role_arns) == 1)
    return tuple(
        IamProfile(
            name=one.name,
            role=role_name(one.role_arns[0]).rpartition("/")[2],
            default=any(by.kind == "ConfigMap" for by in one.named_by),
        )
        for one in one_role
    )
