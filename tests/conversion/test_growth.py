"""No input costs more than its size: the lines of Python that run grow with the input, not with its square."""

import json
import sys
from types import FrameType
from typing import Any

import pytest

from migrations_app.conversion import report


def a_provisioner(number: int, **spec: object) -> dict[str, Any]:
    wanted = [{"key": "node.kubernetes.io/instance-type", "operator": "In", "values": ["m5.large"]}]
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": f"pool-{number}"},
        "spec": {"requirements": wanted, "no-such-field": 1} | spec,
    }


def a_list(size: int) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [a_provisioner(i) for i in range(size)]})


def objects_in_a_row(size: int) -> str:
    return "\n".join(json.dumps(a_provisioner(i)) for i in range(size))


def objects_of_one_name(size: int) -> str:
    return "\n".join(json.dumps(a_provisioner(0)) for _ in range(size))


def one_repeated_key(size: int) -> str:
    whole = json.dumps(a_provisioner(0, spot="here"))
    return whole.replace('"spot": "here"', ", ".join('"a": 1' for _ in range(size)))


def many_repeated_keys(size: int) -> str:
    return a_list(size).replace('"no-such-field": 1', '"a": 1, "a": 2')


def comments_alone(size: int) -> str:
    return "---\n# nothing but a comment\n" * size


def many_requirements(size: int) -> str:
    return json.dumps(a_provisioner(0, requirements=[{"key": f"k{i}", "operator": "Exists"} for i in range(size)]))


def lines_run(text: str) -> int:
    """How many lines of Python run while the text is converted and written out in every form."""
    count = 0

    def trace(_frame: FrameType, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        made = report.convert_texts([("input", text)])
        made.as_yaml(), made.as_json(), report.terraform(made.objects)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "shape",
    [
        a_list,
        objects_in_a_row,
        objects_of_one_name,
        one_repeated_key,
        many_repeated_keys,
        comments_alone,
        many_requirements,
    ],
)
def test_twice_the_input_is_at_most_a_little_more_than_twice_the_work(shape):
    small, middle, large = (lines_run(shape(size)) for size in (40, 80, 160))
    assert middle < 2.3 * small
    assert large < 2.3 * middle
