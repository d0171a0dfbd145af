import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.parse import applied_version


@pytest.mark.parametrize("version", ["karpenter.sh/v1beta1", "karpenter.k8s.aws/v1", "karpenter.sh/v1alpha5"])
def test_of_a_manifest_only_the_version_is_told(version):
    text = json.dumps({"apiVersion": version, "kind": "NodePool", "spec": {"userData": "secret-canary"}})
    assert applied_version(text + "\n") == version
    assert applied_version(version) == version


@pytest.mark.parametrize(
    "text", ["", "secret-canary", "[]", '{"apiVersion": 7}', '{"apiVersion": "secret-canary"}', '{"apiVersion": "v1"}']
)
def test_of_everything_else_nothing(text):
    assert applied_version(text) == ""


@given(st.text(), st.text())
def test_nothing_but_a_version_ever_comes_back(text, version):
    assert applied_version(text) == ""
    assert applied_version(json.dumps({"apiVersion": version})) == ""
