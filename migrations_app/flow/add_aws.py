"""What AWS shows, put beside what the cluster showed: read by a client of AWS, or handed in as policy documents."""

import time
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from migrations_app.clients.aws_port import AwsApi
from migrations_app.errors import BadInput
from migrations_app.flow.collect_aws import collect_aws
from migrations_app.inventory.aws import AWS_PART_NAMES, NO_AWS, AwsSeen, ControllerRole, PolicyDocument
from migrations_app.inventory.inventory import AWS_PREFIX
from migrations_app.inventory.seen import NOT_ASKED, Part, Seen, Unseen
from migrations_app.karpenter.iam.policy import parse_policy
from migrations_app.karpenter.iam.remedies import document_of, size_of
from migrations_app.readiness.report import Collected, PartLine


def add_aws(collected: Collected, api: AwsApi | None) -> Collected:
    """The collection with everything AWS shows about it; unchanged without access to AWS."""
    if api is None:
        return collected
    started = time.monotonic()
    seen = collect_aws(api, collected.inventory)
    return _with(collected, seen, seconds=round(time.monotonic() - started, 3))


def refuse_aws(collected: Collected, reason: Unseen) -> Collected:
    """The collection where access to AWS was given and nothing could be read there."""
    parts: dict[str, Any] = dict.fromkeys(AWS_PART_NAMES, reason)
    return _with(collected, replace(NO_AWS, **parts), seconds=0.0)


def hand_in(collected: Collected, documents: Mapping[str, bytes]) -> Collected:
    """The collection with these policies, by name, as those of the controller; unchanged without any.

    They take the place of what AWS showed. One that cannot be used makes the part Unseen with its reason.
    """
    if not documents:
        return collected
    return _with(collected, replace(collected.inventory.aws, controller_roles=_handed_in(documents)), seconds=0.0)


def _handed_in(documents: Mapping[str, bytes]) -> Part[ControllerRole]:
    try:
        policies = tuple(_document(name, text) for name, text in sorted(documents.items()))
    except BadInput as wrong:
        return Unseen(wrong.code, str(wrong))
    role = ControllerRole(found_by="given", arn="", role=NOT_ASKED, policies=Seen(policies), boundary=Seen(()))
    return Seen((role,))


def _document(name: str, text: bytes) -> PolicyDocument:
    policy = parse_policy(text, name=name)
    size = size_of(document_of(policy.statements))
    return PolicyDocument(name=name, kind="customer_managed", text=text.decode("utf-8-sig"), size=size)


def _with(collected: Collected, seen: AwsSeen, *, seconds: float) -> Collected:
    own = tuple(line for line in collected.parts if not line.name.startswith(AWS_PREFIX))
    lines = (_line(name, seen.part(name), seconds=seconds) for name in AWS_PART_NAMES if seen.part(name) != NOT_ASKED)
    return Collected(replace(collected.inventory, aws=seen), (*own, *lines))


def _line(name: str, part: Part[object], *, seconds: float) -> PartLine:
    if isinstance(part, Unseen):
        return PartLine(name=AWS_PREFIX + name, seen=False, why=part.why, detail=part.detail[:500], seconds=seconds)
    doubts = [f"{bad.name}: {bad.why}" for bad in part.quarantined]
    doubts += [f"{inner}: {unseen.why}" for item in part.items for inner, unseen in _unseen_within(item)]
    first = doubts[0] if doubts else ""
    return PartLine(
        name=AWS_PREFIX + name, seen=True, count=part.count, quarantined=len(doubts), detail=first, seconds=seconds
    )


def _unseen_within(item: object) -> list[tuple[str, Unseen]]:
    """The parts of a part that could not be read, such as the policies of one role."""
    if not is_dataclass(item):
        return []
    inner = ((field.name, getattr(item, field.name)) for field in fields(item))
    return [(name, part) for name, part in inner if isinstance(part, Unseen) and part != NOT_ASKED]
