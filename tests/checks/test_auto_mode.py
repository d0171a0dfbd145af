"""Objects of EKS Auto Mode share Karpenter's kinds and are not its own: nothing that they say is a fault."""

import pytest

from migrations_app.checks.registry import all_checks
from migrations_app.checks.runner import run
from tests.builders.clusters import case_at
from tests.builders.newest import NEWEST_MINOR
from tests.builders.pools import AUTO_MODE, GONE, REFERENCE, a_claim, a_pool, at

FAULTY = {
    REFERENCE: AUTO_MODE,
    "spec.disruption": {"budgets": [{"nodes": "0"}], "consolidationPolicy": "WhenUnderutilized", "expireAfter": "30d"},
    "spec.limits": {"resources": {}, "cpu": "0"},
    "spec.weight": 900,
    "spec.replicas": 2,
    "spec.template.metadata": {"labels": {"karpenter.sh/provisioner-name": "x"}},
    "spec.template.spec.requirements": [{"key": "karpenter.k8s.aws/instance-pods", "operator": "In", "values": ["1"]}],
    "spec.template.spec.expireAfter": GONE,
    "spec.template.spec.kubelet": {"maxPods": 5},
    "spec.template.spec.resources": {"requests": {"cpu": "1"}},
    "status": {"conditions": [{"type": "Ready", "status": "False"}]},
    "metadata.managedFields": [{"manager": "Terraform", "operation": "Apply"}],
    "metadata.annotations": {"compatibility.karpenter.sh/v1beta1-kubelet-conversion": '{"maxPods": 5}'},
}
DRIFTED = {
    "spec.nodeClassRef": AUTO_MODE,
    "spec.expireAfter": "1h",
    "status.conditions": [{"type": "Drifted", "status": "True"}, {"type": "Expired", "status": "True"}],
}
NAMES_THEM = "one_autoscaler_runs"
"""It tells of Auto Mode beside Karpenter on purpose."""
RELEASES = [("1.0", "0.37.8", "1.29"), ("1.1+", "1.0.14", "1.30"), (NEWEST_MINOR, "1.8.2", "1.33")]


@pytest.mark.parametrize(("hop", "release", "kubernetes"), RELEASES)
def test_a_pool_and_a_claim_of_auto_mode_are_no_cause(hop, release, kubernetes):
    claim, _ = a_claim(DRIFTED)
    case = case_at(hop, at(release, a_pool(FAULTY, name="auto"), claim, kubernetes=kubernetes))
    found = run([check for check in all_checks() if check.id != NAMES_THEM], case)
    names = {"auto", claim["metadata"]["name"]}
    assert [(one.id, row.name) for one in found for row in one.evidence if row.name in names] == []
    unknown = {one.id for one in found if one.status == "unknown" and "NodePool auto" in one.summary}
    assert unknown & {check.id for check in all_checks() if check.phase == "resources"} == set()
