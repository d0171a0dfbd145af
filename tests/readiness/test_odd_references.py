"""A reference to a node class is free JSON in an inventory: whatever stands there, a scan answers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from migrations_app.karpenter.detection import NO_CONTROLLER
from migrations_app.readiness import stage
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.report import CollectResult
from tests.builders.clusters import ACluster
from tests.builders.pools import REFERENCE, a_class, a_pool, at

WORDS = ("", "karpenter.k8s.aws", "eks.amazonaws.com", "karpenter.k8s.aws/v1", "EC2NodeClass", "default")
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.sampled_from(WORDS)
ODD = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner))
FIELDS = ("group", "apiVersion", "kind", "name")
REFERENCES = ODD | st.fixed_dictionaries({}, optional=dict.fromkeys(FIELDS, ODD))
VERSIONS = [("0.32.10", "v1beta1"), ("1.0.14", "v1")]


def crashed(cluster: ACluster) -> list[str]:
    """The checks that fell over at any hop."""
    report = evaluate(CollectResult(cluster.build(), ())).report
    return [one.summary for one in report.checks if one.summary.startswith("check failed")]


@pytest.mark.parametrize(("release", "version"), VERSIONS)
@settings(max_examples=30)
@given(reference=REFERENCES)
def test_no_odd_reference_makes_a_scan_fall_over(release, version, reference):
    cluster = at(release, a_pool({REFERENCE: reference}, version=version), a_class(version=version))
    assert crashed(cluster) == []


@pytest.mark.parametrize("odd", [["eks.amazonaws.com"], {"a": 1}, {}, 7])
def test_without_a_controller_an_odd_group_is_no_sign_of_auto_mode(odd):
    cluster = at("1.0.14", a_pool({f"{REFERENCE}.group": odd})).without("controller")
    assert stage.detect_running_release(cluster.build()).how == NO_CONTROLLER
