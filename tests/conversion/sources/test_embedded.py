"""Objects of Karpenter inside other documents, as `karpdash lint` finds them."""

import pytest

from migrations_app.conversion.source_lint import lint_texts
from migrations_app.karpenter.versions import release

REFUSED = "which Karpenter 1.4.0 does not accept"
CONVERT = ": karpdash convert makes its successor"


def found(text: str, *, to: str = "1.4.0") -> list[tuple[int, str]]:
    findings = lint_texts([("delivery.yaml", text)], release(to))
    assert {finding.code for finding in findings} <= {"other-generation", "older-field", "unknown-field", "api-refuses"}
    return [(finding.line, finding.what) for finding in findings]


OBJECT = """apiVersion: kubernetes.crossplane.io/v1alpha2
kind: Object
metadata: {name: pool}
spec:
  forProvider:
    manifest:
      kind: NodePool
      apiVersion: karpenter.sh/v1beta1
      metadata: {name: default}
      spec: {}
"""
CONFIG_MAP = """apiVersion: v1
kind: ConfigMap
metadata: {name: manifests}
data:
  other: |
    text with apiVersion and karpenter.sh/v1
  pools.yaml: |
    # two
    apiVersion: karpenter.sh/v1alpha5
    kind: Provisioner
    metadata: {name: default}
    ---
    apiVersion: v1
    kind: List
    items:
    - apiVersion: karpenter.k8s.aws/v1alpha1
      kind: AWSNodeTemplate
      metadata: {name: default}
"""
TEMPLATE = """apiVersion: v1
kind: ConfigMap
metadata: {name: templates}
data:
  pool.yaml: |
    apiVersion: karpenter.sh/v1alpha5
    kind: Provisioner
    metadata:
      name: {{ .name }}
"""
POLICY = """apiVersion: kyverno.io/v1
kind: ClusterPolicy
metadata: {name: pools}
spec:
  rules:
  - generate:
      apiVersion: karpenter.sh/v1alpha5
      kind: Provisioner
      name: default
      data: {spec: {}}
"""
FLUX = """apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: pools}
spec:
  healthChecks:
  - kind: NodePool
    apiVersion: karpenter.sh/v1beta1
    name: default
  patches:
  - patch: |
      apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: default}
      spec: {disruption: {expireAfter: Never}}
    target:
      group: karpenter.sh
      version: v1beta1
      kind: NodePool
"""
EXPIRY = 'v1 has no spec.disruption.expireAfter, which is "Never" here; write it as spec.template.spec.expireAfter'
WRAPPED = """apiVersion: kubernetes.crossplane.io/v1alpha2
kind: Object
metadata: {name: pool}
spec:
  forProvider:
    manifest:
      apiVersion: karpenter.sh/v1
      kind: NodePool
      metadata: {name: default}
      spec:
        replicas: 2
        +(weight): 5
        disruption: {budgets: [{nodes: 200%}]}
"""
BUDGET = '"200%" is neither a number nor 0% to 100%'
VALUES = """extraObjects:
- apiVersion: karpenter.k8s.aws/v1beta1
  kind: EC2NodeClass
  metadata: {name: default}
"""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (OBJECT, [(8, f"NodePool default in Object pool is karpenter.sh/v1beta1, {REFUSED}{CONVERT}")]),
        (
            CONFIG_MAP,
            [
                (9, f"Provisioner default in ConfigMap manifests is karpenter.sh/v1alpha5, {REFUSED}{CONVERT}"),
                (
                    16,
                    f"AWSNodeTemplate default in ConfigMap manifests is karpenter.k8s.aws/v1alpha1, {REFUSED}{CONVERT}",
                ),
            ],
        ),
        (TEMPLATE, [(6, f"Provisioner in ConfigMap templates is karpenter.sh/v1alpha5, {REFUSED}{CONVERT}")]),
        (POLICY, [(7, f"Provisioner default in ClusterPolicy pools is karpenter.sh/v1alpha5, {REFUSED}{CONVERT}")]),
        (
            FLUX,
            [
                (7, f"NodePool default in Kustomization pools is karpenter.sh/v1beta1, {REFUSED}"),
                (
                    14,
                    f"NodePool default in Kustomization pools: {EXPIRY}",
                ),
                (17, f"NodePool in Kustomization pools is karpenter.sh/v1beta1, {REFUSED}"),
            ],
        ),
        (
            WRAPPED,
            [
                (
                    11,
                    "NodePool default in Object pool: spec.replicas is not in Karpenter 1.4.0, but from 1.8 on",
                ),
                (13, f"NodePool default in Object pool: {BUDGET}"),
            ],
        ),
        (VALUES, [(2, f"EC2NodeClass default is karpenter.k8s.aws/v1beta1, {REFUSED}{CONVERT}")]),
    ],
)
def test_what_the_release_does_not_accept(text: str, wanted: list[tuple[int, str]]) -> None:
    assert found(text) == wanted


def test_what_the_release_accepts() -> None:
    assert found(OBJECT, to="1.0.14") == []


REFERENCE = """apiVersion: karpenter.sh/v1
kind: NodePool
metadata:
  name: default
spec:
  template:
    spec:
      requirements: []
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default, apiVersion: karpenter.k8s.aws/v1beta1}
"""
MARKS = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: shop
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: |
      apiVersion: karpenter.sh/v1alpha5
      kind: Provisioner
  ownerReferences:
  - {apiVersion: karpenter.sh/v1beta1, kind: NodePool, name: default}
spec:
  ignoreDifferences:
  - {group: karpenter.sh, kind: NodePool}
  other: {apiVersion: karpenter.sh/v1beta1, kind: 7}
"""


def test_an_object_of_karpenter_is_judged_once() -> None:
    ((line, what),) = found(REFERENCE)
    assert (line, what.startswith("v1 has no spec.template.spec.nodeClassRef.apiVersion")) == (9, True)


def test_marks_of_controllers_do_not_count() -> None:
    assert found(MARKS) == []
