"""Registration proves that a role opens with its external id only (T20)."""

import pytest

from migrations_app.clients.aws.cross_account import AwsCredentials, AwsLimits, ClusterAccountAccess, OwnIdentity
from migrations_app.clients.aws.identity import prove_guarded
from migrations_app.clients.secret import Secret
from migrations_app.errors import Forbidden, InvalidInput, ServerFailed

ROLE = "arn:aws:iam::111122223333:role/karpdash"
OWN = AwsCredentials(access_key_id="AKIAOWN", secret=Secret("own"))


def prove(stub, **changed):
    facts = {"region": "eu-west-1", "role_arn": ROLE, "external_id": "karpdash-1"}
    own = OwnIdentity(keys=OWN, endpoint=stub.url)
    prove_guarded(ClusterAccountAccess(**facts | changed), own, limits=AwsLimits(tries=1))


def test_a_guarded_role_is_tried_with_without_and_with_another(sts):  # T20
    stub = sts({ROLE: "karpdash-1"})
    prove(stub)
    first, second, third = (asked.get("ExternalId") for asked in stub.asked)
    assert (first, second) == ("karpdash-1", None)
    assert third not in {"karpdash-1", None}


def test_an_unguarded_role_is_refused(sts):  # T20
    with pytest.raises(InvalidInput) as caught:
        prove(sts({ROLE: ""}))
    assert (caught.value.code, caught.value.where) == ("role_unguarded", "role_arn")


def test_a_role_that_does_not_open_proves_nothing(sts):
    with pytest.raises(Forbidden):
        prove(sts({}))


def test_a_refusal_for_another_reason_proves_nothing(sts):
    stub = sts({ROLE: "karpdash-1"}, code="Throttling")
    with pytest.raises(ServerFailed):
        prove(stub)


def test_keys_have_nothing_to_prove(sts):
    stub = sts({})
    prove(stub, role_arn="", external_id="", keys=OWN)
    assert stub.asked == []
