"""Every place of a pod spec where a Karpenter key can be named."""

import msgspec
import pytest

from migrations_app.inventory.objects.karpenter import Constraint, Placement, Workload
from migrations_app.inventory.parse import BETA_NODE_KEYS, TEMPLATE_KEYS
from migrations_app.inventory.pod_groups import constraints, names_karpenter

KEY = "karpenter.sh/provisioner-name"
TERM = {"matchExpressions": [{"key": KEY, "operator": "In", "values": ["a", "b"]}]}
HARD = "requiredDuringSchedulingIgnoredDuringExecution"
REQUIRED, PREFERRED = "spec.affinity.nodeAffinity.required", "spec.affinity.nodeAffinity.preferred"
SOFT = "preferredDuringSchedulingIgnoredDuringExecution"
WEIGHTED = {"weight": 5, "podAffinityTerm": {"topologyKey": KEY}}


@pytest.mark.parametrize(
    ("spec", "path", "value"),
    [
        ({"nodeSelector": {KEY: "a"}}, "spec.nodeSelector", "a"),
        ({"affinity": {"nodeAffinity": {HARD: {"nodeSelectorTerms": [TERM]}}}}, REQUIRED, "In a b"),
        ({"affinity": {"nodeAffinity": {SOFT: [{"weight": 1, "preference": TERM}]}}}, PREFERRED, "In a b"),
        ({"affinity": {"podAffinity": {HARD: [{"topologyKey": KEY}]}}}, "spec.affinity.podAffinity.required", ""),
        ({"affinity": {"podAntiAffinity": {SOFT: [WEIGHTED]}}}, "spec.affinity.podAntiAffinity.preferred", ""),
        ({"topologySpreadConstraints": [{"topologyKey": KEY}]}, "spec.topologySpreadConstraints", ""),
        ({"tolerations": [{"key": KEY, "operator": "Exists"}]}, "spec.tolerations", ""),
    ],
)  # fmt: skip
def test_each_mention_is_found(spec, path, value):
    assert constraints(msgspec.convert(spec, Placement)) == (Constraint(path=path, key=KEY, value=value),)


@pytest.mark.parametrize("key", ["disk", "example.com/karpenter.sh", "karpenter.sh", "notkarpenter.sh/x"])
def test_other_keys_are_not_ours(key):
    assert constraints(msgspec.convert({"nodeSelector": {key: "x"}}, Placement)) == ()


@pytest.mark.parametrize("key", sorted(BETA_NODE_KEYS))
def test_labels_of_old_kubernetes_are_found_too(key):
    rows = constraints(msgspec.convert({"nodeSelector": {key: "x"}}, Placement))
    assert rows == (Constraint(path="spec.nodeSelector", key=key, value="x"),)


def test_tolerating_a_cordon_counts_in_templates_only():
    spec = {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]}
    assert constraints(msgspec.convert(spec, Placement)) == ()
    assert len(constraints(msgspec.convert(spec, Placement), also=TEMPLATE_KEYS)) == 1
    job = {"metadata": {"name": "agent"}, "spec": {"template": {"spec": spec}}}
    assert names_karpenter(msgspec.convert(job, Workload))


def test_a_cron_job_is_read_through_its_job_template():
    template = {"spec": {"nodeSelector": {KEY: "a"}}}
    job = {"metadata": {"name": "nightly"}, "spec": {"jobTemplate": {"spec": {"template": template}}}}
    assert names_karpenter(msgspec.convert(job, Workload))
    assert not names_karpenter(msgspec.convert({"metadata": {"name": "plain"}}, Workload))
