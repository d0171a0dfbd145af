"""EKS clusters over REST: a draft first, then the role; and a way into AWS for clusters that are there."""

import uuid
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import Permission, User
from pytest_django import Settings

from migrations_app.clients.aws.cross_account import OwnIdentity
from migrations_app.clients.aws.permissions import minimal_policy, trust_policy
from migrations_app.inventory.objects.cluster_arn import AwsPlace
from migrations_app.models.cluster import Cluster
from tests.api.conftest import Tool
from tests.fakes.aws_server import ACCOUNT, ARN, OWN_ARN, ROLE, AwsServer
from tests.use_cases.clusters import eks

PLACE = AwsPlace(region="eu-west-1", cluster="shop", account=ACCOUNT)
DRAFTS = "clusters/eks-drafts"


@pytest.fixture
def aws(settings: Settings) -> Iterator[AwsServer]:
    with eks.running() as server:
        eks.at(settings, server)
        yield server


@pytest.fixture
def shop(db: None) -> Cluster:
    return Cluster.objects.create(name="shop", source="in_cluster")


def drafted(api: Tool, aws: AwsServer, path: str = DRAFTS) -> dict[str, str]:
    told: dict[str, str] = api("POST", path, {"arn": ARN}).json()
    aws.roles[ROLE] = told["external_id"]
    return told


def body(draft: dict[str, str], /, **more: str) -> dict[str, str]:
    return {"name": "shop", "source": "eks", "draft": draft["draft"], "role_arn": ROLE} | more


@pytest.mark.usefixtures("aws")
def test_a_draft_brings_the_policies(api: Tool) -> None:
    said = api("POST", DRAFTS, {"arn": ARN})
    told = said.json()
    assert (said.status_code, Cluster.objects.count()) == (200, 0)
    assert (told["name"], told["region"], told["account"], told["principal_arn"]) == (
        "shop", "eu-west-1", ACCOUNT, OWN_ARN,
    )  # fmt: skip
    assert told["trust_policy"] == trust_policy(principal_arn=OWN_ARN, external_id=told["external_id"])
    assert told["permissions_policy"] == minimal_policy(PLACE)


@pytest.mark.usefixtures("aws")
def test_name_and_region_do_as_well(api: Tool) -> None:
    told = api("POST", DRAFTS, {"name": "shop", "region": "eu-west-1"}).json()
    assert (told["name"], told["account"]) == ("shop", "")


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("given", "pointer"),
    [
        ({}, "#/arn"),
        ({"arn": ARN, "name": "shop"}, "#/arn"),
        ({"arn": "shop", "region": "eu-west-1"}, "#/arn"),
        ({"arn": "arn:aws:eks:x"}, "#/arn"),
        ({"arn": ARN, "region": "eu-west-2"}, "#/region"),
        ({"name": "shop"}, "#/region"),
        ({"name": "a/b", "region": "eu-west-1"}, "#/name"),
        ({"arn": ARN, "external_id": "mine"}, "#/external_id"),
    ],
)
def test_a_bad_draft_is_pointed_at(api: Tool, given: dict[str, str], pointer: str) -> None:  # T12
    said = api("POST", DRAFTS, given)
    assert (said.status_code, said.json()["errors"][0]["pointer"]) == (400, pointer)


def test_without_an_identity(api: Tool, aws: AwsServer, settings: Settings) -> None:
    settings.ENV = eks.dataclasses.replace(settings.ENV, aws=OwnIdentity(endpoint=aws.url))
    said = api("POST", DRAFTS, {"arn": ARN})
    assert (said.status_code, said.json()["code"]) == (409, "no_identity")
    assert "KARPDASH_AWS_ACCESS_KEY_ID" in said.json()["detail"]


def test_aws_that_does_not_answer(api: Tool, aws: AwsServer, settings: Settings) -> None:
    silent = eks.dataclasses.replace(aws.identity, endpoint="http://127.0.0.1:9")
    settings.ENV = eks.dataclasses.replace(settings.ENV, aws=silent)
    api._client.raise_request_exception = False
    said = api("POST", DRAFTS, {"arn": ARN})
    assert (said.status_code, said.json()["code"]) == (503, "not_answered")


def test_a_proven_role_is_registered(api: Tool, aws: AwsServer, house: list[uuid.UUID]) -> None:
    draft = drafted(api, aws)
    made = api("POST", "clusters", body(draft))
    told = made.json()
    assert (made.status_code, told["source"], told["eks_arn"], told["role_arn"], told["external_id"]) == (
        201, "eks", ARN, ROLE, draft["external_id"],
    )  # fmt: skip
    assert (told["scan_under_way"] is None, "draft" in told, Cluster.objects.get().created_by) == (False, False, "ada")


@pytest.mark.parametrize(
    ("more", "code", "pointer"),
    [
        ({"external_id": "mine"}, "unknown_field", "#/external_id"),
        ({"eks_arn": ARN}, "unknown_field", "#/eks_arn"),
        ({"draft": "forged"}, "bad_draft", "#/draft"),
        ({"role_arn": "x"}, "bad_role", "#/role_arn"),
        ({"role_arn": "arn:aws:iam::999988887777:role/foreign"}, "wrong_account", "#/role_arn"),
        ({"source": "in_cluster"}, "bad_input", "#/draft"),
    ],
)
def test_what_is_refused(api: Tool, aws: AwsServer, more: dict[str, str], code: str, pointer: str) -> None:  # T12
    said = api("POST", "clusters", body(drafted(api, aws), **more))
    (wrong,) = said.json()["errors"]
    assert (said.status_code, wrong["code"], wrong["pointer"], Cluster.objects.count()) == (400, code, pointer, 0)


@pytest.mark.parametrize("name", ["draft", "role_arn"])
def test_both_are_needed(api: Tool, aws: AwsServer, name: str) -> None:
    given = body(drafted(api, aws))
    del given[name]
    said = api("POST", "clusters", given)
    assert (said.status_code, said.json()["errors"][0]["pointer"]) == (400, f"#/{name}")


def test_an_unguarded_role_is_refused(api: Tool, aws: AwsServer) -> None:  # T20
    draft = drafted(api, aws)
    aws.roles[ROLE] = ""
    said = api("POST", "clusters", body(draft))
    assert (said.status_code, said.json()["errors"][0]["code"], Cluster.objects.count()) == (400, "role_unguarded", 0)


def test_a_draft_makes_one_cluster(api: Tool, aws: AwsServer) -> None:  # T20
    draft = drafted(api, aws)
    api("POST", "clusters", body(draft))
    again = api("POST", "clusters", body(draft, name="other"))
    assert (again.status_code, again.json()["code"]) == (409, "draft_used")


def test_a_registered_cluster_gets_a_way_in_and_loses_it(api: Tool, aws: AwsServer, shop: Cluster) -> None:
    path = f"clusters/{shop.pk}/aws"
    draft = drafted(api, aws, f"{path}/drafts")
    kept = api("POST", path, {"draft": draft["draft"], "role_arn": ROLE})
    assert (kept.status_code, kept["ETag"], kept.json()["eks_arn"], kept.json()["external_id"]) == (
        200, '"v2"', ARN, draft["external_id"],
    )  # fmt: skip
    assert api("DELETE", path).status_code == 428
    assert api("DELETE", path, if_match='"v1"').status_code == 412
    assert api("DELETE", path, if_match='"v2"').status_code == 204
    assert api("GET", f"clusters/{shop.pk}").json()["eks_arn"] == ""


def test_an_eks_cluster_keeps_its_way_in(api: Tool, aws: AwsServer) -> None:
    row = eks.registered(aws)
    said = api("DELETE", f"clusters/{row.pk}/aws", if_match="*")
    assert (said.status_code, Cluster.objects.get().eks_arn) == (400, ARN)


@pytest.mark.parametrize("field", ["eks_arn", "role_arn", "external_id"])
def test_a_change_of_the_cluster_does_not_touch_it(api: Tool, shop: Cluster, field: str) -> None:  # T12
    said = api("PATCH", f"clusters/{shop.pk}", {field: "x"}, if_match="*")
    assert (said.status_code, said.json()["errors"][0]["pointer"]) == (400, f"#/{field}")


@pytest.mark.usefixtures("aws")
def test_absent_clusters(api: Tool) -> None:
    path = f"clusters/{uuid.uuid4()}/aws"
    assert api("POST", path, {"draft": "x", "role_arn": ROLE}).status_code == 404
    assert api("POST", f"{path}/drafts", {"arn": ARN}).status_code == 404
    assert api("DELETE", path, if_match="*").status_code == 404


def test_rights_and_scopes(ada: User, ben: User, aws: AwsServer, shop: Cluster) -> None:  # T13
    paths = (DRAFTS, f"clusters/{shop.pk}/aws", f"clusters/{shop.pk}/aws/drafts")
    for tool in (Tool(ben), Tool(ada, "read", "scan")):
        assert [tool("POST", path, {"arn": ARN}).status_code for path in paths] == [403] * 3
    ben.user_permissions.add(Permission.objects.get(codename="change_cluster"))
    assert Tool(User.objects.get(pk=ben.pk))("POST", paths[2], {"arn": ARN}).status_code == 200
    assert Tool(User.objects.get(pk=ben.pk))("POST", DRAFTS, {"arn": ARN}).status_code == 403
    assert len(aws.asked) == 1
