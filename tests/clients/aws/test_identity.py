"""Who karpdash is to AWS, as a trust policy names it."""

import pytest

from migrations_app.clients.aws.cross_account import AwsLimits, OwnIdentity
from migrations_app.clients.aws.identity import own_principal, principal_of
from migrations_app.errors import InvalidResponse, Unauthorized
from tests.fakes.aws_server import OWN_ARN
from tests.use_cases.clusters import eks

ONCE = AwsLimits(tries=1)


@pytest.fixture
def aws():
    with eks.running() as server:
        yield server


@pytest.mark.parametrize(
    ("arn", "principal"),
    [
        ("arn:aws:iam::999900001111:user/team/karpdash", "arn:aws:iam::999900001111:user/team/karpdash"),
        ("arn:aws:iam::999900001111:root", "arn:aws:iam::999900001111:root"),
        ("arn:aws:sts::999900001111:assumed-role/karpdash/i-1", "arn:aws:iam::999900001111:role/karpdash"),
        ("arn:aws-cn:sts::999900001111:assumed-role/k/a/b", "arn:aws-cn:iam::999900001111:role/k"),
        ("arn:aws:sts::999900001111:federated-user/bob", "arn:aws:sts::999900001111:federated-user/bob"),
    ],
)
def test_sessions_come_and_go_roles_stay(arn, principal):
    assert principal_of(arn) == principal


def test_one_call_tells(aws):
    assert own_principal(aws.identity, region="eu-west-1", limits=ONCE) == OWN_ARN
    assert [asked["action"] for asked in aws.asked] == ["sts:GetCallerIdentity"]


def test_nobody_is_a_reason_of_its_own(aws):
    with pytest.raises(Unauthorized) as caught:
        own_principal(OwnIdentity(endpoint=aws.url), region="eu-west-1")
    assert (caught.value.code, aws.asked) == ("no_identity", [])


def test_keys_that_aws_does_not_know(aws):
    aws.own_arn = ""
    with pytest.raises(Unauthorized) as caught:
        own_principal(aws.identity, region="eu-west-1", limits=ONCE)
    assert caught.value.code == "unauthorized"


def test_an_answer_without_an_arn(aws, monkeypatch):
    monkeypatch.setattr("migrations_app.clients.aws.identity.made_client", lambda *_given, **_named: _Mute())
    with pytest.raises(InvalidResponse):
        own_principal(aws.identity, region="eu-west-1")


class _Mute:
    def get_caller_identity(self):
        return {}
