"""The way into an account: which entries are refused before anything is sent, and how a session is named (T20)."""

import pytest

from migrations_app.clients.aws.cross_account import AwsCredentials, ClusterAccountAccess, checked, new_external_id
from migrations_app.clients.secret import Secret
from migrations_app.errors import InvalidInput
from migrations_app.inventory.objects.cluster_arn import RoleArn

ROLE = "arn:aws:iam::111122223333:role/karpdash"
KEYS = AwsCredentials(access_key_id="AKIA", secret=Secret("s"))


def entry(**changed):
    facts = {"region": "eu-west-1", "account": "111122223333", "role_arn": ROLE, "external_id": "karpdash-1"}
    return ClusterAccountAccess(**facts | changed)


def test_a_role_with_its_external_id():
    assert checked(entry()) == RoleArn("aws", "111122223333", "", "karpdash")


def test_keys_take_no_role():
    assert checked(entry(keys=KEYS, role_arn="")) is None


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"role_arn": ""}, "bad_role"),
        ({"role_arn": "karpdash"}, "bad_role"),
        ({"role_arn": ROLE.replace(":aws:", ":aws-cn:")}, "bad_role"),
        ({"role_arn": ROLE.replace("1111", "9999")}, "wrong_account"),
        ({"external_id": ""}, "no_external_id"),
        ({"external_id": "a b"}, "no_external_id"),
        ({"keys": KEYS}, "two_identities"),
        ({"account": "1"}, "bad_account"),
    ],
)
def test_a_way_in_that_is_refused(changed, code):  # T20
    with pytest.raises(InvalidInput) as caught:
        checked(entry(**changed))
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("user", "action", "name"),
    [
        ("ada", "scan", "karpdash-scan-ada"),
        ("", "scan", "karpdash-scan"),
        ("ada@example.org", "taint_and_drift", "karpdash-taint_and_drift-ada@example.org"),
        ("Ada L\u00f6velace\n", "scan", "karpdash-scan-Ada-L-velace-"),
        ("a" * 99, "scan", "karpdash-scan-" + "a" * 50),
    ],
)
def test_the_session_carries_user_and_action(user, action, name):  # T20
    assert entry(user=user, action=action).session_name == name


def test_external_ids_are_long_and_never_the_same():
    made = {new_external_id() for _ in range(50)}
    assert (len(made), {len(one) for one in made}) == (50, {len("karpdash-") + 40})
    assert all(checked(entry(external_id=one)) for one in made)


def test_secrets_are_not_shown():
    assert "Secret(hidden)" in repr(
        entry(keys=AwsCredentials(access_key_id="AKIA", secret=Secret("canary")), role_arn="")
    )
