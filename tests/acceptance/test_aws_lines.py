"""Every line for the aws program that a fix or a plan prints is complete: the program's own models take it, with all
that an operation asks for. A policy names no more than the official ones of a release do.
"""

import json
import shlex
from collections.abc import Iterator
from functools import cache
from typing import Any

import botocore.session
import pytest
from botocore import xform_name
from botocore.validate import ParamValidator

from migrations_app.checks.base import Remedy
from migrations_app.checks.changes import Change, IamStatements, PersonTask, leaves
from migrations_app.readiness.runbook.hop_work import changes_of
from tests.acceptance.aws_program import given_to
from tests.acceptance.judged_faults import ONE_WORKER, judged_fault
from tests.acceptance.planted import FAULTS
from tests.acceptance.planting import Fault, names
from tests.readiness.runbook.test_iam_of_a_plan import NAMES, WAYS, report
from tests.upstream import FOLDER

pytestmark = ONE_WORKER
ONLY_HERE = frozenset({"eks update-kubeconfig", "eks get-token"})
"""Commands of the program that are no operation of a service."""
FOR_A_PERSON = ("ROLE", "POLICY_ARN", "VERSION", "CONTROLLER_ROLE")
"""Stands for what a person fills in; never in a line that can be run as it stands."""


@cache
def service(name: str) -> Any:
    return botocore.session.get_session().get_service_model(name)


def lines_of(remedies: tuple[Remedy, ...]) -> Iterator[str]:
    for one in remedies:
        if one.how == "iam" and not one.text.startswith("{"):
            yield from (line for line in one.text.splitlines() if line.startswith("aws "))


def wrong(line: str) -> str:
    """Why the program would not take the line; empty where it does."""
    program, called, operation, *words = shlex.split(line, comments=True)
    if f"{called} {operation}" in ONLY_HERE or operation == "wait":
        return ""
    shapes = {xform_name(name, "-"): name for name in service(called).operation_names}
    if program != "aws" or operation not in shapes:
        return f"{called} {operation} is no operation"
    shape = service(called).operation_model(shapes[operation]).input_shape
    try:
        told = given_to(shape.members, words)
    except (KeyError, ValueError) as found:
        return repr(found)
    return str(ParamValidator().validate(told, shape).generate_report())


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_every_line_of_a_plan_is_complete(name: str, way: str) -> None:
    lines = [line for one in report(name, way).checks for line in lines_of(one.remedies)]
    assert [(line[:200], why) for line in dict.fromkeys(lines) if (why := wrong(line))] == []


@pytest.mark.parametrize("fault", FAULTS, ids=names(FAULTS))
def test_every_line_of_a_fix_is_complete(fault: Fault) -> None:
    lines = [line for one in judged_fault(fault).findings for line in lines_of(one.remedies)]
    assert [(line[:200], why) for line in dict.fromkeys(lines) if (why := wrong(line))] == []
    assert [line for line in lines if set(shlex.split(line)) & {*FOR_A_PERSON}] == []


def test_a_line_that_lacks_something_is_found() -> None:
    assert "Missing required parameter" in wrong("aws iam attach-role-policy --role-name x")
    assert "is no operation" in wrong("aws iam attach-policy --role-name x")
    assert "KeyError" in wrong("aws iam get-role --name x")
    assert wrong("aws iam get-role --role-name x") == ""


def unscoped() -> set[str]:
    """The actions that some official policy grants on everything."""
    found: set[str] = set()
    for file in FOLDER.glob("iam/*/*.json"):
        for one in json.loads(file.read_text())["Statement"]:
            if "*" in listed(one["Resource"]):
                found |= listed(one["Action"])
    return found


def listed(value: Any) -> set[str]:
    return {value} if isinstance(value, str) else set(value)


def statements(changes: list[Change]) -> Iterator[dict[str, Any]]:
    for change in changes:
        for step in leaves(change):
            if isinstance(step, IamStatements):
                yield from step.statements
            elif isinstance(step, PersonTask):
                texts = (note.partition(": ")[2] for note in step.notes if '"Statement"' in note)
                yield from (one for text in texts for one in json.loads(text)["Statement"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", NAMES)
def test_no_statement_grants_more_than_official_policies_do(name: str, way: str) -> None:
    everything = unscoped()
    for finding in report(name, way).checks:
        for one in statements(changes_of(finding)):
            assert not [action for action in listed(one["Action"]) if "*" in action]
            if "*" in listed(one["Resource"]):
                assert listed(one["Action"]) <= everything
            assert one["Effect"] == "Allow"
