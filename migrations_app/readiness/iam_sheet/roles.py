"""Lists the roles that were read, with their policies and sizes, and where AWS and karpdash judge differently."""

import json
from collections.abc import Iterable, Iterator

from migrations_app.iam.site import role_name
from migrations_app.inventory.aws_facts.permissions import requesting_roles
from migrations_app.inventory.objects.aws import LIMITS, ControllerRole, CrossCheck, InstanceProfile, PolicyDocument
from migrations_app.inventory.parts import Part, Unseen
from migrations_app.manifests.nesting import parse_json
from migrations_app.readiness.iam_sheet.values import (
    IamDisagreement,
    IamDocument,
    IamProfile,
    IamRole,
    IamSimulation,
    IamUnread,
)


def roles_of(part: Part[ControllerRole]) -> tuple[IamRole, ...]:
    """Returns every role that was found, also those that only lead to another role."""
    counting = requesting_roles(part.items)
    return tuple(_role(role, counts=role in counting) for role in part.items)


def simulation_of(part: Part[CrossCheck]) -> IamSimulation:
    """Returns how the answers of AWS and karpdash compare: all disagreements, and the number of the others."""
    if isinstance(part, Unseen):
        return IamSimulation(why=part.why, detail=part.detail)
    agreements = [cross_check.agreement for cross_check in part.items]
    differing = (cross_check for cross_check in part.items if cross_check.agreement == "disagree")
    return IamSimulation(
        seen=True,
        agree=agreements.count("agree"),
        cannot_tell=agreements.count("cannot_tell"),
        disagreements=tuple(map(_disagreement, differing)),
    )


def _role(role: ControllerRole, *, counts: bool) -> IamRole:
    looked_up = role.found_by != "given" and not isinstance(role.role, Unseen)
    return IamRole(
        arn=role.arn,
        found_by=role.found_by,
        counts=counts,
        exists=bool(role.role.items) if looked_up else None,
        account_of=f"{role.namespace}/{role.service_account}" if role.service_account else "",
        inline_size=role.inline_size,
        inline_limit=LIMITS["inline"],
        documents=(*_documents(role.policies.items), *_documents(role.boundary.items, boundary=True)),
        unread=tuple(_unread(role)),
    )


def _documents(documents: Iterable[PolicyDocument], *, boundary: bool = False) -> Iterator[IamDocument]:
    for policy_document in sorted(documents, key=lambda document: (document.name, document.arn, document.text)):
        yield IamDocument(
            name=policy_document.name,
            kind=policy_document.kind,
            size=policy_document.size,
            limit=LIMITS[policy_document.kind],
            arn=policy_document.arn,
            boundary=boundary,
            text=_indented(policy_document.text),
        )


def _indented(text: str) -> str:
    """Returns the JSON document indented; the text unchanged if it is not JSON."""
    try:
        return json.dumps(parse_json(text), indent=2)
    except ValueError:
        return text


def _unread(role: ControllerRole) -> Iterator[IamUnread]:
    """Yields the parts of the role that were not read, and the documents that could not be parsed."""
    parts: tuple[tuple[str, Part[object]], ...] = (("policies", role.policies), ("boundary", role.boundary))
    # Documents handed in as files belong to no role that could be read.
    own: tuple[tuple[str, Part[object]], ...] = () if role.found_by == "given" else (("role", role.role),)
    for name, part in (*own, *parts):
        if isinstance(part, Unseen):
            yield IamUnread(part=name, why=part.why, detail=part.detail)
            continue
        for bad in part.quarantined:
            yield IamUnread(part=name, why="unreadable", detail=f"{bad.name}: {bad.why}")


def _disagreement(cross_check: CrossCheck) -> IamDisagreement:
    return IamDisagreement(
        release=cross_check.release,
        role=cross_check.role_arn,
        action=cross_check.action,
        resource=cross_check.resource,
        ours=cross_check.ours,
        theirs=cross_check.theirs,
        because=cross_check.because,
    )


def profiles_of(part: Part[InstanceProfile]) -> tuple[IamProfile, ...]:
    """Returns the existing instance profiles with exactly one role; for the others the role of the nodes is not
    known."""
    one_role = (profile for profile in part.items if profile.exists and len(profile.role_arns) == 1)
    return tuple(
        IamProfile(
            name=profile.name,
            role=role_name(profile.role_arns[0]).rpartition("/")[2],
            default=any(by.kind == "ConfigMap" for by in profile.named_by),
        )
        for profile in one_role
    )
