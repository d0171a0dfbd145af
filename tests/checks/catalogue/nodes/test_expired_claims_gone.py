import pytest

from migrations_app.checks.base import Evidence
from migrations_app.samples.karpenter_objects import ON_DEMAND, Launched, claim, pool
from tests.builders.clusters import a_cluster, asked_hops, reads, remedies, result_of, result_without

CHECK = "expired_claims_gone"
GOOD = ("pass", "No NodeClaim is past its expiry", ())
LAUNCHED = Launched(pool="web", number=1, cluster="test", kubelet="v1.29.4")
ONE = "1 NodeClaim is past its expiry"
UNKNOWN = ("unknown", f"NodeClaim {LAUNCHED.claim}: its expiry is not known from its NodePool and its age", ())


def with_claim(born: str, *, after: object = "720h", version: str = "v1beta1", **conditions: str):
    made = pool("web", ON_DEMAND, node_class="default", version=version)
    found, node = claim(LAUNCHED, node_class="default", version=version, status=conditions)
    found["metadata"]["creationTimestamp"] = born
    if version == "v1":
        found["spec"]["expireAfter"] = after
    else:
        made["spec"]["disruption"]["expireAfter"] = after
    return a_cluster().with_docs(made, found, node)


def overdue(born: str) -> tuple[str, str, tuple[Evidence, ...]]:
    row = Evidence(
        kind="NodeClaim",
        name=LAUNCHED.claim,
        path="metadata.creationTimestamp",
        seen=f"since {born}, and expired",
        wanted="replaced before the upgrade",
    )
    return "fail", ONE, (row,)


@pytest.mark.parametrize("version", ["v1beta1", "v1"])
def test_its_time_is_not_over(version):
    assert result_of(CHECK, "1.0", with_claim("2026-09-20T00:00:00Z", version=version)) == GOOD


@pytest.mark.parametrize("version", ["v1beta1", "v1"])
def test_its_time_is_over(version):
    born = "2026-08-01T00:00:00Z"
    assert result_of(CHECK, "1.0", with_claim(born, version=version)) == overdue(born)


def test_to_the_second():
    assert result_of(CHECK, "1.0", with_claim("2026-10-01T11:00:00Z", after="1h")) == overdue("2026-10-01T11:00:00Z")
    assert result_of(CHECK, "1.0", with_claim("2026-10-01T11:00:01Z", after="1h")) == GOOD


def test_the_condition_decides_without_an_age():
    assert result_of(CHECK, "1.0", with_claim("2026-10-01T11:59:00Z", Expired="True")) == overdue(
        "2026-10-01T11:59:00Z"
    )


def test_some_never_expire():
    assert result_of(CHECK, "1.0", with_claim("2020-01-01T00:00:00Z", after="Never")) == GOOD


def test_a_pool_that_says_nothing_expires_after_a_month():
    assert result_of(CHECK, "1.0", with_claim("2026-08-01T00:00:00Z", after=None)) == overdue("2026-08-01T00:00:00Z")


@pytest.mark.parametrize(
    ("born", "after"), [("2026-09-20T00:00:00Z", "30d"), ("yesterday", "720h"), ("2026-09-20", "1h")]
)
def test_what_cannot_be_read_is_unknown(born, after):
    assert result_of(CHECK, "1.0", with_claim(born, after=after)) == UNKNOWN


def test_a_claim_whose_pool_is_gone_is_unknown():
    assert result_of(CHECK, "1.0", with_claim("2026-09-20T00:00:00Z").without("nodepools")) == UNKNOWN


def test_without_claims_there_is_nothing_to_ask():
    assert result_of(CHECK, "1.0", a_cluster()) == ("not_applicable", "there is no NodeClaim yet", ())


def test_it_is_asked_at_1_0_only():
    assert asked_hops(CHECK) == ("1.0",)


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part):
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")


def test_the_remedy_looks_before_it_replaces():
    (remedy,) = remedies(CHECK, "1.0", with_claim("2026-08-01T00:00:00Z"))
    assert remedy.text.splitlines()[1:] == [
        f"kubectl describe nodeclaims.karpenter.sh {LAUNCHED.claim}",
        f"kubectl delete nodeclaims.karpenter.sh {LAUNCHED.claim}",
    ]
