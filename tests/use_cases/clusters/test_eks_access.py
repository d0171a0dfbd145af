"""A way into the account of a cluster that is registered already: given, proven again, replaced, taken away."""

import uuid

import pytest

from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.clusters.eks_registration import (
    remove_access,
    set_access,
    try_new_access,
    try_stored_access,
)
from migrations_app.use_cases.clusters.registration import try_cluster
from migrations_app.use_cases.runtime.connections import connect, connect_aws
from tests.clients.kubernetes.rig import always
from tests.fakes.aws_server import ARN, ROLE
from tests.fakes.evilk8s import EvilServer
from tests.use_cases.clusters import eks

pytestmark = pytest.mark.django_db
SERVER = "https://127.0.0.1:9"


@pytest.fixture
def aws(settings):
    with eks.running() as server:
        eks.at(settings, server)
        yield server


@pytest.fixture
def shop():
    return Cluster.objects.create(name="shop", source="kubeconfig", server=SERVER)


def given(aws, cluster, **more):
    draft = eks.drafted(aws)
    version = set_access(cluster.pk, draft.text, role_arn=ROLE, by="ada", **more)
    cluster.refresh_from_db()
    return draft, version


def test_a_kubeconfig_cluster_gets_a_way_in(aws, shop):
    draft, version = given(aws, shop, version=1)
    assert (shop.eks_arn, shop.role_arn, shop.external_id) == (ARN, ROLE, draft.external_id)
    assert (version, shop.version, shop.credential_version, shop.source) == (2, 2, 2, "kubeconfig")


def test_an_unproven_role_changes_nothing(aws, shop):  # T20
    draft = eks.drafted(aws)
    aws.roles[ROLE] = ""
    with pytest.raises(InvalidInput) as caught:
        set_access(shop.pk, draft.text, role_arn=ROLE, by="ada")
    shop.refresh_from_db()
    assert (caught.value.code, shop.eks_arn, shop.version) == ("role_unguarded", "", 1)


def test_a_newer_way_in_replaces_the_older(aws, shop):
    first, _ = given(aws, shop)
    second, version = given(aws, shop)
    assert (shop.external_id == second.external_id != first.external_id, version) == (True, 3)


def test_a_draft_of_another_cluster_is_used(aws, shop):  # T20
    draft, _ = given(aws, shop)
    other = Cluster.objects.create(name="other", source="in_cluster")
    with pytest.raises(Conflict) as caught:
        set_access(other.pk, draft.text, role_arn=ROLE, by="ada")
    assert caught.value.code == "draft_used"


def test_it_can_be_taken_away(aws, shop):
    given(aws, shop)
    assert remove_access(shop.pk, version=2) == 3
    shop.refresh_from_db()
    assert (shop.eks_arn, shop.role_arn, shop.external_id) == ("", "", "")
    assert try_stored_access(shop.pk, by="ada") is None


def test_an_eks_cluster_keeps_its_own(aws):
    row = eks.registered(aws)
    with pytest.raises(InvalidInput) as caught:
        remove_access(row.pk)
    assert caught.value.code == "access_needed"
    assert given(aws, row)[1] == 2


def test_an_eks_cluster_cannot_become_another(aws):
    row = eks.registered(aws)
    other = ARN.replace("shop", "other")
    aws.clusters["other"] = aws.clusters["shop"] | {"arn": other, "name": "other"}
    draft = eks.drafted(aws, other)
    with pytest.raises(InvalidInput) as caught:
        set_access(row.pk, draft.text, role_arn=ROLE, by="ada")
    row.refresh_from_db()
    assert (caught.value.code, row.eks_arn, row.version) == ("other_cluster", ARN, 1)


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize("source", ["bundle", "sample"])
def test_what_is_no_live_cluster_has_no_account(source):
    row = Cluster.objects.create(name="dump", source=source)
    for act in (lambda: remove_access(row.pk), lambda: set_access(row.pk, "x", role_arn=ROLE, by="ada")):
        with pytest.raises(InvalidInput) as caught:
            act()
        assert caught.value.code == "no_access_here"


def test_a_change_by_somebody_else_is_not_overwritten(aws, shop):
    with pytest.raises(Conflict) as caught:
        given(aws, shop, version=7)
    assert (caught.value.code, aws.opened()) == ("stale", [])
    with pytest.raises(Conflict):
        remove_access(shop.pk, version=7)


def test_a_change_during_the_proof_is_not_overwritten(aws, shop, monkeypatch):
    draft = eks.drafted(aws)
    found = Cluster.objects.filter(pk=shop.pk)
    monkeypatch.setattr(
        "migrations_app.use_cases.clusters.eks_registration.tested_access", _with(lambda: found.update(version=5))
    )
    with pytest.raises(Conflict) as caught:
        set_access(shop.pk, draft.text, role_arn=ROLE, by="ada")
    assert (caught.value.code, found.get().eks_arn) == ("stale", "")


def _with(act):
    from migrations_app.use_cases.clusters.eks_registration import tested_access

    def after(*given, **named):
        found = tested_access(*given, **named)
        act()
        return found

    return after


def test_an_absent_cluster():
    with pytest.raises(NotFound):
        remove_access(uuid.UUID(int=1))


def test_a_new_way_in_is_tried_without_the_server(aws, shop):
    tried = try_new_access(shop.pk, eks.drafted(aws).text, role_arn=ROLE, by="ada")
    assert (tried.guarded, tried.arn, tried.result.reachable, tried.note) == (True, ARN, True, "")
    shop.refresh_from_db()
    assert shop.eks_arn == ""


def test_a_kubeconfig_to_another_address_is_told(aws, shop):
    aws.cluster("https://127.0.0.1:8", eks.CA)
    tried = try_new_access(shop.pk, eks.drafted(aws).text, role_arn=ROLE, by="ada")
    assert (tried.guarded, tried.note) == (
        True,
        "the kubeconfig goes to https://127.0.0.1:9, EKS names https://127.0.0.1:8: are both one cluster?",
    )


def test_a_guard_that_was_taken_off_later_is_noticed(aws, shop):  # T20
    given(aws, shop)
    assert try_stored_access(shop.pk, by="ben").guarded is True
    aws.roles[ROLE] = ""
    assert try_stored_access(shop.pk, by="ben").guarded is False


def test_scans_get_the_account_of_the_cluster(aws, shop):
    with connect_aws(shop) as api:
        assert api is None
    given(aws, shop)
    with connect_aws(shop, user="cleo") as api:
        assert (api.place.arn, api.caller().arn) == (
            ARN, "arn:aws:sts::111122223333:assumed-role/karpdash-reader/karpdash-scan-cleo",
        )  # fmt: skip


def test_an_eks_cluster_is_opened_as_aws_describes_it_now(aws):  # T21
    row = eks.registered(aws)
    with EvilServer(always(lambda wire: wire.answer(b"{}"))) as server:
        aws.cluster(server.url, eks.CA)
        with connect(row) as api:
            assert api.get("/version") == b"{}"


def test_an_eks_row_without_a_way_in_is_refused():
    row = Cluster.objects.create(name="x", source="eks")
    with pytest.raises(InvalidInput) as caught, connect(row):
        pass
    assert caught.value.code == "no_aws_access"
    assert try_cluster(row.pk).error == "no_aws_access"


def test_a_registered_cluster_that_is_gone(aws):
    row = eks.registered(aws)
    aws.clusters.clear()
    assert (try_cluster(row.pk).reachable, try_cluster(row.pk).error) == (False, "no_cluster")
