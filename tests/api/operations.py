"""The operations of the REST document, each as made-up requests that are thought out when its test runs.

Schemathesis' own `parametrize` thinks them out at collection: in each worker of a run, for one of them to use.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import schemathesis
import yaml
from schemathesis.checks import load_all_checks
from schemathesis.generation.feedback import FeedbackSources
from schemathesis.generation.hypothesis import builder
from schemathesis.pytest._test_builder import build_operation_test
from schemathesis.python._constants.orchestrator import make_constants_value_source

DOCUMENT = yaml.load((Path(__file__).parents[2] / "docs/schema/openapi-v1.yaml").read_text(), yaml.CSafeLoader)
"""As it is published; test_catalogues.py holds that it is what the server would generate."""
LABELS = [f"{method.upper()} {path}" for path, methods in DOCUMENT["paths"].items() for method in methods]
_LEFT_OUT = (
    builder.UnsatisfiableExampleMark, builder.NonSerializableMark, builder.InvalidRegexMark,
    builder.InvalidHeadersExampleMark, builder.MissingPathParameters, builder.UnserializablePayloadMark,
)  # fmt: skip


def operations_of(schema: Any) -> dict[str, Any]:
    """By label; as many as the published document has."""
    load_all_checks()
    found = {each.ok().label: each.ok() for each in schema.get_all_operations()}
    assert sorted(found) == sorted(LABELS)
    return found


def try_out(operation: Any, tried: Callable[[schemathesis.Case], None], settings: hypothesis.settings) -> None:
    """Calls `tried` with each request that is made up for it; fails where one could not be made."""

    @settings
    def each(case: schemathesis.Case) -> None:
        tried(case)

    schema = operation.schema
    feedback = FeedbackSources(constants_value_source=make_constants_value_source(schema))
    test = build_operation_test(
        config=schema.config, operation=operation, test_func=each, given_kwargs={}, feedback=feedback
    )
    assert [mark for mark in _LEFT_OUT if mark.is_set(test)] == []
    test()
