import pytest

from tests.builders.clusters import a_cluster, finding_of, reads, result_without

CHECK = "sources_outside_current"


def test_manifests_of_v1beta1_are_to_be_searched_for_before_they_are_refused():
    found = finding_of(CHECK, "1.1+", a_cluster("1.0.14"))
    assert (found.status, found.severity, found.evidence) == ("manual", "info", ())
    assert found.summary == (
        "search outside this cluster for: apiVersion: karpenter.sh/v1beta1, apiVersion: karpenter.k8s.aws/v1beta1 "
        "in Git, Terraform, charts and pipelines (now v1); karpenter.k8s.aws/cluster in IAM and service control "
        "policies (now eks:eks-cluster-name)"
    )
    assert found.remedies[0].text.splitlines()[1] == (
        "grep -rnE 'apiVersion: karpenter\\.sh/v1beta1|apiVersion: karpenter\\.k8s\\.aws/v1beta1|"
        "karpenter\\.k8s\\.aws/cluster' ."
    )


def test_rules_of_the_interruption_queue_gain_an_event():
    found = finding_of(CHECK, "1.13", a_cluster("1.9.2"))
    assert (found.status, found.severity) == ("manual", "info")
    assert found.summary == (
        "search outside this cluster for: EC2 Spot Instance Interruption Warning in the EventBridge rules that fill "
        "the interruption queue (now EC2 Capacity Reservation Instance Interruption Warning beside it, for "
        "interruptible reservations)"
    )


def test_a_chart_rendered_without_the_cluster_loses_its_service_monitor():
    asked = (("1.2.8", "1.13"), ("1.3.8", "1.13"))
    texts = [finding_of(CHECK, hop, a_cluster(version)).summary for version, hop in asked]
    assert ["--api-versions monitoring.coreos.com/v1" in text for text in texts] == [True, False]


def test_every_summary_fits_its_column():
    asked = (("0.32", "0.31.4"), ("0.33+", "0.32.10"), ("1.0", "0.33.12"), ("1.1+", "1.0.14"), ("1.13", "1.1.10"))
    assert all(len(finding_of(CHECK, hop, a_cluster(version)).summary) <= 500 for hop, version in asked)


def test_where_nothing_changes_there_is_nothing_to_ask():
    found = finding_of(CHECK, "1.13", a_cluster("1.10.0"))
    assert (found.status, found.remedies) == ("not_applicable", ())


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.1+", a_cluster("1.0.14"), part=part) == (
        "unknown",
        f"{part} could not be read: forbidden",
    )
