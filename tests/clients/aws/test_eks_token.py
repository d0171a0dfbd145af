"""EKS tokens: what is signed, when a new one is made, and that nothing shows or keeps them."""

import base64
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
import time_machine
from botocore.session import Session as Core
from botocore.signers import RequestSigner

from migrations_app.clients.aws.cross_account import AwsCredentials, ClusterAccountAccess, OwnIdentity
from migrations_app.clients.aws.eks import HEADER, PREFIX, RENEW_AFTER, signed_token, sts_host, token_source
from migrations_app.clients.aws.session import AwsSession
from migrations_app.clients.secret import Secret
from migrations_app.errors import Unauthorized
from migrations_app.iam.partitions import partition_of

KEYS = AwsCredentials(access_key_id="ASIAEXAMPLE", secret=Secret("secret"), token=Secret("session/token+="))
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


def url_in(token):
    packed = token.reveal().removeprefix(PREFIX)
    return base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4)).decode()


def session():
    return AwsSession(ClusterAccountAccess(region="eu-west-1", keys=KEYS), OwnIdentity())


@time_machine.travel(NOW, tick=False)
def test_the_token_is_a_signed_question_who_am_i():
    token = signed_token(KEYS, cluster="shop", region="eu-west-1")
    parts = urlsplit(url_in(token))
    query = {name: values[0] for name, values in parse_qs(parts.query).items()}
    assert (parts.scheme, parts.netloc, parts.path) == ("https", "sts.eu-west-1.amazonaws.com", "/")
    assert len(query.pop("X-Amz-Signature")) == 64
    assert query == {
        "Action": "GetCallerIdentity",
        "Version": "2011-06-15",
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": "ASIAEXAMPLE/20261121/eu-west-1/sts/aws4_request",
        "X-Amz-Date": "20261121T120000Z",
        "X-Amz-Expires": "60",
        "X-Amz-Security-Token": "session/token+=",
        "X-Amz-SignedHeaders": f"host;{HEADER}",
    }


@time_machine.travel(NOW, tick=False)
def test_it_is_signed_as_botocores_other_way_signs():
    core = Core()
    core.set_credentials(KEYS.access_key_id, KEYS.secret.reveal(), KEYS.token.reveal())
    service = core.get_service_model("sts").service_id
    signer = RequestSigner(
        service, "eu-west-1", "sts", "v4", core.get_credentials(), core.get_component("event_emitter")
    )
    request = {
        "method": "GET", "url": "https://sts.eu-west-1.amazonaws.com/?Action=GetCallerIdentity&Version=2011-06-15",
        "body": {}, "headers": {HEADER: "shop"}, "context": {},
    }  # fmt: skip
    wanted = signer.generate_presigned_url(request, region_name="eu-west-1", expires_in=60, operation_name="")
    token = signed_token(KEYS, cluster="shop", region="eu-west-1")
    assert parse_qs(urlsplit(url_in(token)).query) == parse_qs(urlsplit(wanted).query)


@time_machine.travel(NOW, tick=False)
def test_a_token_is_bound_to_cluster_and_identity():
    other = AwsCredentials(access_key_id="ASIAEXAMPLE", secret=Secret("other"), token=KEYS.token)
    made = {
        signed_token(keys, cluster=cluster, region=region).reveal()
        for keys in (KEYS, other)
        for cluster in ("shop", "shop2")
        for region in ("eu-west-1", "eu-west-2")
    }
    assert len(made) == 8


def test_the_prefix_and_the_alphabet_are_those_of_eks():
    token = signed_token(KEYS, cluster="shop", region="eu-west-1").reveal()
    assert token.startswith("k8s-aws-v1.")
    assert set(token.removeprefix(PREFIX)).isdisjoint("+/=")


def test_it_is_never_shown():
    assert repr(signed_token(KEYS, cluster="shop", region="eu-west-1")) == "Secret(hidden)"


@pytest.mark.parametrize("region", ["eu-west-1", "us-gov-west-1", "cn-north-1", "us-iso-east-1", "us-isob-east-1",
                                    "us-isof-south-1", "eu-isoe-west-1", "eusc-de-east-1"])  # fmt: skip
def test_hosts_and_partitions_are_those_of_botocore(region):
    resolver = Core()._get_internal_component("endpoint_resolver")
    known = resolver.get_partition_for_region(region)
    assert (partition_of(region), sts_host(region)) == (
        known,
        f"sts.{region}.{resolver.get_partition_dns_suffix(known)}",
    )


def test_one_token_for_ten_minutes_then_a_new_one():
    moment = [NOW]
    source = token_source(session(), cluster="shop", now=lambda: moment[0])
    first = source()
    moment[0] = NOW + RENEW_AFTER - timedelta(seconds=1)
    assert source() is first
    moment[0] = NOW + RENEW_AFTER
    assert source() is not first


def test_a_clock_that_went_back_makes_a_new_token():
    moment = [NOW]
    source = token_source(session(), cluster="shop", now=lambda: moment[0])
    first = source()
    moment[0] = NOW - timedelta(hours=1)
    assert source() is not first


def test_without_an_identity_there_is_a_reason():
    entry = ClusterAccountAccess(
        region="eu-west-1", role_arn="arn:aws:iam::111122223333:role/r", external_id="karpdash-1"
    )
    with pytest.raises(Unauthorized) as caught:
        token_source(AwsSession(entry, OwnIdentity()), cluster="shop")()
    assert caught.value.code == "no_identity"
