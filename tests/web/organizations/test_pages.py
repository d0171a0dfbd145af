"""The pages of AWS organizations: roles as files, a look, clusters to choose, what changed."""

import html
import json

import pytest
from django.urls import reverse

from migrations_app.models.cluster import Cluster
from migrations_app.models.organization import AwsOrganization
from migrations_app.models.scan import Scan
from migrations_app.use_cases.organizations import queue
from migrations_app.use_cases.organizations.account_listing import run_claimed_listing
from tests.use_cases.clusters import eks
from tests.use_cases.organizations.organization_server import (
    BANK,
    HERE,
    HUB_ACCOUNT,
    SHOP,
    THERE,
    arn,
    open_roles,
    running,
)

pytestmark = pytest.mark.django_db
NEW = {
    "name": "acme",
    "account": HUB_ACCOUNT,
    "regions": f"{HERE}, {THERE}",
    "hub_role": "karpdash-organization",
    "member_role": "karpdash-reader",
}


@pytest.fixture
def aws(settings, monkeypatch):
    for name in ("enqueue_scan", "enqueue_listing"):
        monkeypatch.setattr(f"migrations_app.web.organizations.commands.{name}", lambda _id: True)
    with running() as server:
        eks.at(settings, server)
        yield server


@pytest.fixture
def acme(ada, aws):
    """An organization that was made by its form and looked at."""
    answer = ada.post(reverse("organization-new"), NEW)
    made = AwsOrganization.objects.get()
    assert (answer.status_code, answer.url) == (302, reverse("organization", args=[made.pk]))
    open_roles(aws, made.external_id)
    look(ada, made)
    return made


def look(ada, made):
    assert ada.post(reverse("organization-look", args=[made.pk])).status_code == 302
    assert "A worker is looking" in page(ada, made)
    run_claimed_listing(queue.claim(made.pk))


def page(ada, made):
    answer = ada.get(reverse("organization", args=[made.pk]))
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def register(ada, made, **names):
    said = {"arn": list(names), "environment": "prod", "target": ""} | {
        f"name {one}": name for one, name in names.items()
    }
    return ada.post(reverse("organization-register", args=[made.pk]), said)


def test_the_list_has_a_form_and_names_what_is_there(ada, acme):
    text = ada.get(reverse("organizations")).content.decode()
    assert reverse("organization", args=[acme.pk]) in text
    assert "Generate the external ID" in text


def test_a_wrong_entry_stands_beside_its_field_and_nothing_typed_is_lost(ada, aws):
    answer = ada.post(reverse("organization-new"), NEW | {"regions": "mars"})
    text = html.unescape(answer.content.decode())
    assert answer.status_code == 422
    assert "a region such as eu-west-1 is needed" in text
    assert f'value="{HUB_ACCOUNT}"' in text
    assert not AwsOrganization.objects.exists()


def test_the_files_are_the_documents(ada, acme):
    cloudformation = ada.get(reverse("organization-cloudformation", args=[acme.pk]))
    assert set(cloudformation.json()["Resources"]) == {"Hub", "ReaderHere", "Readers"}
    assert acme.external_id in cloudformation.content.decode()
    terraform = ada.get(reverse("organization-terraform", args=[acme.pk]))
    assert "aws_cloudformation_stack_set" in terraform.json()["resource"]
    assert json.dumps("karpdash.tf.json") in terraform["Content-Disposition"]


def test_what_was_found_and_what_was_not_read_are_told(ada, acme):
    text = page(ada, acme)
    assert "3 accounts" in text
    assert "2 clusters" in text
    assert "AWS says it is SUSPENDED (account_not_active)" in text
    assert f'value="{arn(SHOP, "web")}"' in text


def test_chosen_clusters_are_registered_and_scanned(ada, acme):
    answer = register(ada, acme, **{arn(SHOP, "web"): "web", arn(BANK, "core", THERE): "bank core"})
    assert answer.status_code == 302
    assert set(Cluster.objects.values_list("name", "environment")) == {("web", "prod"), ("bank core", "prod")}
    assert Scan.objects.count() == 2
    text = page(ada, acme)
    assert "2 clusters are registered; the first scans are on the way." in text
    assert "Every cluster that was found is registered." in text


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ({}, "Choose at least one cluster."),
        ({arn(SHOP, "web"): ""}, "Nothing is registered: name: a name of 1 to 120"),
        ({arn(SHOP, "gone"): "gone"}, "is not in the list"),
        ({arn(SHOP, "web"): "same", arn(BANK, "core", THERE): "same"}, "there is a cluster named same"),
    ],
)
def test_what_is_refused_says_so_and_registers_nothing(ada, acme, names, told):
    answer = register(ada, acme, **names)
    assert answer.status_code == 422
    assert told in html.unescape(answer.content.decode())
    assert not Cluster.objects.exists()
    assert not Scan.objects.exists()


def test_gone_and_unread_clusters_and_a_failed_look_are_told(ada, acme, aws):
    register(ada, acme, **{arn(SHOP, "web"): "web", arn(BANK, "core", THERE): "core"})
    aws.fleet = {(SHOP, THERE): {}}
    del aws.roles[f"arn:aws:iam::{BANK}:role/karpdash-reader"]
    look(ada, acme)
    text = " ".join(page(ada, acme).split())
    assert f"AWS no longer lists 1 registered cluster: {arn(SHOP, 'web')}" in text
    assert f"was not read: {arn(BANK, 'core', THERE)}" in text
    aws.refused = {"organizations:ListAccounts"}
    look(ada, acme)
    assert "What is shown is the list before it." in page(ada, acme)


def test_names_from_aws_are_text(ada, acme, aws):  # T03
    aws.accounts[0]["Name"] = "<script>x</script>"
    look(ada, acme)
    assert "<script>x" not in ada.get(reverse("organization", args=[acme.pk])).content.decode()


def test_it_is_forgotten_by_its_name(ada, acme):
    remove = reverse("organization-remove", args=[acme.pk])
    refused = ada.post(remove, {"name": "other"})
    assert refused.status_code == 422
    assert ada.post(remove, {"name": "acme"}).url == reverse("organizations")
    assert not AwsOrganization.objects.exists()
