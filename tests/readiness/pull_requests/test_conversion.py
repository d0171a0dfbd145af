"""A pull request that converts the manifests of a repository."""

import pytest

from migrations_app.errors import InvalidInput
from migrations_app.manifests import edits
from migrations_app.readiness.pull_requests.conversion import CONVERSION, may_hold_objects, propose_conversion
from migrations_app.readiness.pull_requests.proposal import RequestSubject

BETA = """\
# The pool of the shop.
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata:
  name: shop
spec:
  template:
    spec:
      nodeClassRef:
        name: shop
      requirements:
        - key: karpenter.sh/capacity-type  # why
          operator: In
          values: ["spot"]
      kubelet:
        maxPods: 40
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: 30s
    expireAfter: 720h
"""
CLASS = """\
apiVersion: karpenter.k8s.aws/v1beta1
kind: EC2NodeClass
metadata:
  name: shop
spec:
  amiFamily: AL2023  # why
  role: nodes
  subnetSelectorTerms:
    - tags: {a: b}
  securityGroupSelectorTerms:
    - tags: {a: b}
"""
ALPHA = """\
# The provisioner of the shop.
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata:
  name: shop
spec:
  providerRef:
    name: shop
  ttlSecondsAfterEmpty: 30
"""
TEMPLATE = """\
apiVersion: karpenter.k8s.aws/v1alpha1
kind: AWSNodeTemplate
metadata:
  name: shop
spec:
  amiFamily: AL2
  instanceProfile: nodes
  subnetSelector: {a: b}
  securityGroupSelector: {a: b}
"""


def subject(to: str) -> RequestSubject:
    return RequestSubject(key="1", cluster="shop", check=CONVERSION, hop=to, title=f"Convert to {to}")


def refusal(texts, to="v1"):
    with pytest.raises(InvalidInput) as refused:
        propose_conversion(texts, to, subject=subject(to))
    return refused.value.code


def test_beta_objects_are_changed_where_they_stand():
    found = propose_conversion({"pool.yaml": BETA, "class.yaml": CLASS}, "v1", subject=subject("v1"))
    pool, node_class = found.files
    assert pool.new.startswith("# The pool of the shop.\napiVersion: karpenter.sh/v1\nkind: NodePool\n")
    assert "- key: karpenter.sh/capacity-type  # why\n" in pool.new
    assert "kubelet" not in pool.new
    assert "amiFamily: AL2023  # why\n" in node_class.new
    assert edits.values(node_class.new)[0]["spec"]["kubelet"] == {"maxPods": 40}
    assert found.title == "Convert to v1 (shop)"
    assert "object:  NodePool shop" in found.body


def test_what_an_alpha_object_becomes_stands_behind_it():
    found = propose_conversion({"a.yaml": ALPHA, "b.yaml": TEMPLATE.rstrip()}, "v1beta1", subject=subject("v1beta1"))
    pool, template = found.files
    assert pool.new.startswith(ALPHA + "---\napiVersion: karpenter.sh/v1beta1\nkind: NodePool\n")
    assert template.new.startswith(TEMPLATE + "---\napiVersion: karpenter.k8s.aws/v1beta1\nkind: EC2NodeClass\n")
    assert [one["kind"] for one in edits.values(template.new)] == ["AWSNodeTemplate", "EC2NodeClass"]
    assert any(one.startswith("decide before it is merged: ") for one in found.beside)


def test_what_is_there_already_is_not_added_a_second_time():
    (one,) = propose_conversion({"a.yaml": ALPHA}, "v1beta1", subject=subject("v1beta1")).files
    classes = propose_conversion({"a.yaml": one.new, "b.yaml": TEMPLATE}, "v1beta1", subject=subject("v1beta1")).files
    assert [file.path for file in classes] == ["b.yaml"]


def test_windows_lines_stay():
    (one,) = propose_conversion({"a.yaml": ALPHA.replace("\n", "\r\n")}, "v1beta1", subject=subject("v1beta1")).files
    assert one.new.count("\n") == one.new.count("\r\n")


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        ({}, "not_in_files"),
        ({"a.yaml": "kind: ConfigMap\napiVersion: v1\n"}, "not_in_files"),
        ({"a.yaml": BETA, "b.yaml": BETA}, "in_several_files"),
        ({"a.yaml": BETA + "---\nkind: Secret\n"}, "secret_in_file"),
        ({"a.yaml": BETA.replace("spec:\n  template", "spec: &a\n  template") + "more: *a\n"}, "edit_refused"),
        ({"a.yaml": TEMPLATE.replace("instanceProfile: nodes", "launchTemplate: x")}, "not_converted"),
        ({"a.yaml": "{{ if x }}\n" + BETA}, "not_in_files"),
    ],
)
def test_what_cannot_be_converted_is_refused(texts, code):
    assert refusal(texts) == code


def test_what_is_converted_already_asks_for_nothing():
    texts = {"pool.yaml": BETA, "class.yaml": CLASS}
    after = {one.path: one.new for one in propose_conversion(texts, "v1", subject=subject("v1")).files}
    assert refusal(after) == "nothing_to_change"


def test_only_yaml_that_names_karpenter_is_read():
    assert may_hold_objects("a/b.yml", BETA)
    assert not may_hold_objects("a/b.yml", "kind: ConfigMap")
    assert not may_hold_objects("a/b.json", BETA)
