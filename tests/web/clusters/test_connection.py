"""The connection page: how a cluster is reached, and the way into its AWS account, shown and changed."""

import re
from html import unescape

import pytest

from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.clusters.eks_registration import read_draft, set_access
from migrations_app.use_cases.clusters.registration import ConnectionTest
from tests.fakes.aws_server import ARN, ROLE
from tests.use_cases.clusters import eks
from tests.web.pages import text

pytestmark = pytest.mark.django_db


@pytest.fixture
def aws(settings):
    with eks.running() as server:
        eks.at(settings, server)
        yield server


@pytest.fixture
def shop():
    return Cluster.objects.create(name="shop", source="kubeconfig", server="https://127.0.0.1:9")


@pytest.fixture
def reached(monkeypatch):
    result = ConnectionTest(reachable=True, server="https://127.0.0.1:9", kubernetes="v1.30.4")
    monkeypatch.setattr("migrations_app.use_cases.clusters.registration.try_cluster", lambda _id: result)


def url(row):
    return f"/clusters/{row.pk}/connection"


def second(draft, /, **more):
    return {"do": "save", "draft": draft.text, "role_arn": ROLE, "version": "1"} | more


def given(aws, row):
    draft = eks.drafted(aws)
    set_access(row.pk, draft.text, role_arn=ROLE, by="ada")
    row.refresh_from_db()
    return draft


def test_a_cluster_without_a_way_in(ada, shop):
    words = text(ada.get(url(shop)))
    assert "None: the controller's role, node roles and the interruption queue are not read." in words
    assert "Generate the external ID" in words
    assert "Remove role" not in words


def test_what_is_kept_is_shown(ada, aws, shop):
    draft = given(aws, shop)
    words = text(ada.get(url(shop)))
    assert [piece in words for piece in (ARN, ROLE, draft.external_id, "Remove role")] == [True] * 4


@pytest.mark.parametrize("source", ["bundle", "sample"])
def test_what_is_no_live_cluster_has_no_account(ada, source):
    row = Cluster.objects.create(name="dump", source=source)
    assert "AWS account" not in text(ada.get(url(row)))
    assert ada.post(url(row), {"do": "remove"}, follow=True).status_code == 200


def test_the_first_step_shows_id_and_policies(ada, aws, shop):
    answer = ada.post(url(shop), {"do": "draft", "eks_cluster": "shop", "eks_region": "eu-west-1"})
    found = re.search(r'name="draft" value="([^"]*)"', answer.content.decode())
    draft = read_draft(unescape(found[1]), by="ada")
    page = unescape(answer.content.decode())
    assert (draft.external_id in page, draft.trust_text in page, draft.rights_text in page) == (True, True, True)
    shop.refresh_from_db()
    assert shop.version == 1


def test_a_bad_first_step_says_why(ada, aws, shop):
    answer = ada.post(url(shop), {"do": "draft", "eks_cluster": "shop"})
    assert (answer.status_code, "a region such as eu-west-1 is needed" in text(answer)) == (422, True)


def test_a_proven_role_is_kept(ada, aws, shop):
    draft = eks.drafted(aws)
    answer = ada.post(url(shop), second(draft), follow=True)
    shop.refresh_from_db()
    assert (shop.eks_arn, shop.role_arn, shop.external_id) == (ARN, ROLE, draft.external_id)
    assert "Role tested and saved" in text(answer)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"role_arn": ""}, "This field is required."),
        ({"role_arn": "x"}, "the ARN of the role to assume is needed"),
        ({"draft": "forged"}, "this draft was not created for you"),
        ({"version": "7"}, "the cluster was changed meanwhile"),
    ],
)
def test_a_refused_role_is_not(ada, aws, shop, changes, words):
    answer = ada.post(url(shop), second(eks.drafted(aws), **changes))
    shop.refresh_from_db()
    assert (answer.status_code, shop.eks_arn) == (422, "")
    assert words in text(answer)


def test_an_unguarded_role_is_not_kept(ada, aws, shop):  # T20
    draft = eks.drafted(aws)
    aws.roles[ROLE] = ""
    tested = ada.post(url(shop), second(draft, do="try"))
    assert "External ID not enforced." in text(tested)
    kept = ada.post(url(shop), second(draft))
    assert (kept.status_code, "the role can be assumed without the external id" in text(kept)) == (422, True)


def test_a_role_can_be_tried_first(ada, aws, shop):
    aws.cluster("https://127.0.0.1:8", eks.CA)
    words = text(ada.post(url(shop), second(eks.drafted(aws), do="try")))
    shop.refresh_from_db()
    assert ("External ID enforced." in words, shop.eks_arn) == (True, "")
    assert "The kubeconfig goes to https://127.0.0.1:9, EKS names https://127.0.0.1:8" in words


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"role_arn": ""}, "This field is required."),
        ({"draft": "forged"}, "Refused. this draft was not created for you"),
    ],
)
def test_a_try_that_cannot_be(ada, aws, shop, changes, words):
    assert words in text(ada.post(url(shop), second(eks.drafted(aws), do="try", **changes)))
    assert aws.opened() == []


def test_the_role_can_be_forgotten(ada, aws, shop):
    given(aws, shop)
    answer = ada.post(url(shop), {"do": "remove", "version": "2"}, follow=True)
    shop.refresh_from_db()
    assert (shop.eks_arn, "karpdash has forgotten the role." in text(answer)) == ("", True)


def test_not_when_somebody_else_changed_it(ada, aws, shop):
    given(aws, shop)
    answer = ada.post(url(shop), {"do": "remove", "version": "1"}, follow=True)
    shop.refresh_from_db()
    assert (shop.eks_arn, "The cluster was changed meanwhile." in text(answer)) == (ARN, True)


@pytest.mark.usefixtures("reached")
def test_the_test_of_a_cluster_with_a_way_in_proves_it_again(ada, aws, shop):  # T20
    given(aws, shop)
    words = text(ada.post(url(shop)))
    assert ("External ID enforced." in words, "No connection." in words) == (True, False)
    aws.roles[ROLE] = ""
    assert "External ID not enforced." in text(ada.post(url(shop)))


def test_the_test_of_an_eks_cluster_goes_all_the_way(ada, aws):
    words = text(ada.post(url(eks.registered(aws))))
    assert "External ID enforced." in words
    assert "No connection. No connection to the API server." in words


@pytest.mark.parametrize("do", ["", "draft", "try", "save", "remove"])
def test_ben_may_do_none_of_it(ben, aws, shop, do):  # T13
    draft = eks.drafted(aws, by="ben")
    before = len(aws.asked)
    answer = ben.post(url(shop), second(draft, do=do, eks_cluster=ARN))
    assert (answer.status_code, len(aws.asked)) == (403, before)
