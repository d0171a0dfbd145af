import pytest

from tests.builders.clusters import a_cluster, finding_of, reads, result_without

CHECK = "queries_outside_current"


def test_what_goes_with_the_hop_is_to_be_searched_for():
    found = finding_of(CHECK, "1.13", a_cluster("1.1.10"))
    assert (found.status, found.severity, found.evidence) == ("manual", "info", ())
    assert found.summary == (
        "search rules, dashboards and log queries outside of this cluster for: karpenter_ignored_pod_count, "
        "karpenter_pods_scheduling_undecided_time_seconds, karpenter_pods_pods_drained_total, "
        "karpenter_nodes_eviction_requests_total; metric labels capacity_type; "
        'controller="nodeclass.status", controller="nodeclass.termination" '
        "in rules over controller_runtime_ metrics (now nodeclass)"
    )
    assert [remedy.text.splitlines()[:2] for remedy in found.remedies] == [
        [
            "# in the repositories that hold them",
            (
                "grep -rnwE 'karpenter_ignored_pod_count|karpenter_pods_scheduling_undecided_time_seconds|"
                "karpenter_pods_pods_drained_total|karpenter_nodes_eviction_requests_total' ."
            ),
        ]
    ]


def test_of_many_names_the_summary_shows_a_few_and_the_command_all():
    found = finding_of(CHECK, "1.0", a_cluster())
    assert " and 28 more; " in found.summary
    assert found.remedies[0].text.count("|") == 32
    assert len(found.summary) <= 500


def test_labels_of_metrics_that_end_are_named():
    found = finding_of(CHECK, "0.33+", a_cluster("0.32.10", kubernetes="1.28"))
    assert "and 15 more; metric labels provisioner, deprovisioner, region; " in found.summary
    assert (
        "# label deprovisioner of karpenter_deprovisioning_*, karpenter_disruption_* (now method)"
        in found.remedies[0].text.splitlines()
    )
    assert (
        "; metric labels method, action, consolidation_type, type, reason; "
        in finding_of(CHECK, "1.0", a_cluster()).summary
    )


@pytest.mark.parametrize(("hop", "version"), [("0.32", "0.31.4"), ("1.13", "1.12.2")])
def test_where_no_name_goes_there_is_nothing_to_ask(hop, version):
    found = finding_of(CHECK, hop, a_cluster(version))
    assert (found.status, found.summary) == ("not_applicable", "no metric name is removed by this upgrade")


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")
