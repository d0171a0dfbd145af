"""What is done today is recorded, once, in the transaction of what it does."""

import json

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection

from migrations_app.errors import Conflict, NotFound
from migrations_app.models.account import ApiToken
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.accounts import rights, sign_in, tokens
from migrations_app.use_cases.audit import log
from migrations_app.use_cases.audit.log import SYSTEM, Actor, acting_as
from migrations_app.use_cases.clusters import eks_registration, registration
from migrations_app.use_cases.clusters.registration import Details
from migrations_app.use_cases.scans import queue

pytestmark = pytest.mark.django_db
ADA = Actor(name="ada", address="10.0.0.1")
EXTERNAL = "kd-external-5fe2c0"


def told() -> list[tuple[str, str, str]]:
    return [(row.verb, row.object, row.actor) for row in AuditEvent.objects.order_by("seq")]


def detail() -> dict:
    return json.loads(AuditEvent.objects.order_by("-seq").first().detail)


def a_row(**more) -> Cluster:
    return Cluster.objects.create(name="shop", source=Cluster.Source.KUBECONFIG, **more)


def test_a_cluster_from_its_registration_to_its_end():
    with acting_as(ADA, request_id="req-1"):
        cluster_id = registration.register_in_cluster(Details(name="shop", environment="test"))
        registration.change(cluster_id, Details(name="shop", environment="production"))
        assert detail() == {"changes": {"environment": ["test", "production"]}}
        registration.remove(cluster_id, typed_name="shop")
    assert told() == [(f"cluster.{verb}", "shop", "ada") for verb in ("registered", "changed", "removed")]
    kept = {(row.cluster_id, row.correlation, row.address) for row in AuditEvent.objects.all()}
    assert kept == {(str(cluster_id), "req-1", "10.0.0.1")}


def test_what_did_not_happen_is_not_recorded():
    registration.register_in_cluster(Details(name="shop"))
    with pytest.raises(Conflict):
        registration.register_in_cluster(Details(name="shop"))
    with pytest.raises(Conflict):
        registration.change(Cluster.objects.get().pk, Details(name="other"), version=9)
    assert len(told()) == 1


def test_what_can_not_be_recorded_does_not_happen():  # A55
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE migrations_app_auditevent RENAME TO elsewhere")
    for attempt in (
        lambda: registration.register_in_cluster(Details(name="shop")),
        lambda: rights.first_admin(),
        lambda: tokens.issue(User(pk=5, username="x"), name="ci", scopes=["read"], days=1),
    ):
        with pytest.raises(DatabaseError):
            attempt()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE elsewhere RENAME TO migrations_app_auditevent")
    assert (Cluster.objects.count(), ApiToken.objects.count(), User.objects.count(), told()) == (0, 0, 0, [])


def test_access_to_an_account_given_and_taken():
    cluster = a_row()
    given = {
        "eks_arn": "arn:aws:eks:eu-west-1:123456789012:cluster/shop",
        "role_arn": "arn:aws:iam::123456789012:role/r",
    }
    eks_registration._changed(cluster, **given, external_id=EXTERNAL)
    assert detail()["role_arn"] == given["role_arn"]
    assert detail()["external_id"].startswith("hmac:")
    cluster.refresh_from_db()
    eks_registration.remove_access(cluster.pk)
    assert told() == [("access.given", "shop", "karpdash"), ("access.removed", "shop", "karpdash")]
    assert EXTERNAL not in "".join(AuditEvent.objects.values_list("detail", flat=True))


def test_tokens_made_and_revoked_without_their_secret():  # T23
    ben = User.objects.create_user("ben")
    with acting_as(ADA):
        made = tokens.issue(ben, name="ci", scopes=["read"], days=1)
        mark = detail()["mark"]
        tokens.revoke(made.id, owner_id=ben.pk)
        with pytest.raises(NotFound):
            tokens.revoke(made.id, owner_id=ben.pk)
    assert told() == [("token.made", "ci", "ada"), ("token.revoked", "ci", "ada")]
    assert (detail()["mark"], detail()["owner"], len(mark)) == (mark, "ben", 32)
    kept = "".join(AuditEvent.objects.values_list("detail", flat=True))
    assert made.secret not in kept
    assert str(made.id) not in kept


def test_scans_that_people_ask_for_and_no_others():
    cluster = a_row()
    with acting_as(ADA):
        first = queue.request_scan(cluster.pk, by="ada")
        queue.request_scan(cluster.pk, by="ada")
    other = Cluster.objects.create(name="blog", source=Cluster.Source.KUBECONFIG)
    queue.request_scan(other.pk)
    assert (told(), detail()) == ([("scan.requested", "ada", "ada")], {"scan": str(first.scan_id)})


def test_the_first_account_and_its_password():
    rights.first_admin()
    rights.password_changed(User.objects.get().pk)
    assert told() == [("account.made", "admin", "karpdash"), ("account.password_changed", "admin", "karpdash")]


def test_who_acts_ends_with_the_block():
    with acting_as(ADA):
        with acting_as(SYSTEM):
            log.set_actor(Actor(name="ben"))
            assert log.actor().name == "ben"
        assert log.actor() == ADA
    assert log.actor() == SYSTEM


def test_refused_sign_ins_never_flood_the_log():  # T28
    User.objects.create_user("ben")
    taken = [sign_in.record_refusal("ben", address="10.0.0.9", locked=False) for _ in range(30)]
    assert [seq for seq in taken if seq] == list(range(1, 11))
    assert "not recorded for a minute" in detail()["more"]
    assert sign_in.record_refusal("ben", address="10.0.0.8", locked=True) == 11
    for number in range(200):
        sign_in.record_refusal("ben", address=f"10.0.1.{number}", locked=False)
    assert AuditEvent.objects.count() == sign_in.MAX_EVENTS


def test_a_password_in_the_wrong_field_is_not_kept():  # T23
    sign_in.record_refusal("correct horse battery", address="10.0.0.9", locked=False)
    ((verb, what, actor),) = told()
    assert (verb, what[:5], actor) == ("sign_in.refused", "hmac:", "unknown")
