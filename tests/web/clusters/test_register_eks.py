"""An EKS cluster on the registration page: the external id first, then the role, then proof."""

import dataclasses
import json
import re
from html import unescape

import pytest

from migrations_app.clients.aws.cross_account import OwnIdentity
from migrations_app.clients.aws.permissions import minimal_policy
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan
from migrations_app.use_cases.clusters.eks_registration import read_draft
from tests.fakes.aws_server import ARN, OWN_ARN, ROLE
from tests.use_cases.clusters import eks
from tests.web.pages import text

pytestmark = pytest.mark.django_db
NEW = "/clusters/new"


@pytest.fixture
def aws(settings):
    with eks.running() as server:
        eks.at(settings, server)
        yield server


def start(client, cluster=ARN, **more):
    return client.post(NEW, {"way": "eks", "do": "draft", "eks_cluster": cluster} | more)


def hidden(answer):
    found = re.search(r'name="draft"\s+value="([^"]*)"', answer.content.decode())
    return unescape(found[1]) if found else ""


def form(draft, /, **more):
    return {"way": "eks", "do": "register", "draft": draft.text, "role_arn": ROLE, "name": "shop"} | more


def test_the_page_offers_the_way(ada):
    page = ada.get(NEW)
    assert page.context["way"] == "eks"
    words = text(page)
    assert words.index("EKS cluster by ARN") < words.index("Paste a kubeconfig")
    assert "Generate the external ID" in words


def test_the_policy_can_be_read_before_there_is_an_id_or_an_identity(ada, settings):
    settings.ENV = dataclasses.replace(settings.ENV, aws=OwnIdentity())
    page = unescape(ada.get(f"{NEW}?way=eks").content.decode())
    assert json.dumps(minimal_policy(), indent=2) in page


def test_the_first_step_shows_id_and_policies(ada, aws):
    answer = start(ada, name="my shop", environment="prod")
    draft = read_draft(hidden(answer), by="ada")
    page = unescape(answer.content.decode())
    assert (answer.status_code, aws.opened(), Cluster.objects.count()) == (200, [], 0)
    for told in (draft.external_id, draft.trust_text, draft.rights_text, OWN_ARN, 'value="my shop"', 'value="prod"'):
        assert told in page
    assert page.count('class="code boxed"') >= 3  # each gets a copy button


def test_the_draft_is_found_again_under_its_address(ada, aws):
    draft = eks.drafted(aws)
    answer = ada.get(NEW, {"way": "eks", "draft": draft.text})
    assert draft.external_id in text(answer)
    assert hidden(answer) == draft.text


def test_somebody_elses_draft_is_not_shown(ada, aws):  # T11
    draft = eks.drafted(aws, by="ben")
    answer = ada.get(NEW, {"way": "eks", "draft": draft.text})
    assert (draft.external_id in text(answer), hidden(answer)) == (False, "")


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"eks_cluster": ""}, "This field is required."),
        ({"eks_cluster": "shop"}, "a region such as eu-west-1 is needed"),
        ({"eks_cluster": "arn:aws:eks:x"}, "not the ARN of an EKS cluster"),
        ({"eks_region": "eu-west-2"}, "the ARN names the region eu-west-1"),
    ],
)
def test_what_names_no_cluster_is_said_beside_the_field(ada, given, words):
    answer = start(ada, **given) if "eks_region" in given else start(ada, given["eks_cluster"])
    assert (answer.status_code, words in text(answer), hidden(answer)) == (422, True, "")


def test_without_an_identity_the_page_says_what_to_set(ada, aws, settings):
    settings.ENV = eks.dataclasses.replace(settings.ENV, aws=OwnIdentity(endpoint=aws.url))
    answer = start(ada)
    assert (answer.status_code, "KARPDASH_AWS_ACCESS_KEY_ID" in text(answer)) == (422, True)


def test_a_proven_role_is_registered_and_scanned(ada, aws, woken, django_capture_on_commit_callbacks):
    draft = eks.drafted(aws)
    with django_capture_on_commit_callbacks(execute=True):
        answer = ada.post(NEW, form(draft, environment="prod"))
    row = Cluster.objects.get()
    assert answer.url == f"/clusters/{row.pk}/"
    assert (row.source, row.eks_arn, row.role_arn, row.external_id, row.environment) == (
        "eks", ARN, ROLE, draft.external_id, "prod",
    )  # fmt: skip
    assert woken == [Scan.objects.get().pk]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"draft": ""}, "Generate the external ID first"),
        ({"draft": "forged"}, "this draft was not created for you"),
        ({"role_arn": ""}, "This field is required."),
        ({"role_arn": "x"}, "the ARN of the role to assume is needed"),
        ({"role_arn": "arn:aws:iam::999988887777:role/foreign"}, "the role is in account 999988887777"),
        ({"name": ""}, "This field is required."),
        ({"target": "9.99"}, "9.99"),
    ],
)
def test_refusals_stand_on_the_page(ada, aws, changes, words):
    answer = ada.post(NEW, form(eks.drafted(aws), **changes))
    assert (answer.status_code, words in text(answer), Cluster.objects.count()) == (422, True, 0)


def test_an_unguarded_role_is_refused(ada, aws):  # T20
    draft = eks.drafted(aws)
    aws.roles[ROLE] = ""
    answer = ada.post(NEW, form(draft))
    assert (answer.status_code, Cluster.objects.count()) == (422, 0)
    assert "the role can be assumed without the external id" in text(answer)
    assert hidden(answer) == draft.text


def test_a_taken_name(ada, aws):
    eks.registered(aws)
    assert "there is a cluster named shop" in text(ada.post(NEW, form(eks.drafted(aws))))


def test_the_external_id_of_a_form_is_ignored(ada, aws, woken):  # T12
    draft = eks.drafted(aws)
    ada.post(NEW, form(draft, external_id="chosen-by-me", eks_arn="arn:aws:eks:x"))
    assert (Cluster.objects.get().external_id, Cluster.objects.get().eks_arn) == (draft.external_id, ARN)


def test_the_test_tells_of_guard_and_server(ada, aws):
    answer = ada.post(NEW, form(eks.drafted(aws), do="test", name=""), headers={"HX-Request": "true"})
    words = text(answer)
    assert "External ID enforced." in words
    assert f"AWS describes {ARN}" in words
    assert "No connection. No connection to the API server." in words
    assert "<html" not in answer.content.decode()


def test_the_test_tells_of_a_missing_guard(ada, aws):  # T20
    draft = eks.drafted(aws)
    aws.roles[ROLE] = ""
    words = text(ada.post(NEW, form(draft, do="test")))
    assert "External ID not enforced." in words
    assert "Role can be assumed without the external ID." in words


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"draft": ""}, "The external id comes first"),
        ({"draft": "forged"}, "Refused. this draft was not created for you"),
    ],
)
def test_nothing_to_test(ada, aws, changes, words):
    assert words in text(ada.post(NEW, form(eks.drafted(aws), do="test", **changes)))


def test_ben_gets_no_draft(ben, aws):  # T13
    assert (start(ben).status_code, aws.asked) == (403, [])
