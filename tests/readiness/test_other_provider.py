"""Karpenter of another provider is recognised, and nothing is advised."""

import pytest

from migrations_app.manifests import JsonMap
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.outputs import table
from migrations_app.readiness.report import CollectResult
from migrations_app.readiness.runbook.runbook import runbook
from migrations_app.readiness.stage import other_provider
from migrations_app.readiness.verdict import exit_code, judged_columns
from migrations_app.samples.kubernetes_objects import doc
from tests.builders.clusters import ACluster, a_cluster
from tests.builders.pools import AUTO_MODE, REFERENCE, a_pool

AZURE = {"group": "karpenter.azure.com", "kind": "AKSNodeClass", "name": "default"}
KWOK = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}


def node(provider_id: str) -> JsonMap:
    return doc("v1", "Node", metadata={"name": "n", "labels": {}}, spec={"providerID": provider_id})


def without_aws_crds(cluster: ACluster) -> ACluster:
    kept = [crd for crd in cluster.build().crds.items if crd.spec.group == "karpenter.sh"]
    return cluster.without("crds").with_items("crds", *kept)


def elsewhere(*docs: JsonMap) -> ACluster:
    return without_aws_crds(a_cluster("1.4.0", kubernetes="1.31")).with_docs(*docs)


@pytest.mark.parametrize(
    ("docs", "sign"),
    [
        ((a_pool({REFERENCE: AZURE}),), "its NodePools name node classes of karpenter.azure.com"),
        ((a_pool({REFERENCE: KWOK}),), "its NodePools name node classes of karpenter.kwok.sh"),
        ((node("azure:///vm/1"),), "its CRDs are without karpenter.k8s.aws and its nodes are of azure"),
        ((node("gce://p/z/1"),), "its CRDs are without karpenter.k8s.aws and its nodes are of gce"),
    ],
)
def test_it_is_told_and_left_alone(docs, sign):
    scanned = evaluate(CollectResult(elsewhere(*docs).build(), ()))
    report = scanned.report
    said = f"this is not AWS Karpenter ({sign}), so nothing is advised"
    assert (report.cluster.karpenter_version, report.cluster.karpenter_told_by) == (None, said)
    assert (report.cluster.stage, report.hops, report.checks) == ("unknown", (), ())
    assert (report.target.release, report.target.path, report.target.notes) == (None, (), (said,))
    assert (scanned.objects, scanned.iam, runbook(report).hops) == ((), None, ())
    assert judged_columns(report)["verdict"] == "needs_facts"
    assert exit_code(report) == 3
    assert said in table.render(report)


@pytest.mark.parametrize(
    "cluster",
    [
        a_cluster("1.4.0").with_docs(a_pool({REFERENCE: AZURE})),
        elsewhere(node("aws:///eu-central-1a/i-1"), node("azure:///vm/1")),
        elsewhere(a_pool({REFERENCE: AUTO_MODE})),
        elsewhere(),
        elsewhere(node("azure:///vm/1")).unseen("crds"),
    ],
    ids=["AWS CRDs", "AWS nodes", "auto mode", "no sign", "CRDs not read"],
)
def test_it_is_not_guessed(cluster):
    assert other_provider(cluster.build()) == ""
