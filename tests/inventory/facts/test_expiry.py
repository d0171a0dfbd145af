import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.inventory.facts.node_claims import expired
from migrations_app.inventory.objects.karpenter import (
    ClaimSpec,
    ClaimStatus,
    Metadata,
    NodeClaim,
    NodePool,
    StatusCondition,
)

NOW = "2026-10-01T12:00:00Z"


def a_claim(born: str | None, *, after: str | None = None, condition: str = "") -> NodeClaim:
    conditions = [StatusCondition(type="Expired", status=condition)] if condition else []
    return NodeClaim(
        metadata=Metadata(name="c", creation_timestamp=born, labels={"karpenter.sh/nodepool": "web"}),
        spec=ClaimSpec(expire_after=after),
        status=ClaimStatus(conditions=conditions),
    )


def pools(**spec) -> dict[str, NodePool]:
    return {"web": NodePool(spec=spec)}


@pytest.mark.parametrize(
    ("claim", "given_pools", "wanted"),
    [
        (a_claim("2026-10-01T11:00:00Z", after="1h"), {}, True),
        (a_claim("2026-10-01T11:00:01Z", after="1h"), {}, False),
        (a_claim("2026-10-01T13:00:00+02:00", after="1h"), {}, True),
        (a_claim("2020-01-01T00:00:00Z", after="Never"), {}, False),
        (a_claim("2020-01-01T00:00:00Z"), pools(disruption={"expireAfter": "24h"}), True),
        (a_claim("2026-10-01T00:00:00Z"), pools(template={"spec": {"expireAfter": "24h"}}), False),
        (a_claim("2026-08-01T00:00:00Z"), pools(), True),
        (a_claim("2026-08-01T00:00:00Z"), {}, None),
        (a_claim(None, after="1h"), {}, None),
        (a_claim("2026-10-01T11:00:00", after="1h"), {}, None),
        (a_claim("soon", after="1h"), {}, None),
        (a_claim("2026-10-01T11:00:00Z", after="30d"), {}, None),
        (a_claim("2026-08-01T00:00:00Z"), pools(disruption={"expireAfter": 7}), True),
        (a_claim(None, condition="True"), {}, True),
        (a_claim("2026-10-01T11:59:00Z", after="1h", condition="False"), {}, False),
    ],
)
def test_whether_its_time_is_over(claim, given_pools, wanted):
    assert expired(claim, given_pools, now=NOW) is wanted


@given(born=st.none() | st.text(max_size=30), after=st.none() | st.text(max_size=20), now=st.text(max_size=30))
def test_odd_texts_are_unknown_or_never(born, after, now):
    assert expired(a_claim(born, after=after), {}, now=now) in (None, False)
