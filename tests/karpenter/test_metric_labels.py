"""Which labels a query asks of Karpenter's metrics in vain, per release."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.karpenter.metrics import (
    LabelUse,
    OutdatedMetric,
    label_queries,
    label_search_text,
    label_uses,
    labels_between,
    outdated_labels,
)
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.tables.metric_rows import METRIC_LABEL_ROWS
from migrations_app.karpenter.versions import release
from tests.builders.newest import NEWEST_RELEASE
from tests.growth import LINEAR, growth

NODES = "karpenter_nodes_allocatable"


def provisioner_of(metric: str) -> tuple[OutdatedMetric, ...]:
    return (OutdatedMetric(f"label provisioner of {metric}", "label nodepool", "0.33"),)


@pytest.mark.parametrize(
    "text",
    [
        f'sum({NODES}{{provisioner="default"}}) > 100',
        f'{NODES}{{zone=~"a|b", provisioner=~"${{pool}}"}}',
        f'{NODES} {{ provisioner != "" }}',
        f'{NODES}{{provisioner=\\"default\\"}}',
        f"{NODES}{{provisioner='default'}}",
        f'{{__name__="{NODES}",provisioner="default"}}',
        f"sum by (provisioner) ({NODES})",
        f"sum by(zone, provisioner)(rate({NODES}[5m]))",
        f'sum({NODES}{{zone=~"a)|b"}}) by (provisioner)',
        f'label_values({NODES}{{zone="a"}}, provisioner)',
        f'{NODES}{{provisioner="a", nodepool="a"}}',
        f"{NODES} * on (provisioner) group_left (team) owners",
        f"owners * on(provisioner, zone) group_right() {NODES}",
        f"sum({NODES}) by (node) > bool on (provisioner) owners",
        f"owners and on (provisioner) ({NODES} > 0)",
        f"owners / on (provisioner) sum without (zone) ({NODES})",
        f'rate({NODES}{{zone="a)"}}[5m]) unless on (provisioner) owners',
        f'{NODES}{{zone="a"}} == on (provisioner) owners',
    ],
)
def test_a_label_that_ended_with_0_32(text):
    assert outdated_labels(text, release("0.32.10")) == ()
    assert outdated_labels(text, release("0.33.0")) == provisioner_of(NODES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        'kube_pod_labels{provisioner="default"}',
        f'{NODES} * other{{provisioner="default"}}',
        f"sum({NODES}) / sum by (provisioner) (other)",
        f"sum({NODES}) without (provisioner)",
        f'{NODES}{{nodepool="provisioner"}}',
        f'{NODES}{{provisioner=""}}',
        f'{NODES}{{provisioner="a"}} or {NODES}{{nodepool="a"}}',
        f"sum by (provisioner, nodepool) ({NODES})",
        f'sum by (provisioner) (label_replace({NODES}, "provisioner", "$1", "nodepool", "(.*)"))',
        f"{NODES} + a * on (provisioner) b",
        f"a * on (provisioner) b + {NODES}",
        f"{NODES} * on (provisioner, nodepool) owners",
        f"{NODES} * ignoring (provisioner) owners",
        f'label_replace({NODES}, "provisioner", "$1", "nodepool", "(.*)") * on (provisioner) owners',
        'job:karpenter_nodes:sum{provisioner="default"}',
        'karpenter_of_tomorrow{provisioner="default"}',
        'karpenter_cloudprovider_duration_seconds_count{method="Create"}',
        'karpenter_nodeclaims_created_total{reason="provisioning"}',
    ],
)
def test_no_label_that_ended(text):
    assert outdated_labels(text, NEWEST_RELEASE) == ()


@pytest.mark.parametrize(
    ("text", "at", "new", "since"),
    [
        ('karpenter_deprovisioning_eligible_machines{deprovisioner="drift"}', "0.37.8", "label method", "0.33"),
        ('karpenter_deprovisioning_eligible_machines{deprovisioner="drift"}', "1.0.14", "label reason", "0.33"),
        ('karpenter_disruption_eligible_nodes{method="drift"}', "1.0.0", "label reason", "1.0"),
        ('karpenter_voluntary_disruption_decisions_total{action="delete"}', "1.0.0", "label decision", "1.0"),
        ('karpenter_nodeclaims_disrupted{type="drift"}', "1.0.0", "label reason", "1.0"),
        ('karpenter_nodeclaims_terminated{reason="drift"}', "1.0.0", "a query without the label", "1.0"),
        (
            'karpenter_cloudprovider_instance_type_price_estimate{region="a"}',
            "0.36.2",
            "a query without the label",
            "0.36",
        ),
        ('karpenter_nodeclaims_created_total{capacity_type="spot"}', "1.6.0", "a query without the label", "1.6"),
    ],
)
def test_labels_of_other_metrics(text, at, new, since):
    metric, _, label = text.partition("=")[0].partition("{")
    assert outdated_labels(text, release(at)) == (OutdatedMetric(f"label {label} of {metric}", new, since),)
    assert outdated_labels(text, release("0.32.10")) == ()


def test_short_queries_ask_for_the_same():
    text = f'sum by (provisioner, zone) ({NODES}) / {NODES}{{provisioner="a", zone="b"}} / up{{provisioner="a"}}'
    short = (f'{NODES}{{provisioner=~".+"}}', f"by (provisioner, zone) ({NODES})")
    assert label_queries(text) == short
    assert label_queries(" ".join(short)) == short


def test_the_labels_that_go_with_a_step():
    assert [row.old for row in labels_between(release("0.32.10"), release("0.37.8"))] == [
        "provisioner",
        "deprovisioner",
        "region",
    ]
    assert [row.old for row in labels_between(release("1.0.0"), NEWEST_RELEASE)] == ["capacity_type"]
    assert label_search_text(next(row for row in METRIC_LABEL_ROWS if row.metrics[0].endswith("_terminated"))) == (
        "label reason of karpenter_nodeclaims_terminated*, karpenter_machines_terminated* (now gone)"
    )


def test_the_rows_are_sound():
    assert {row.release for row in METRIC_LABEL_ROWS} <= {row.minor for row in RELEASES}
    starts = {start for row in METRIC_LABEL_ROWS for start in row.metrics}
    assert {start for start in starts if not start.startswith("karpenter_")} == set()
    assert [row for row in METRIC_LABEL_ROWS if row.old == row.new or not row.source] == []


@given(st.text(alphabet='karpenter_nods{}=~"|. \\by()', max_size=200))
def test_any_text_is_read(text):
    assert {type(use) for use in label_uses(text)} <= {LabelUse}


@pytest.mark.parametrize(
    "part",
    [
        f"{NODES}{{",
        "by (",
        "label_values(",
        "(",
        ")",
        f"{NODES} by (a) ",
        '"',
        " ",
        "a * on (b) ",
        "* on (",
        f"{NODES} * on (a) ",
        "* on (a) by (",
        "{",
        "[5m]",
    ],
)
def test_the_cost_of_hostile_text_grows_with_its_length(part):
    assert growth(lambda size: label_uses(NODES + part * (size // len(part))), small=5_000, large=80_000) < LINEAR
