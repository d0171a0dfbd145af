"""Terraform, kustomize and the two sides of the page."""

import copy
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.conversion.convert import convert
from migrations_app.conversion.findings import ConversionFinding
from migrations_app.conversion.reports import report, side_by_side
from migrations_app.conversion.reports.side_by_side import SideBySideRow
from migrations_app.manifests import writer

POOL = {
    "apiVersion": "karpenter.sh/v1beta1",
    "kind": "NodePool",
    "metadata": {"name": "web", "uid": "u"},
    "spec": {
        "disruption": {"expireAfter": "Never"},
        "template": {"spec": {"nodeClassRef": {"name": "blue"}, "requirements": []}},
    },
    "status": {"resources": {}},
}


def node_class(user_data: str) -> dict[str, Any]:
    spec = {"amiFamily": "AL2", "role": "r", "userData": user_data}
    return {"apiVersion": "karpenter.k8s.aws/v1", "kind": "EC2NodeClass", "metadata": {"name": "web.one"}, "spec": spec}


def test_terraform_escapes_its_own_marks() -> None:
    text = report.terraform([node_class("echo ${HOME} %{if} $X\nYAML\n")])
    assert text == (
        'resource "kubectl_manifest" "ec2nodeclass_web_one" {\n'
        "  yaml_body = <<YAML_\n"
        "apiVersion: karpenter.k8s.aws/v1\nkind: EC2NodeClass\nmetadata:\n  name: web.one\n"
        "spec:\n  amiFamily: AL2\n  role: r\n"
        "  userData: |\n    echo $${HOME} %%{if} $X\n    YAML\n"
        "YAML_\n"
        "}\n"
    )


def test_terraform_names_are_unique() -> None:
    text = report.terraform([node_class("a"), node_class("b")])
    assert [line.split('"')[3] for line in text.splitlines() if line.startswith("resource")] == [
        "ec2nodeclass_web_one",
        "ec2nodeclass_web_one_2",
    ]


def test_a_patch_for_an_object_that_keeps_its_name() -> None:
    (item,) = convert([POOL]).items
    found = yaml.safe_load(report.kustomize([(item.source, item.objects)]))
    (patch,) = found["patches"]
    assert patch["target"] == {"group": "karpenter.sh", "version": "v1beta1", "kind": "NodePool", "name": "web"}
    operations = yaml.safe_load(patch["patch"])
    assert {"op": "replace", "path": "/apiVersion", "value": "karpenter.sh/v1"} in operations
    assert not any(step["path"].startswith(("/status", "/metadata")) for step in operations)
    source = {key: value for key, value in POOL.items() if key != "status"} | {"metadata": {"name": "web"}}
    assert applied(source, operations) == item.objects[0]


def test_new_objects_come_beside_the_patches() -> None:
    old = {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": "web"},
        "spec": {"providerRef": {"name": "z"}},
    }
    (item,) = convert([old]).items
    text = report.kustomize([(item.source, item.objects)])
    assert yaml.safe_load(text) == {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": ["karpenter-converted.yaml"],
    }
    fresh = "\n".join(line.removeprefix("# ") for line in text.split("# karpenter-converted.yaml:\n")[1].splitlines())
    assert yaml.safe_load(fresh) == item.objects[0]


def test_nothing_to_patch() -> None:
    done = convert([POOL]).objects[0]
    assert "patches" not in report.kustomize([(done, [done])])


def applied(body: Any, operations: list[dict[str, Any]]) -> Any:
    """The operations as RFC 6902 means them, for maps only."""
    result = copy.deepcopy(body)
    for step in operations:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in step["path"].split("/")[1:]]
        target = result
        for part in way:
            target = target[part]
        if step["op"] == "remove":
            del target[last]
        else:
            target[last] = copy.deepcopy(step["value"])
    return result


_tree = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b/c", "d~e", ""]), inner, max_size=3)
    ),
    max_leaves=8,
)
_objects = st.dictionaries(st.sampled_from(["a", "b/c", "x"]), _tree, max_size=3)


@given(_objects, _objects)
def test_a_patch_turns_old_into_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert applied(old, list(report.json_patch(old, new))) == new


def test_rows_of_the_page() -> None:
    old = {"apiVersion": "a/v1", "kind": "A", "spec": {"x": 1, "gone": [1], "same": True}}
    new = {"apiVersion": "a/v2", "kind": "A", "spec": {"same": True, "more": 2}}
    losses = [
        ConversionFinding("unknown-field", "A", "", ("spec", "gone", 0, "deep"), ""),
        ConversionFinding("already-v1", "A", "", (), ""),
    ]
    assert side_by_side.rows(old, [new], losses=losses) == [
        SideBySideRow("changed", 1, "apiVersion: a/v1", 1, "apiVersion: a/v2", (1,)),
        SideBySideRow("same", 2, "kind: A", 2, "kind: A"),
        SideBySideRow("same", 3, "spec:", 3, "spec:"),
        SideBySideRow("removed", 4, "  x: 1", None, None),
        SideBySideRow("removed", 5, "  gone:", None, None),
        SideBySideRow("removed", 6, "  - 1", None, None, (0,)),
        SideBySideRow("same", 7, "  same: true", 4, "  same: true"),
        SideBySideRow("added", None, None, 5, "  more: 2"),
    ]


def test_every_loss_is_at_exactly_one_row() -> None:
    (item,) = convert([POOL]).items
    found = side_by_side.rows(item.source, item.objects, losses=item.losses)
    assert sorted(index for row in found for index in row.losses) == list(range(len(item.losses)))


def test_nothing_was_made() -> None:
    found = side_by_side.rows({"kind": "A"}, [])
    assert found == [SideBySideRow("removed", 1, "kind: A", None, None)]


def test_long_texts_are_not_compared_line_by_line() -> None:
    numbers = {f"n{number}": number for number in range(2000)}
    found = side_by_side.rows({"kind": "A", "spec": numbers}, [{"kind": "A", "spec": {"first": 0, **numbers}}])
    assert [row.mark for row in found] == ["same"] * 2 + ["changed"] * 2000 + ["added"]


def test_every_line_is_there_once_and_in_order() -> None:
    old = {"kind": "A", "spec": {"userData": "a\n\nb\n", "x": {"y": 1}}, "z": 0}
    new = [{"kind": "B", "spec": {"x": {"userData": "a\n\nb\n"}}}, {"kind": "C"}]
    found = side_by_side.rows(old, new)
    assert [row.old for row in found if row.old is not None] == writer.text_of(old).splitlines()
    assert [row.new for row in found if row.new is not None] == writer.stream(map(writer.text_of, new)).splitlines()


def test_fields_of_one_kind_keep_their_order() -> None:
    old = {"kind": "A", "spec": {"b": [{"w": 1, "v": 2}], "a": 1, "gone": 1}}
    new = {"kind": "A", "spec": {"a": 1, "new": 0, "b": [{"v": 2, "w": 1}, {"z": 3}]}}
    assert [(row.mark, row.new or row.old) for row in side_by_side.rows(old, [new])] == [
        ("same", "kind: A"),
        ("same", "spec:"),
        ("same", "  b:"),
        ("same", "  - w: 1"),
        ("same", "    v: 2"),
        ("added", "  - z: 3"),
        ("same", "  a: 1"),
        ("changed", "  new: 0"),
    ]


_KEYED = st.recursive(
    st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from("abc") | st.just(""), inner)
)


@given(_KEYED, _KEYED)
def test_another_order_is_the_same_value(old, new) -> None:
    assert side_by_side._ordered_as(old, new) == new


def test_lines_at_another_depth_are_moved_not_changed() -> None:
    old = {"spec": {"taints": [{"key": "a"}], "weight": 1}}
    new = {"spec": {"template": {"spec": {"taints": [{"key": "a"}]}}, "weight": 1}}
    assert [(row.mark, row.old, row.new) for row in side_by_side.rows(old, [new])] == [
        ("same", "spec:", "spec:"),
        ("added", None, "  template:"),
        ("added", None, "    spec:"),
        ("moved", "  taints:", "      taints:"),
        ("moved", "  - key: a", "      - key: a"),
        ("same", "  weight: 1", "  weight: 1"),
    ]
