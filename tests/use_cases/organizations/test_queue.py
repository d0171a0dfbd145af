"""Registration of the EKS clusters of an AWS organization: roles, looks, choices, and what changed since."""

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from migrations_app.errors import Conflict, InvalidInput, NotFound
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster
from migrations_app.models.organization import AwsOrganization
from migrations_app.queries.organizations import listing_of, organization_detail
from migrations_app.use_cases.clusters.eks_registration import register_eks
from migrations_app.use_cases.clusters.registration import Details, remove
from migrations_app.use_cases.organizations import queue
from migrations_app.use_cases.organizations.account_listing import run_claimed_listing
from migrations_app.use_cases.organizations.clusters import register_listed
from migrations_app.use_cases.organizations.registration import (
    NewOrganization,
    register_organization,
    remove_organization,
)
from migrations_app.use_cases.runtime.connections import connect_aws, entry_of
from tests.fakes.aws_server import ROLE
from tests.use_cases.clusters import eks
from tests.use_cases.organizations.organization_server import (
    BANK,
    HERE,
    HUB,
    HUB_ACCOUNT,
    SHOP,
    THERE,
    arn,
    described,
    open_roles,
    reader,
    running,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def aws(settings):
    with running() as server:
        eks.at(settings, server)
        yield server


@pytest.fixture
def organization(aws):
    made = AwsOrganization.objects.get(
        pk=register_organization(NewOrganization(name="acme", account=HUB_ACCOUNT, regions=[HERE, THERE], by="ada"))
    )
    open_roles(aws, made.external_id)
    return made


def looked(organization):
    """The row after a look."""
    assert queue.request_listing(organization.pk, by="ada") is True
    run_claimed_listing(queue.claim(organization.pk))
    organization.refresh_from_db()
    return organization


def registered(organization, **names):
    return register_listed(organization.pk, names or {arn(SHOP, "web"): "web"}, details=Details(name="", by="ada"))


def test_a_look_finds_clusters_by_account_and_region(aws, organization):
    found = listing_of(looked(organization))
    assert [one.arn for one in found.clusters] == [arn(BANK, "core", THERE), arn(SHOP, "web")]
    assert [(account.name, account.code) for account in found.accounts] == [
        ("bank", ""),
        ("old", "account_not_active"),
        ("shop", ""),
    ]
    assert organization.state == "idle"
    assert organization.error_code == ""


def test_the_roles_of_accounts_are_assumed_by_the_hub_role_with_the_external_id(aws, organization):  # T20
    looked(organization)
    by_role = {}
    for asked in aws.asked:
        if asked["action"] == "sts:AssumeRole":
            by_role.setdefault(asked["RoleArn"], []).append(asked.get("ExternalId"))
    assert set(by_role) == {HUB, reader(SHOP), reader(BANK)}
    assert all(ids[0] == organization.external_id and None in ids for ids in by_role.values())


def test_a_role_that_opens_without_the_external_id_is_told_and_not_read(aws, organization):  # T20
    aws.roles[reader(SHOP)] = ""
    shop = next(account for account in listing_of(looked(organization)).accounts if account.id == SHOP)
    assert (shop.code, shop.regions) == ("role_unguarded", ())
    assert not [asked for asked in aws.asked if asked.get("account") == SHOP]


def test_a_hub_role_that_opens_without_the_external_id_ends_the_look(aws, organization):  # T20
    aws.roles[HUB] = ""
    row = looked(organization)
    assert (row.error_code, row.listing) == ("role_unguarded", None)


def test_what_cannot_be_read_carries_the_reason_and_the_rest_is_there(aws, organization):
    del aws.roles[reader(BANK)]
    aws.refused = {f"{SHOP}/{THERE}"}
    found = {account.id: account for account in listing_of(looked(organization)).accounts}
    assert found[BANK].code == "forbidden"
    assert [(region.region, region.code, len(region.clusters)) for region in found[SHOP].regions] == [
        (HERE, "", 1),
        (THERE, "forbidden", 0),
    ]


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"status": "CREATING"}, "cluster_not_ready"),
        ({"arn": arn(BANK, "web")}, "wrong_cluster"),
        ({"endpoint": "http://127.0.0.1:9"}, "not_https"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_listed_with_the_reason(aws, organization, changed, code):
    aws.fleet[SHOP, HERE] = described(SHOP, "web", **changed)
    web = next(one for one in listing_of(looked(organization)).clusters if one.name == "web")
    assert (web.arn, web.code) == (arn(SHOP, "web"), code)
    with pytest.raises(InvalidInput) as caught:
        registered(organization)
    assert caught.value.code == code


def test_a_failed_look_keeps_the_earlier_list_with_its_time(aws, organization):
    before = looked(organization).listed_at
    aws.refused = {"organizations:ListAccounts"}
    row = looked(organization)
    assert (row.error_code, row.listed_at) == ("forbidden", before)
    assert len(listing_of(row).clusters) == 2


def test_chosen_clusters_are_registered_and_reached_through_the_hub_role(aws, organization):
    looked(organization)
    ids = registered(organization, **{arn(SHOP, "web"): "web", arn(BANK, "core", THERE): "core"})
    row = Cluster.objects.get(pk=ids[arn(SHOP, "web")])
    assert (row.source, row.eks_arn, row.role_arn) == ("eks", arn(SHOP, "web"), reader(SHOP))
    entry = entry_of(row)
    assert (entry.via, entry.external_id, entry.account) == (HUB, organization.external_id, SHOP)
    with connect_aws(row) as api:
        assert api.caller().account == SHOP
        assert api.cluster().name == "web"


def test_the_whole_choice_is_registered_or_none_of_it(aws, organization):
    looked(organization)
    with pytest.raises(InvalidInput) as caught:
        registered(organization, **{arn(SHOP, "web"): "web", arn(SHOP, "gone"): "gone"})
    assert caught.value.code == "not_listed"
    with pytest.raises(Conflict) as taken:
        registered(organization, **{arn(SHOP, "web"): "one", arn(BANK, "core", THERE): "one"})
    assert taken.value.code == "name_taken"
    assert Cluster.objects.count() == 0


def test_a_cluster_is_registered_once(aws, organization):
    looked(organization)
    registered(organization)
    with pytest.raises(Conflict) as caught:
        registered(organization, **{arn(SHOP, "web"): "again"})
    assert caught.value.code == "registered"


def test_an_old_list_registers_nothing(aws, organization):
    looked(organization)
    AwsOrganization.objects.update(listed_at=timezone.now() - timedelta(hours=25))
    with pytest.raises(Conflict) as caught:
        registered(organization)
    assert caught.value.code == "look_too_old"


def test_what_changed_since_is_told_and_unread_is_not_gone(aws, organization):
    looked(organization)
    registered(organization, **{arn(SHOP, "web"): "web", arn(BANK, "core", THERE): "core"})
    aws.fleet = {(SHOP, HERE): described(SHOP, "fresh")}
    aws.refused = {f"{BANK}/{THERE}"}
    drift = organization_detail(looked(organization).pk).drift
    assert [one.arn for one in drift.new] == [arn(SHOP, "fresh")]
    assert (drift.gone, drift.unread) == ((arn(SHOP, "web"),), (arn(BANK, "core", THERE),))


def test_a_cluster_that_was_registered_otherwise_is_not_new(aws, organization):
    looked(organization)
    Cluster.objects.create(name="by hand", source="eks", eks_arn=arn(SHOP, "web"), role_arn=ROLE, external_id="x1")
    assert [one.name for one in organization_detail(organization.pk).drift.new] == ["core"]


def test_a_look_is_asked_for_once_and_claimed_once(aws, organization):
    assert queue.request_listing(organization.pk, by="ada") is True
    assert queue.request_listing(organization.pk, by="bo") is False
    assert queue.claim(organization.pk) is not None
    assert queue.claim(organization.pk) is None


def test_the_look_of_a_dead_worker_is_taken_over_and_its_late_result_dropped(aws, organization):  # R18
    queue.request_listing(organization.pk, by="ada")
    first = queue.claim(organization.pk)
    AwsOrganization.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    assert queue.listings_to_enqueue() == (organization.pk,)
    second = queue.claim(organization.pk)
    with pytest.raises(Conflict):
        queue.store(first, None)
    run_claimed_listing(second)
    organization.refresh_from_db()
    assert len(listing_of(organization).clusters) == 2


def test_a_look_that_ends_its_worker_twice_is_given_up(aws, organization):  # R36
    queue.request_listing(organization.pk, by="ada")
    for _ in range(queue.MAX_ATTEMPTS):
        assert queue.claim(organization.pk) is not None
        AwsOrganization.objects.update(lease_until=timezone.now() - timedelta(minutes=1))
    assert queue.listings_to_enqueue() == ()
    organization.refresh_from_db()
    assert (organization.state, organization.error_code) == ("idle", "worker_lost")


def test_an_organization_is_looked_at_again_each_day(aws, organization):
    looked(organization)
    assert queue.listings_to_enqueue() == ()
    AwsOrganization.objects.update(tried_at=timezone.now() - timedelta(hours=25))
    assert queue.listings_to_enqueue() == (organization.pk,)
    organization.refresh_from_db()
    assert organization.requested_by == queue.SCHEDULE


def test_it_stays_while_clusters_are_registered_with_it(aws, organization):
    looked(organization)
    (web,) = registered(organization).values()
    with pytest.raises(Conflict) as caught:
        remove_organization(organization.pk, typed_name="acme")
    assert caught.value.code == "has_clusters"
    remove(web, typed_name="web")
    with pytest.raises(InvalidInput):
        remove_organization(organization.pk, typed_name="other")
    remove_organization(organization.pk, typed_name="acme")
    assert AwsOrganization.objects.count() == 0
    with pytest.raises(NotFound):
        queue.request_listing(organization.pk, by="ada")


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"name": " "}, "name"),
        ({"account": "12"}, "account"),
        ({"regions": []}, "regions"),
        ({"regions": ["mars"]}, "regions"),
        ({"regions": [HERE, "cn-north-1"]}, "regions"),
        ({"regions": [f"us-east-{number}" for number in range(1, 23)]}, "regions"),
        ({"hub_role": "a/b"}, "hub_role"),
        ({"member_role": "karpdash-organization"}, "member_role"),
    ],
)
def test_a_wrong_entry_names_its_field(aws, changed, where):
    said = {"name": "acme", "account": HUB_ACCOUNT, "regions": [HERE]} | changed
    with pytest.raises(InvalidInput) as caught:
        register_organization(NewOrganization(**said))
    assert caught.value.where == where


def test_external_ids_of_single_clusters_stay_unique(aws, organization):  # T20
    aws.fleet = {}
    draft = eks.drafted(aws)
    register_eks(draft.text, Details(name="one", by="ada"), role_arn=ROLE)
    with pytest.raises(Conflict) as caught:
        register_eks(draft.text, Details(name="two", by="ada"), role_arn=ROLE)
    assert caught.value.code == "draft_used"


def test_everything_is_in_the_audit_log_without_the_external_id(aws, organization):
    looked(organization)
    events = AuditEvent.objects.filter(verb__startswith="organization.").order_by("seq")
    assert list(events.values_list("verb", flat=True)) == [
        "organization.registered",
        "organization.look_requested",
        "organization.looked_at",
    ]
    assert organization.external_id not in json.dumps(list(events.values()), default=str)
