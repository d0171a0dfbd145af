"""No input costs more than its size: what runs grows with the input, not with its square; the largest body fits."""

import json
from typing import Any

import pytest

from migrations_app.conversion.reports import report
from tests.house.growth import assert_linear, peak_mib


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


def one_alias_many_times(size: int) -> str:
    held = f"x: &x [{', '.join(['a'] * (size // 2))}]\n"
    return f"{held}y: [{', '.join(['*x'] * (size // 2))}]\n"


def many_requirements(size: int) -> str:
    return json.dumps(a_provisioner(0, requirements=[{"key": f"k{i}", "operator": "Exists"} for i in range(size)]))


def converted(text: str) -> None:
    """Written out in every form."""
    made = report.convert_texts([("input", text)])
    made.as_yaml(), made.as_json(), report.terraform(made.objects)


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
    def work(size):
        text = shape(size)
        return lambda: converted(text)

    assert_linear(work, sizes=(40, 80, 160))


BODY = 1024 * 1024
"""The largest body of a request."""


def whole(shape) -> str:
    """As much of that shape as a request may hold."""
    size = BODY // (len(shape(200)) // 200)
    text = shape(size)
    return text if len(text) <= BODY else shape(size * BODY // len(text) - 1)


@pytest.mark.parametrize("shape", [a_list, one_alias_many_times])
def test_the_largest_body_takes_at_most_150_mib(shape):
    text = whole(shape)
    assert 0.85 * BODY < len(text) <= BODY
    assert peak_mib(lambda: converted(text)) < 150
