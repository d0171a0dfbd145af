"""Sample people and sample clusters in the browser's eyes: who may sign in, do, reset and remove; and what counts."""

from contextlib import nullcontext
from dataclasses import replace

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from migrations_app.errors import Conflict, InvalidInput
from migrations_app.models.account import ApiToken, Grant
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.rollout import Rollout
from migrations_app.models.sample_twin import SampleTwin
from migrations_app.queries.fleet.clusters import FleetFilters, fleet_page
from migrations_app.samples.changeable.clusters import SAMPLES
from migrations_app.templatetags.audit_words import event_text
from migrations_app.use_cases.accounts.management import RoleGrant, add_to_team, grant_role
from migrations_app.use_cases.accounts.sign_in import SESSION_KEY, fresh_until
from migrations_app.use_cases.accounts.tokens import issue_for
from migrations_app.use_cases.audit import proof
from migrations_app.use_cases.clusters.groups import add_to_group, create_group
from migrations_app.use_cases.samples.load import add_samples, load_samples
from migrations_app.use_cases.samples.people import PEOPLE
from migrations_app.use_cases.samples.reset import remove_samples
from migrations_app.use_cases.twins.upgrade import upgrade_controller
from tests.builders.rows import NOW, a_cluster

pytestmark = pytest.mark.django_db
OPERATOR, APPROVER = (one.name for one in PEOPLE)
HERE = {"HTTP_HOST": "localhost:8000"}


@pytest.fixture(autouse=True)
def samples(settings, woken):
    settings.ALLOWED_HOSTS = ["*"]
    load_samples()


def alpha() -> Cluster:
    return Cluster.objects.get(name="live-alpha")


def signed_in(name: str, **headers: str) -> Client:
    """A browser after one click on that person."""
    client = Client()
    client.post(reverse("sample-sign-in"), {"name": name, "next": "/samples/"}, **(HERE | headers))
    return client


def who(client: Client) -> str:
    found = User.objects.filter(pk=client.session.get("_auth_user_id")).first()
    return found.username if found else ""


def test_one_click_signs_in_from_this_machine():
    assert [who(signed_in(name)) for name in (OPERATOR, APPROVER)] == [OPERATOR, APPROVER]
    page = Client().get("/login", **HERE).content.decode()
    assert (f"Try it as {OPERATOR}" in page, f"Try it as {APPROVER}" in page) == (True, True)


def test_the_audit_log_says_that_no_password_was_asked_for():
    before = AuditEvent.objects.count()
    client = signed_in(APPROVER)
    row = AuditEvent.objects.get(verb__startswith="sign_in.")
    assert (AuditEvent.objects.count(), row.verb, row.actor, row.address, row.outcome) == (
        before + 1, "sign_in.sample", APPROVER, "127.0.0.1", "done",
    )  # fmt: skip
    assert fresh_until(client.session[SESSION_KEY]) > timezone.now()
    assert event_text(row) == "signed in as a sample person, without a password"


@pytest.mark.parametrize(
    "headers",
    [
        {"REMOTE_ADDR": "192.0.2.7"},
        {"REMOTE_ADDR": "10.0.0.9"},
        {"HTTP_HOST": "karpdash.example"},
        {"HTTP_HOST": "localhost.example:80"},
        {"HTTP_X_FORWARDED_FOR": "192.0.2.7"},
        {"HTTP_FORWARDED": "for=192.0.2.7"},
        {"HTTP_X_REAL_IP": "127.0.0.1"},
        {"HTTP_VIA": "1.1 proxy"},
        {"HTTP_X_FORWARDED_PROTO": "https"},
        {"HTTP_X_FORWARDED_SERVER": "proxy"},
        {"HTTP_CF_CONNECTING_IP": "192.0.2.7"},
        {"HTTP_X_ENVOY_EXTERNAL_ADDRESS": "192.0.2.7"},
        {"SERVER_PROTOCOL": "HTTP/1.0"},
        {"REMOTE_ADDR": ""},
    ],
)
def test_nobody_else_signs_in_so(headers):
    assert who(signed_in(OPERATOR, **headers)) == ""
    assert "Try it as" not in Client().get("/login", **(HERE | headers)).content.decode()


@pytest.mark.parametrize(
    "told",
    [
        {"https": True},
        {"behind_proxy": True},
        {"plain_http": True},
        {"trusted_origins": ("https://karpdash.example",)},
        {"allowed_hosts": ("localhost", "karpdash.example")},
    ],
)
def test_nobody_signs_in_so_where_others_are_served(settings, told):
    """A proxy beside karpdash may make its requests look like those of this machine."""
    settings.ENV = replace(settings.ENV, **told)
    assert who(signed_in(OPERATOR)) == ""
    assert "Try it as" not in Client().get("/login", **HERE).content.decode()


def test_an_installation_on_every_address_of_this_machine_signs_in_who_sits_at_it(settings):
    settings.ENV = replace(settings.ENV, allowed_hosts=("localhost", "127.0.0.1", "[::1]", "0.0.0.0"))
    assert who(signed_in(OPERATOR)) == OPERATOR


@pytest.mark.parametrize("name", ["admin", "ada", "", "sample-operator\0", "nobody"])
def test_nobody_signs_in_as_a_real_person(name):
    User.objects.create_superuser("admin", password="x" * 20)
    assert who(signed_in(name)) == ""


def test_a_sample_person_with_more_rights_does_not_sign_in():
    Grant.objects.create(person=User.objects.get(username=OPERATOR), role="viewer", over=None)
    User.objects.filter(username=APPROVER).update(is_superuser=True)
    assert [who(signed_in(name)) for name in (OPERATOR, APPROVER)] == ["", ""]


def test_a_sample_person_gets_no_right_over_real_clusters():
    group = create_group("prod")
    add_to_group(group, [a_cluster("prod").pk])
    for over in (None, group):
        with pytest.raises(Conflict, match="over sample clusters only"):
            grant_role(RoleGrant(role="viewer", person=OPERATOR, over=over), person=None)
    with pytest.raises(Conflict, match="over sample clusters only"):
        add_to_team("ops", member=OPERATOR, person=None)
    empty = create_group("empty")
    grant_role(RoleGrant(role="viewer", person=OPERATOR, over=empty), person=None)
    with pytest.raises(Conflict, match="only sample clusters"):
        add_to_group(empty, [a_cluster("prod-2").pk])
    assert who(signed_in(OPERATOR)) == OPERATOR


def test_who_sees_the_events_of_some_clusters_is_not_told_that_the_log_is_broken(monkeypatch):
    client = signed_in(APPROVER)
    page = client.get(reverse("audit"), **HERE).content.decode()
    assert ("live-alpha" in page, "sign_in.sample" in page, "The log is broken" in page) == (True, False, False)
    with monkeypatch.context() as patch:
        patch.setattr(proof, "visibility_scope", lambda _: nullcontext())
        assert "The log is broken" in client.get(reverse("audit"), **HERE).content.decode()


def test_a_sample_person_has_no_token():
    """A token works from everywhere, and goes on when the account gets a right later."""
    for name in (OPERATOR, APPROVER):
        with pytest.raises(InvalidInput, match="no tokens"):
            issue_for(name, name="mine", scopes=["read"], days=1)
    page = signed_in(OPERATOR).post(reverse("tokens"), {"name": "mine", "scopes": ["read"], "days": "1"}, **HERE)
    assert (page.status_code, ApiToken.objects.count()) == (422, 0)


def test_who_happens_to_have_the_name_of_a_sample_person_keeps_account_and_sign_in():
    User.objects.create_superuser("admin", password="x" * 20)
    remove_samples(person=None)
    User.objects.filter(username=OPERATOR).delete()
    User.objects.create_user(OPERATOR, password="x" * 20)
    load_samples()
    assert (who(signed_in(OPERATOR)), who(signed_in(APPROVER))) == ("", APPROVER)
    assert not Grant.objects.filter(person__username=OPERATOR).exists()
    remove_samples(person=None)
    assert set(User.objects.filter(is_active=True).values_list("username", flat=True)) == {OPERATOR, "admin"}


def test_sample_people_see_no_real_cluster():
    real = a_cluster("prod")
    for name in (OPERATOR, APPROVER):
        client = signed_in(name)
        assert client.get(reverse("cluster", args=[real.pk]), **HERE).status_code == 404
        assert client.get(reverse("cluster", args=[alpha().pk]), **HERE).status_code == 200
        assert client.get(reverse("people"), **HERE).status_code == 403
        assert client.get(reverse("cluster-new"), **HERE).status_code == 403


def test_a_real_cluster_never_comes_into_their_group():
    group = ClusterGroup.objects.get(grants__person__username=OPERATOR)
    with pytest.raises(Conflict, match="only sample clusters"):
        add_to_group(group.pk, [a_cluster("prod").pk])
    assert set(group.clusters.values_list("source", flat=True)) == {"twin"}


def test_the_next_thing_is_done_by_one_click_and_only_once(woken):
    client, row = signed_in(OPERATOR), alpha()
    page = client.get(reverse("sample", args=[row.pk]), **HERE).content.decode()
    assert ("Step 1 of 12" in page, "Plan it" in page) == (True, True)
    answer = client.post(reverse("sample-do", args=[row.pk]), {"step": "crds-0.32.10"}, **HERE)
    made = Rollout.objects.get()
    assert (answer.url, made.action, made.author_name) == (reverse("rollout", args=[made.pk]), "upgrade_crds", OPERATOR)
    client.post(reverse("sample-do", args=[row.pk]), {"step": "crds-0.32.10"}, **HERE)
    assert Rollout.objects.count() == 1


def test_beside_a_rollout_the_next_thing_does_not_lead_to_the_page_that_is_open(woken):
    client, row = signed_in(OPERATOR), alpha()
    client.post(reverse("sample-do", args=[row.pk]), {"step": "crds-0.32.10"}, **HERE)
    own = reverse("rollout", args=[Rollout.objects.get().pk])
    asked = reverse("sample-next", args=[row.pk])
    elsewhere = client.get(asked, headers={"HX-Current-URL": "http://localhost:8000/clusters/"}, **HERE)
    there = client.get(asked, headers={"HX-Current-URL": f"http://localhost:8000{own}?a=b"}, **HERE)
    told = [(own in one.content.decode(), "on this page" in one.content.decode()) for one in (elsewhere, there)]
    assert told == [(True, False), (False, True)]


def test_the_controller_is_upgraded_by_its_button():
    client, row = signed_in(OPERATOR), Cluster.objects.get(name="live-halfway")
    assert client.post(reverse("sample-do", args=[row.pk]), {"step": "controller-1.0.14"}, **HERE).status_code == 302
    assert "nother step is next" in client.get(reverse("sample", args=[row.pk]), **HERE).content.decode()
    upgrade_controller(row.pk, "0.37.8")
    assert "0.37.8" in client.get(reverse("sample", args=[row.pk]), **HERE).content.decode()


def test_a_reset_lets_the_cluster_begin_anew():
    client, row = signed_in(OPERATOR), alpha()
    before = SampleTwin.objects.get(pk=row.pk)
    client.post(reverse("sample-do", args=[row.pk]), {"step": "crds-0.32.10"}, **HERE)
    upgrade_controller(row.pk, "0.32.10")
    assert client.post(reverse("sample-reset", args=[row.pk]), **HERE).status_code == 302
    after = SampleTwin.objects.get(pk=row.pk)
    assert (after.revision > before.revision, after.begun_at > before.begun_at) == (True, True)
    assert (Rollout.objects.get().state, Rollout.objects.get().cause_code) == ("expired", "sample_reset")
    page = client.get(reverse("sample", args=[row.pk]), **HERE).content.decode()
    assert ("Step 1 of 12" in page, "0.31.5" in page) == (True, True)


def test_only_who_may_remove_clusters_removes_the_samples(ada):
    assert signed_in(APPROVER).post(reverse("samples-remove"), **HERE).status_code == 403
    real = a_cluster("prod")
    assert ada.post(reverse("samples-remove")).url == reverse("fleet")
    assert list(Cluster.objects.values_list("pk", flat=True)) == [real.pk]
    assert set(User.objects.filter(username__in=(OPERATOR, APPROVER)).values_list("is_active", flat=True)) == {False}
    assert not ClusterGroup.objects.exists()
    assert who(signed_in(OPERATOR)) == ""


def test_a_session_of_a_sample_person_ends_with_the_samples():
    User.objects.create_superuser("admin", password="x" * 20)
    client = signed_in(OPERATOR)
    remove_samples(person=None)
    assert client.get(reverse("samples"), **HERE).status_code == 302


def test_an_installation_with_clusters_gets_samples_by_one_click(ada):
    User.objects.create_superuser("admin", password="x" * 20)
    Cluster.objects.all().delete()
    remove_samples(person=None)
    real = a_cluster("prod")
    assert load_samples() == 0
    page = ada.get("/samples/").content.decode()
    assert ("Add sample clusters" in page, "Remove all samples" in page) == (True, False)
    assert ada.post(reverse("samples-add")).url == reverse("samples")
    assert set(Cluster.objects.exclude(pk=real.pk).values_list("name", "source")) == {
        (one.name, "twin") for one in SAMPLES
    }
    page = ada.get("/samples/").content.decode()
    assert ("Add sample clusters" in page, "Remove all samples" in page) == (False, True)
    assert fleet_page(FleetFilters(), now=NOW).totals.clusters == 1
    assert (who(signed_in(OPERATOR)), who(signed_in(APPROVER))) == (OPERATOR, APPROVER)
    assert ada.post(reverse("samples-remove")).url == reverse("fleet")
    assert list(Cluster.objects.values_list("pk", flat=True)) == [real.pk]


def test_where_others_are_served_samples_come_without_sample_people(ada, settings):
    User.objects.create_superuser("admin", password="x" * 20)
    remove_samples(person=None)
    User.objects.filter(username__in=(OPERATOR, APPROVER)).delete()
    settings.ENV = replace(settings.ENV, https=True)
    assert add_samples(person=None) == len(SAMPLES)
    assert not User.objects.filter(username__in=(OPERATOR, APPROVER)).exists()
    assert set(ClusterGroup.objects.get().clusters.values_list("name", flat=True)) == {one.name for one in SAMPLES}


def test_a_cluster_with_the_name_of_a_sample_is_left_alone():
    User.objects.create_superuser("admin", password="x" * 20)
    remove_samples(person=None)
    a_cluster("live-alpha")
    with pytest.raises(Conflict, match="named live-alpha already"):
        add_samples(person=None)
    assert list(Cluster.objects.values_list("name", flat=True)) == ["live-alpha"]


def test_samples_that_are_missing_come_back_and_the_others_stay_as_they_are():
    kept = SampleTwin.objects.get(sample="live-stored")
    alpha().delete()
    assert add_samples(person=None) == 1
    assert SampleTwin.objects.get(sample="live-stored").begun_at == kept.begun_at
    assert add_samples(person=None) == 0


def test_samples_do_not_count_beside_a_real_cluster():
    assert fleet_page(FleetFilters(), now=NOW).totals.clusters == Cluster.objects.count() > 3
    real = a_cluster("prod")
    found = fleet_page(FleetFilters(), now=NOW)
    assert ([row.id for row in found.rows], found.totals.clusters) == ([real.pk], 1)
    shown = fleet_page(FleetFilters(environment="sample"), now=NOW)
    assert shown.totals.clusters == Cluster.objects.count() - 1
