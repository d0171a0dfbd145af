"""Evaluates the interruption queue's resource policy: which AWS services may send messages."""

import json
from collections.abc import Mapping
from typing import Any

from migrations_app.errors import InvalidPolicy
from migrations_app.iam.evaluate import Evaluation, IamRequest, evaluate
from migrations_app.iam.policy import MAX_BYTES, IamPolicy, parse_policy
from migrations_app.manifests import JsonMap
from migrations_app.manifests.nesting import parse_json

SENDERS = ("events.amazonaws.com", "sqs.amazonaws.com")
"""Source: getting-started-with-karpenter/cloudformation.yaml of aws/karpenter-provider-aws, v0.28.1 to v1.14.1."""
SEND = "sqs:SendMessage"
_NAME = "queue policy"
_PRINCIPALS = frozenset({"Principal", "NotPrincipal"})


def may_send(text: str, *, service: str, queue_arn: str, account: str) -> Evaluation:
    """The policy's result for a message from that service. Raises InvalidPolicy if it is not a queue policy."""
    request = IamRequest(
        action=SEND,
        resource=queue_arn,
        context={
            "aws:SecureTransport": ("true",),
            "aws:SourceAccount": (account,),
            "aws:PrincipalIsAWSService": ("true",),
            "aws:PrincipalServiceName": (service,),
            # A service principal belongs to no organization.
            "aws:PrincipalOrgID": (),
        },
    )
    return evaluate(request, [for_service(text, service)])


def for_service(text: str, service: str) -> IamPolicy:
    """The statements that apply to that service, without their principals. Raises InvalidPolicy."""
    listed = statements_of(text)
    bare = [{key: value for key, value in item.items() if key not in _PRINCIPALS} for item in listed]
    policy = parse_policy(json.dumps({"Version": _version(text), "Statement": bare}), name=_NAME)
    spoken = (statement for statement, item in zip(policy.statements, listed, strict=True) if _speaks_of(item, service))
    return IamPolicy(name=_NAME, version=policy.version, statements=tuple(spoken))


def statements_of(text: str) -> list[JsonMap]:
    """The statements in their original form; empty if the queue has no policy. Raises InvalidPolicy."""
    statements = _document(text).get("Statement", [])
    listed = [statements] if isinstance(statements, dict) else statements
    if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
        raise InvalidPolicy("Statement is no list of objects", where=_NAME)
    return listed


def with_sender(text: str, *, services: tuple[str, ...], queue_arn: str) -> JsonMap:
    """The policy plus one statement that lets these services send. Raises InvalidPolicy."""
    added = {"Effect": "Allow", "Principal": {"Service": list(services)}, "Action": SEND, "Resource": queue_arn}
    return {"Version": _version(text), "Statement": [*statements_of(text), added]}


def _document(text: str) -> Mapping[str, Any]:
    if not text.strip():
        return {}
    if len(text) > MAX_BYTES:
        raise InvalidPolicy("longer than any policy of a queue", where=_NAME)
    try:
        document = parse_json(text)
    except ValueError as error:
        raise InvalidPolicy("not JSON", where=_NAME) from error
    if not isinstance(document, dict):
        raise InvalidPolicy("no JSON object", where=_NAME)
    return document


def _version(text: str) -> str:
    return str(_document(text).get("Version", "2008-10-17"))


def _speaks_of(item: JsonMap, service: str) -> bool:
    if "NotPrincipal" in item:
        return not _names(item["NotPrincipal"], service)
    if "Principal" not in item:
        raise InvalidPolicy("a statement names no Principal", where=_NAME)
    return _names(item["Principal"], service)


def _names(principal: object, service: str) -> bool:
    """Whether the principal includes the service. A star means everyone, also as an account."""
    if not isinstance(principal, dict):
        return principal == "*"
    services, accounts = (_listed(principal.get(kind, [])) for kind in ("Service", "AWS"))
    return service in services or "*" in (*services, *accounts)


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]
