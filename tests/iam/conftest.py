"""Builders for policies of our own making, and the official ones."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from migrations_app.iam.evaluate import IamRequest
from migrations_app.iam.policy import IamPolicy, parse_policy
from tests import upstream


def _statement(effect: str, action: Any, resource: Any, condition: Any) -> dict[str, Any]:
    return {
        "Effect": effect,
        "Action": action,
        "Resource": resource,
        **({"Condition": condition} if condition else {}),
    }


@pytest.fixture(scope="session")
def policy() -> Callable[..., IamPolicy]:
    """policy(statement, ...) -> Policy; a statement is the dictionary of an IAM document."""

    def build(*statements: dict[str, Any], name: str = "test", version: str = "2012-10-17") -> IamPolicy:
        return parse_policy(json.dumps({"Version": version, "Statement": list(statements)}), name=name)

    return build


@pytest.fixture(scope="session")
def allow() -> Callable[..., dict[str, Any]]:
    return lambda action, resource="*", condition=None: _statement("Allow", action, resource, condition)


@pytest.fixture(scope="session")
def deny() -> Callable[..., dict[str, Any]]:
    return lambda action, resource="*", condition=None: _statement("Deny", action, resource, condition)


@pytest.fixture(scope="session")
def request_of() -> Callable[..., IamRequest]:
    """request_of(action, resource, key=value...) with a context spelled as a dictionary of lists."""

    def build(action: str = "ec2:RunInstances", resource: str = "*", **more: Any) -> IamRequest:
        context = {key: tuple(values) for key, values in more.pop("context", {}).items()}
        return IamRequest(action=action, resource=resource, context=context, **more)

    return build


@pytest.fixture(scope="session")
def official() -> Callable[[str], IamPolicy]:
    """official("v1.0.14") -> the published document of that tag."""

    def read(tag: str, file: str = "controller-policy.json") -> IamPolicy:
        return parse_policy(upstream.policy(tag, file), name=tag)

    return read
