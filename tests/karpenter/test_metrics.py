"""What a query asks for in vain, per release."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.karpenter.metrics import OutdatedMetric, matchers_in, names_in, outdated, renamed_between
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.tables.metric_rows import METRIC_ROWS, METRIC_VALUE_ROWS, MetricRow
from migrations_app.karpenter.versions import release
from tests.builders.newest import NEWEST, NEWEST_RELEASE, NEXT_MINOR

MINORS = {row.minor for row in RELEASES}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("sum(karpenter_nodes_created) > 1", ("karpenter_nodes_created",)),
        ("karpenter_a / karpenter_b / karpenter_a", ("karpenter_a", "karpenter_b")),
        ('{__name__=~"karpenter_machines_.*"}', ("karpenter_machines_",)),
        ("job:karpenter_nodes_created:rate5m", ()),
        ("my_karpenter_nodes_created", ()),
        ("karpenter is up", ()),
        ("", ()),
        (
            '{__name__=~"karpenter_nodes_(created|terminated)_total"}',
            ("karpenter_nodes_created_total", "karpenter_nodes_terminated_total"),
        ),
        ('{__name__=~"karpenter_(?:nodes|pods)_.+"}', ("karpenter_nodes_", "karpenter_pods_")),
        ("rate(karpenter_nodes_created[5m])", ("karpenter_nodes_created",)),
    ],
)
def test_names_in_a_query(text: str, names: tuple[str, ...]) -> None:
    assert names_in(text) == names


def test_matchers_of_a_query() -> None:
    text = 'a{reason=~"(Drifted|Empty)", method="expire", x!=""} or b{reason!~"^liveness$"}'
    assert matchers_in(text) == (
        ("reason", "Drifted"),
        ("reason", "Empty"),
        ("method", "expire"),
        ("reason", "liveness"),
    )


@pytest.mark.parametrize(
    ("text", "at", "found"),
    [
        ("karpenter_machines_created", "0.32.10", ()),
        (
            "karpenter_machines_created",
            "0.33.0",
            (OutdatedMetric("karpenter_machines_created", "karpenter_nodeclaims_created", "0.33"),),
        ),
        (
            "karpenter_machines_created",
            "1.0.0",
            (OutdatedMetric("karpenter_machines_created", "karpenter_nodeclaims_created_total", "0.33"),),
        ),
        ("karpenter_machines_drifted", "1.0.0", (OutdatedMetric("karpenter_machines_drifted", "", "0.33"),)),
        (
            "rate(karpenter_pods_startup_time_seconds_bucket[5m])",
            "1.0.0",
            (
                OutdatedMetric(
                    "karpenter_pods_startup_time_seconds_bucket",
                    "karpenter_pods_startup_duration_seconds_bucket",
                    "1.0",
                ),
            ),
        ),
        (
            "karpenter_ignored_pod_count",
            "1.3.0",
            (OutdatedMetric("karpenter_ignored_pod_count", "karpenter_scheduler_ignored_pods_count", "1.3"),),
        ),
        (
            "karpenter_provisioner_usage / karpenter_provisioner_limit",
            "0.37.8",
            (
                OutdatedMetric("karpenter_provisioner_usage", "karpenter_nodepool_usage", "0.33"),
                OutdatedMetric("karpenter_provisioner_limit", "karpenter_nodepool_limit", "0.33"),
            ),
        ),
        ("karpenter_provisioner_usage_pct > 90", "0.32.10", ()),
        (
            "karpenter_provisioner_usage_pct > 90",
            "0.33.0",
            (OutdatedMetric("karpenter_provisioner_usage_pct", "", "0.33"),),
        ),
        (
            "karpenter_pods_scheduling_undecided_time_seconds",
            "1.3.0",
            (
                OutdatedMetric(
                    "karpenter_pods_scheduling_undecided_time_seconds",
                    "karpenter_pods_provisioning_scheduling_undecided_time_seconds",
                    "1.3",
                ),
            ),
        ),
        (
            'karpenter_cloudprovider_errors_total{error!="MachineNotFoundError"}',
            "0.33.0",
            (OutdatedMetric('error="MachineNotFoundError"', 'error="NodeClaimNotFoundError"', "0.31"),),
        ),
        ('karpenter_nodeclaims_created{reason="provisioning"}', "0.37.8", ()),
        (
            'karpenter_nodeclaims_created_total{reason="provisioning"}',
            "1.0.0",
            (OutdatedMetric('reason="provisioning"', 'reason="provisioned"', "1.0"),),
        ),
        (
            'karpenter_cloudprovider_errors_total{controller=~"deprovisioning|provisioner"}',
            "0.32.10",
            (OutdatedMetric('controller="deprovisioning"', 'controller="disruption"', "0.32"),),
        ),
        ('karpenter_cloudprovider_errors_total{controller="deprovisioning"}', "0.31.5", ()),
        ('karpenter_cloudprovider_errors_total{controller="machine.lifecycle"}', "0.32.10", ()),
        (
            'karpenter_cloudprovider_errors_total{controller="machine.lifecycle"}',
            "0.33.12",
            (OutdatedMetric('controller="machine.lifecycle"', 'controller="nodeclaim.lifecycle"', "0.33"),),
        ),
        ('workqueue_depth{controller="termination"}', NEWEST, ()),
        ("karpenter_nodes_created_total", "1.14.0", ()),
        ("karpenter_of_tomorrow", NEWEST, ()),
        ('{__name__=~"karpenter_machines_.*"}', "0.37.8", (OutdatedMetric("karpenter_machines_*", "", "0.33"),)),
        ('{__name__=~"karpenter_nodes_.*"}', "1.0.0", ()),
        (
            'karpenter_nodeclaims_disrupted_total{reason="liveness"}',
            "1.7.0",
            (OutdatedMetric('reason="liveness"', 'reason="registration_timeout"', "1.7"),),
        ),
        ('karpenter_nodeclaims_disrupted_total{reason="liveness"}', "1.6.0", ()),
        ('kube_pod_status{reason="Empty"}', NEWEST, ()),
        ("karpenter_pods_pods_drained_total or karpenter_pods_drained_total", "1.7.0", ()),
        ('{__name__=~"karpenter_pods_pods_drained_total|karpenter_pods_drained_total"}', "1.7.0", ()),
        (
            "karpenter_pods_pods_drained_total / karpenter_pods_drained_total",
            "1.7.0",
            (OutdatedMetric("karpenter_pods_pods_drained_total", "karpenter_pods_drained_total", "1.7"),),
        ),
        ('karpenter_nodeclaims_disrupted_total{reason=~"Drifted|drifted"}', "1.2.0", ()),
        (
            'karpenter_nodeclaims_disrupted_total{reason=~"Drifted|empty"}',
            "1.2.0",
            (OutdatedMetric('reason="Drifted"', 'reason="drifted"', "1.2"),),
        ),
    ],
)
def test_what_is_asked_in_vain(text: str, at: str, found: tuple[OutdatedMetric, ...]) -> None:
    assert outdated(text, release(at)) == found


def test_the_names_that_go_with_a_step() -> None:
    assert renamed_between(release("1.2.0"), release("1.8.0")) == (
        "karpenter_ignored_pod_count",
        "karpenter_pods_scheduling_undecided_time_seconds",
        "karpenter_pods_pods_drained_total",
    )
    assert renamed_between(release("1.9.0"), release("1.14.0")) == ()


def test_a_row_of_tomorrow_is_one_more_row() -> None:
    table = (
        *METRIC_ROWS,
        MetricRow("karpenter_nodes_created_total", "karpenter_nodes_made_total", NEXT_MINOR, "tomorrow"),
    )
    text = "karpenter_nodes_created"
    assert outdated(text, release(f"{NEXT_MINOR}.0"), table=table) == (
        OutdatedMetric(text, "karpenter_nodes_made_total", "1.0"),
    )


def test_the_rows_are_sound() -> None:
    assert len({row.old for row in METRIC_ROWS}) == len(METRIC_ROWS)
    assert {row.release for row in METRIC_ROWS} | {row.release for row in METRIC_VALUE_ROWS} <= MINORS
    assert [row for row in METRIC_ROWS if row.old == row.new or not row.source] == []


@given(st.text(alphabet='karpenter_nods{}=~"|. \\', max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert {type(found) for found in outdated(text, NEWEST_RELEASE)} <= {OutdatedMetric}
