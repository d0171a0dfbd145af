"""Drafts: the external id is karpdash's own, and nobody can bring another one (T12, T20)."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.core import signing

from migrations_app.clients.aws.cross_account import OwnIdentity
from migrations_app.clients.aws.permissions import minimal_policy, trust_policy
from migrations_app.errors import Conflict, Forbidden, InvalidInput, Unauthorized
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.use_cases.clusters import eks_registration as drafts
from migrations_app.use_cases.clusters.eks_registration import draft_access, identity_error, read_draft
from tests.fakes.aws_server import ARN, OWN_ARN
from tests.use_cases.clusters import eks

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
PLACE = AwsPlace(region="eu-west-1", cluster="shop", account="111122223333")


@pytest.fixture
def aws(settings):
    with eks.running() as server:
        eks.at(settings, server)
        yield server


@pytest.mark.usefixtures("aws")
@time_machine.travel(NOW, tick=False)
def test_a_draft_of_an_arn():
    draft = draft_access(ARN, by="ada")
    assert (draft.place, draft.principal, draft.by) == (PLACE, OWN_ARN, "ada")
    assert (draft.cluster, draft.expires_at) == (ARN, NOW + timedelta(days=7))
    assert json.loads(draft.trust_text) == trust_policy(principal_arn=OWN_ARN, external_id=draft.external_id)
    assert json.loads(draft.rights_text) == minimal_policy(PLACE)
    assert read_draft(f" {draft.text}\n", by="ada") == draft


@pytest.mark.usefixtures("aws")
def test_by_name_and_region_the_account_stays_open():
    draft = draft_access("shop", region="eu-west-1", by="ada")
    assert (draft.place, draft.cluster) == (AwsPlace(region="eu-west-1", cluster="shop"), "shop")
    assert "arn:aws:eks:eu-west-1:*:cluster/shop" in draft.rights_text


@pytest.mark.usefixtures("aws")
def test_each_draft_has_an_id_of_its_own():  # T20
    made = {draft_access(ARN, by="ada").external_id for _ in range(5)}
    assert len(made) == 5


def test_a_role_of_ours_is_named_by_the_role_not_by_its_session(aws):
    aws.own_arn = "arn:aws:sts::999900001111:assumed-role/karpdash/botocore-session-1"
    assert draft_access(ARN, by="ada").principal == "arn:aws:iam::999900001111:role/karpdash"


@pytest.mark.parametrize(
    ("cluster", "region", "where"),
    [("shop", "", "region"), ("arn:aws:eks:x", "", "arn"), (ARN, "eu-west-2", "region"), ("", "eu-west-1", "cluster")],
)
def test_what_names_no_cluster(aws, cluster, region, where):
    with pytest.raises(InvalidInput) as caught:
        draft_access(cluster, region=region, by="ada")
    assert (caught.value.where, aws.asked) == (where, [])


def test_without_an_identity_it_says_what_to_set(settings, aws):
    eks.at(settings, aws)
    settings.ENV = eks.dataclasses.replace(settings.ENV, aws=OwnIdentity(endpoint=aws.url))
    with pytest.raises(Conflict, match="KARPDASH_AWS_ACCESS_KEY_ID") as caught:
        draft_access(ARN, by="ada")
    assert (caught.value.code, aws.asked) == ("no_identity", [])


def test_an_identity_that_aws_does_not_know(aws):
    aws.own_arn = ""
    with pytest.raises(Unauthorized):
        draft_access(ARN, by="ada")
    assert isinstance(identity_error(Unauthorized("x")), Unauthorized)
    assert not isinstance(identity_error(Unauthorized("x")), Forbidden)


def refused(text, by="ada"):
    with pytest.raises(InvalidInput) as caught:
        read_draft(text, by=by)
    return caught.value.code, caught.value.where


@pytest.mark.usefixtures("aws")
def test_another_persons_draft_is_none():  # T11, T12
    assert refused(draft_access(ARN, by="ada").text, by="ben") == ("bad_draft", "draft")


@pytest.mark.usefixtures("aws")
@time_machine.travel(NOW, tick=False)
def test_a_draft_ends_after_a_week():
    text = draft_access(ARN, by="ada").text
    with time_machine.travel(NOW + timedelta(days=7, seconds=-1), tick=False):
        assert read_draft(text, by="ada").place == PLACE
    with time_machine.travel(NOW + timedelta(days=7), tick=False):
        assert refused(text) == ("draft_expired", "draft")


@pytest.mark.usefixtures("aws")
def test_a_changed_text_is_no_draft():
    text = draft_access(ARN, by="ada").text
    told = signing.b64_decode(text.partition(":")[0].encode()).decode()
    mine = signing.b64_encode(told.replace("karpdash-", "chosen-by-me-").encode()).decode()
    forged = f"{mine}:{text.partition(':')[2]}"
    for wrong in ("", "x", text[:-1], text + "x" * drafts.MAX_DRAFT_LENGTH, forged):
        assert refused(wrong) == ("bad_draft", "draft")


def test_a_text_signed_for_another_purpose_is_no_draft():
    assert refused(signing.Signer(salt="karpdash.cursor").sign_object({"by": "ada"})) == ("bad_draft", "draft")
