import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.conversion.metadata import OPERATORS, accepted, is_restricted
from migrations_app.karpenter.tables.label_rows import INSTANCE_ROWS
from migrations_app.karpenter.versions import release
from tests.builders.newest import NEWEST_RELEASE as NEWEST


@pytest.mark.parametrize("row", INSTANCE_ROWS, ids=lambda row: row.key)
def test_what_karpenter_writes_about_instances_may_be_asked_for(row):
    assert accepted(row.key, NEWEST)


@pytest.mark.parametrize(
    ("key", "before", "after"),
    [
        ("karpenter.k8s.aws/capacity-reservation-id", "1.2.2", "1.3.0"),
        ("karpenter.k8s.aws/instance-tenancy", "1.8.2", "1.9.0"),
        ("karpenter.k8s.aws/instance-capability-flex", "1.6.5", "1.7.0"),
    ],
)
def test_keys_that_a_release_opens(key, before, after):
    assert (accepted(key, release(before)), accepted(key, release(after))) == (False, True)


@pytest.mark.parametrize(
    "key", ["karpenter.sh/provisioner-name", "karpenter.sh/nodepool", "kubernetes.io/hostname", "own.k8s.io/x"]
)
def test_keys_that_stay_closed(key):
    assert not accepted(key, NEWEST)


@given(st.text(alphabet="abc./-", max_size=30))
def test_what_was_open_stays_open(key):
    assert accepted(key, NEWEST) or is_restricted(key)


def test_operators():
    assert OPERATORS == ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte")
