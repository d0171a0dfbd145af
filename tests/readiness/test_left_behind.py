import pytest

from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult
from migrations_app.readiness.verdict import exit_code, judged_columns
from migrations_app.samples.karpenter_objects import Launched, claim
from migrations_app.samples.kubernetes_objects import node
from tests.builders.clusters import a_cluster, an_empty_cluster

FINALIZER = "karpenter.sh/termination"


def report_of(cluster):
    return evaluate(CollectResult(inventory=cluster.build(), parts=())).report


def a_node_of_nobody():
    labels = {"karpenter.sh/nodepool": "web"}
    return node("n1", kubelet="v1.29.1", provider_id="aws:///a/i-1", labels=labels, finalizers=[FINALIZER])


def a_claim_of_nobody():
    made, _ = claim(Launched(pool="web", number=1, cluster="test", kubelet="v1.29.4"), node_class="c", version="v1")
    made["metadata"]["finalizers"] = [FINALIZER]
    return made


@pytest.mark.parametrize("stuck", [a_node_of_nobody(), a_claim_of_nobody()])
def test_finalizers_without_a_controller_block_and_are_told(stuck):
    report = report_of(an_empty_cluster().with_docs(stuck))
    (line,) = report.hops
    assert (line.hop, line.verdict) == ("clean-up", "blocked")
    assert line.reasons == ("1 object has an orphaned finalizer",)
    assert (report.cluster.stage, exit_code(report)) == ("unknown", 1)
    assert judged_columns(report)["blockers"] == 1


def test_crds_that_an_uninstall_left_do_not_hide_what_is_stuck():
    cluster = a_cluster("1.0.14").without("controller", "controller_pods").with_docs(a_node_of_nobody())
    assert [(one.hop, one.verdict) for one in report_of(cluster).hops] == [("clean-up", "blocked")]


def test_a_cluster_without_anything_of_karpenter_has_nothing_to_do():
    report = report_of(an_empty_cluster())
    assert (report.hops, report.checks, report.cluster.stage, exit_code(report)) == ((), (), "no_karpenter", 0)


def test_what_could_not_be_read_counts_only_where_karpenter_was():
    assert report_of(an_empty_cluster().unseen("nodes")).hops == ()
    left = a_cluster("1.0.14").without("controller", "controller_pods").unseen("nodes")
    assert [(one.hop, one.verdict) for one in report_of(left).hops] == [("clean-up", "needs_facts")]


def test_with_a_controller_the_hops_speak():
    report = report_of(a_cluster("0.37.8").with_docs(a_node_of_nobody()))
    assert "clean-up" not in {one.hop for one in report.checks}
