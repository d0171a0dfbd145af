import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.karpenter.vcpu_quotas import QUOTA_CODES, QUOTAS, is_instance_type, quota_of, quota_row


@pytest.mark.parametrize(
    ("name", "on_demand", "spot"),
    [
        ("m6i.2xlarge", "L-1216C47A", "L-34B43A08"),
        ("im4gn.large", "L-1216C47A", "L-34B43A08"),
        ("t4g.micro", "L-1216C47A", "L-34B43A08"),
        ("g5.xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("gr6.4xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("vt1.3xlarge", "L-DB2E81BA", "L-3819A6DF"),
        ("p4d.24xlarge", "L-417A185B", "L-7212CCBC"),
        ("inf2.xlarge", "L-1945791B", "L-B5D1601B"),
        ("trn1n.32xlarge", "L-2C3B7624", "L-6B0D517C"),
        ("x2iedn.xlarge", "L-7295265B", "L-E3A00192"),
        ("dl1.24xlarge", "L-6E869C2A", "L-85EED4F7"),
        ("u-6tb1.metal", "L-43DA4232", None),
        ("hpc7g.4xlarge", "L-F7808C92", None),
        ("p5.48xlarge", "L-417A185B", None),
        ("mac2.metal", None, None),
        ("q9.large", None, None),
        ("m6i", None, None),
        ("", None, None),
        ("M6I.LARGE", None, None),
        ("m6i.large\n", None, None),
    ],
)
def test_the_quota_of_a_type(name, on_demand, spot):
    found = [quota_of(name, spot=market) for market in (False, True)]
    assert [row and row.code for row in found] == [on_demand, spot]


def test_codes_are_unique_and_found():
    assert len(set(QUOTA_CODES)) == len(QUOTAS)
    assert [quota_row(code) for code in QUOTA_CODES] == list(QUOTAS)
    assert quota_row("L-0263D0A3") is None


@given(st.text(max_size=60), st.booleans())
def test_no_text_breaks_it(text, spot):
    row = quota_of(text, spot=spot)
    assert row is None or (is_instance_type(text) and row.spot == spot)
