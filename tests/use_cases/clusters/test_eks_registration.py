"""Registration of EKS clusters: nothing is stored before the role is proven (T20) and the cluster described (T21)."""

import json

import pytest

from migrations_app.errors import Conflict, InvalidInput, ReadError
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.clusters.eks_registration import register_eks, try_eks
from migrations_app.use_cases.clusters.registration import Details
from tests.clients.kubernetes.rig import always
from tests.fakes.aws_server import ACCOUNT, ARN, ROLE
from tests.fakes.evilk8s import OTHER, EvilServer
from tests.use_cases.clusters import eks

pytestmark = pytest.mark.django_db
FOREIGN = "arn:aws:iam::999988887777:role/foreign"
VERSION = json.dumps({"gitVersion": "v1.30.4-eks"}).encode()
MAY = json.dumps({"status": {"allowed": True}}).encode()


@pytest.fixture
def aws(settings):
    with eks.running() as server:
        eks.at(settings, server)
        yield server


def register(draft, *, role=ROLE, name="shop", by="ada"):
    return register_eks(draft.text, Details(name=name, by=by), role_arn=role)


def refused(draft, **given):
    with pytest.raises((InvalidInput, Conflict)) as caught:
        register(draft, **given)
    return caught.value.code, caught.value.where


def test_a_guarded_role_is_registered(aws):  # T20
    draft = eks.drafted(aws)
    row = Cluster.objects.get(pk=register(draft, role=f" {ROLE}\n"))
    assert (row.source, row.eks_arn, row.role_arn, row.external_id) == ("eks", ARN, ROLE, draft.external_id)
    assert (row.server, row.context, row.sealed, row.created_by) == ("https://127.0.0.1:9", "", None, "ada")
    first, second, third, *later = aws.opened()
    assert (first, second, set(later)) == (draft.external_id, None, {draft.external_id})
    assert third not in {draft.external_id, None}


def test_the_session_says_who_registers(aws):  # T20
    eks.registered(aws)
    names = {asked["RoleSessionName"] for asked in aws.asked if asked["action"] == "sts:AssumeRole"}
    assert names == {"karpdash-register-ada"}


def test_by_name_and_region_the_role_tells_the_account(aws):
    draft = eks.drafted(aws, "shop", region="eu-west-1")
    assert Cluster.objects.get(pk=register(draft)).eks_arn == ARN


@pytest.mark.parametrize(("role", "code"), [(ROLE, "role_unguarded"), (FOREIGN, "wrong_account")])
def test_a_foreign_role_that_opens_without_the_id_is_refused(aws, role, code):  # T20
    draft = eks.drafted(aws)
    aws.roles[role] = ""
    assert refused(draft, role=role) == (code, "role_arn")
    assert Cluster.objects.count() == 0


def test_a_foreign_role_by_name_and_region_is_refused_too(aws):  # T20
    draft = eks.drafted(aws, "shop", region="eu-west-1")
    aws.roles[FOREIGN] = ""
    assert refused(draft, role=FOREIGN) == ("role_unguarded", "role_arn")


def test_a_role_guarded_by_somebody_elses_id_is_refused(aws):  # T20
    draft = eks.drafted(aws)
    aws.roles[ROLE] = "karpdash-of-another-cluster"
    assert refused(draft) == ("role_refused", "role_arn")
    assert [asked["action"] for asked in aws.asked][1:] == ["sts:AssumeRole"]


@pytest.mark.parametrize("role", ["", "x", "arn:aws:iam::111122223333:user/u", ROLE.replace("aws:", "aws-cn:", 1)])
def test_what_is_no_role_is_not_tried(aws, role):
    draft = eks.drafted(aws)
    assert refused(draft, role=role) == ("bad_role", "role_arn")
    assert aws.opened() == []


@pytest.mark.parametrize(
    ("changed", "wanted"),
    [
        ({"arn": ARN.replace("shop", "other")}, ("wrong_cluster", "draft")),
        ({"arn": ARN.replace(ACCOUNT, "999988887777")}, ("wrong_cluster", "draft")),
        ({"status": "CREATING"}, ("cluster_not_ready", "draft")),
        ({"endpoint": "http://127.0.0.1"}, ("not_https", "draft")),
        ({"certificateAuthority": {"data": "!"}}, ("bad_base64", "draft")),
    ],
)
def test_an_answer_that_cannot_be_used(aws, changed, wanted):  # T21
    draft = eks.drafted(aws)
    aws.clusters["shop"] |= changed
    assert (refused(draft), Cluster.objects.count()) == (wanted, 0)


def test_no_such_cluster(aws):
    draft = eks.drafted(aws)
    aws.clusters.clear()
    assert refused(draft) == ("no_cluster", "draft")


def test_a_role_that_may_not_describe_the_cluster(aws):
    draft = eks.drafted(aws)
    aws.refused.add("eks:DescribeCluster")
    assert refused(draft) == ("role_too_narrow", "role_arn")


def test_aws_that_does_not_answer_is_not_a_refusal(aws, settings):
    draft = eks.drafted(aws)
    silent = eks.dataclasses.replace(settings.ENV.aws, endpoint="http://127.0.0.1:9")
    settings.ENV = eks.dataclasses.replace(settings.ENV, aws=silent)
    with pytest.raises(ReadError) as caught:
        register(draft)
    assert (caught.value.code, Cluster.objects.count()) == ("unreachable", 0)


def test_a_draft_belongs_to_one_cluster(aws):  # T20
    draft = eks.drafted(aws)
    register(draft)
    assert refused(draft, name="other") == ("draft_used", "")
    assert Cluster.objects.count() == 1


def test_a_taken_name(aws):
    register(eks.drafted(aws))
    assert refused(eks.drafted(aws)) == ("name_taken", "")


def test_a_bad_name_is_told_before_aws_is_asked(aws):
    draft = eks.drafted(aws)
    assert refused(draft, name="") == ("bad_input", "name")
    assert aws.opened() == []


def test_somebody_elses_draft(aws):  # T11
    assert refused(eks.drafted(aws), by="ben") == ("bad_draft", "draft")


def speaking(request, wire):
    wire.answer(VERSION if request.path == "/version" else MAY)


def test_a_test_takes_every_step_and_stores_nothing(aws):
    draft = eks.drafted(aws)
    with EvilServer(speaking) as server:
        aws.cluster(server.url, eks.CA)
        tried = try_eks(draft.text, role_arn=ROLE, by="ada")
        url = server.url
    given = {name.lower(): value for name, value in server.requests[0].headers.items()}
    assert given["authorization"].startswith("Bearer k8s-aws-v1.")
    assert (tried.guarded, tried.arn, tried.note, Cluster.objects.count()) == (True, ARN, "", 0)
    assert (tried.result.reachable, tried.result.server, tried.result.kubernetes, tried.result.missing) == (
        True, url, "v1.30.4-eks", (),
    )  # fmt: skip


def test_a_server_with_another_certificate_gets_no_token(aws):  # T21
    draft = eks.drafted(aws)
    with EvilServer(always(lambda wire: wire.answer(VERSION)), pair=OTHER.issue()) as server:
        aws.cluster(server.url, eks.CA)
        tried = try_eks(draft.text, role_arn=ROLE, by="ada")
    assert (tried.guarded, tried.arn, tried.result.reachable, tried.result.error) == (True, ARN, False, "tls_untrusted")
    assert (server.requests, server.connections) == ([], 1)


@pytest.mark.parametrize(("held", "guarded", "code"), [("", False, "role_unguarded"), ("x1", None, "role_refused")])
def test_a_test_says_whether_the_role_is_guarded(aws, held, guarded, code):  # T20
    draft = eks.drafted(aws)
    aws.roles[ROLE] = held
    tried = try_eks(draft.text, role_arn=ROLE, by="ada")
    assert (tried.guarded, tried.result.reachable, tried.result.error) == (guarded, False, code)


def test_a_test_of_a_metadata_address_sends_nothing(aws):  # T03, K05
    draft = eks.drafted(aws)
    aws.cluster("https://169.254.169.254", eks.CA)
    tried = try_eks(draft.text, role_arn=ROLE, by="ada")
    assert (tried.guarded, tried.result.error) == (True, "address_refused")
