"""Registration of an EKS cluster: endpoint and CA come from DescribeCluster, tokens go to who proves itself (T21)."""

import base64

import pytest

from migrations_app.clients.aws.cross_account import AwsCredentials, ClusterAccountAccess, OwnIdentity
from migrations_app.clients.aws.eks import eks_connection, token_source
from migrations_app.clients.aws.session import AwsSession
from migrations_app.clients.kubernetes.connection import Connection, EksToken, Server
from migrations_app.clients.kubernetes.reader import open_live
from migrations_app.clients.secret import Secret
from migrations_app.errors import Forbidden, InvalidInput, TlsRefused
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from tests.clients.kubernetes.rig import FAST, HERE, always
from tests.fakes.aws_api import PLACE, FakeAws, a_cluster
from tests.fakes.evilk8s import AUTHORITY, OTHER, EvilServer

CA = base64.b64encode(AUTHORITY.pem.encode()).decode()
ENTRY = ClusterAccountAccess(
    region="eu-west-1", role_arn="arn:aws:iam::111122223333:role/karpdash", external_id="karpdash-1"
)
KEYS = AwsCredentials(access_key_id="ASIAEXAMPLE", secret=Secret("secret"))


def described(**changed):
    return FakeAws(eks=a_cluster(**{"ca_data": CA} | changed))


def refusal(api):
    with pytest.raises(InvalidInput) as caught:
        eks_connection(api, ENTRY)
    return caught.value.code


def test_the_connection_of_a_described_cluster():
    assert eks_connection(described(), ENTRY) == Connection(
        server=Server("abc.gr7.eu-west-1.eks.amazonaws.com"),
        ca_pem=AUTHORITY.pem,
        context=PLACE.arn,
        eks=EksToken("shop", "eu-west-1", ENTRY.role_arn, "karpdash-1"),
    )


def test_by_name_and_region_the_account_is_the_one_reached():
    api = described()
    api.place = AwsPlace(region="eu-west-1", cluster="shop")
    assert eks_connection(api, ENTRY).context == PLACE.arn


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"arn": PLACE.arn.replace("shop", "other")}, "wrong_cluster"),
        ({"arn": PLACE.arn.replace("eu-west-1", "eu-west-2")}, "wrong_cluster"),
        ({"arn": PLACE.arn.replace("1111", "9999")}, "wrong_cluster"),
        ({"arn": "shop"}, "bad_region"),
        ({"status": "CREATING", "endpoint": "", "ca_data": ""}, "cluster_not_ready"),
        ({"endpoint": "http://abc.example"}, "not_https"),
        ({"endpoint": ""}, "bad_server"),
        ({"ca_data": ""}, "bad_certificate"),
        ({"ca_data": "!"}, "bad_base64"),
        ({"ca_data": base64.b64encode(b"no certificate").decode()}, "bad_certificate"),
    ],
)
def test_an_answer_that_cannot_be_trusted(changed, code):  # T21
    assert refusal(described(**changed)) == code


def test_no_such_cluster_in_the_region():
    assert refusal(FakeAws(eks=None)) == "no_cluster"


def test_the_wrong_account_is_not_asked_for_the_cluster():
    api = described()
    api.account = "999900001111"
    assert (refusal(api), api.calls) == ("wrong_account", [("caller",)])


def test_what_aws_refuses_is_passed_on():
    with pytest.raises(Forbidden):
        eks_connection(FakeAws(fails={"cluster": Forbidden("may not")}), ENTRY)


def look(evil):
    connection = eks_connection(described(endpoint=evil.url), ENTRY)
    source = token_source(
        AwsSession(ClusterAccountAccess(region="eu-west-1", keys=KEYS), OwnIdentity()), cluster="shop"
    )
    api = open_live(connection, reach=HERE, limits=FAST, token=source)
    try:
        return api.get("/version")
    finally:
        api.close()


def test_the_right_server_gets_the_token():
    with EvilServer(always(lambda wire: wire.answer(b"{}"))) as evil:
        assert look(evil) == b"{}"
    given = {name.lower(): value for name, value in evil.requests[0].headers.items()}
    assert given["authorization"].startswith("Bearer k8s-aws-v1.")


def test_a_server_with_another_certificate_gets_nothing():  # T21
    with EvilServer(always(lambda wire: wire.answer(b"{}")), pair=OTHER.issue()) as evil, pytest.raises(TlsRefused):
        look(evil)
    assert (evil.requests, evil.connections) == ([], 1)
