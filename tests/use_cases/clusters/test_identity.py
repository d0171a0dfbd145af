"""Which cluster a scan reads: another one behind the same address is refused until a person accepts it (A05, T17)."""

import dataclasses

import pytest

from migrations_app.access import EffectivePermissions
from migrations_app.errors import Conflict, InvalidInput
from migrations_app.execution.interface import RolloutHalted
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster, ClusterGroup
from migrations_app.models.policy import Policy
from migrations_app.models.rollout import Outbox, Rollout
from migrations_app.models.scan import LegacyDay, Scan, Snapshot
from migrations_app.queries.clusters.detail import cluster_head, legacy_trend
from migrations_app.queries.clusters.identity import IdentityDetail, identity_detail, registrations_of
from migrations_app.queries.rollouts.rollouts import holder_elsewhere
from migrations_app.queries.visibility import ALL, VisibilityScope, visibility_scope
from migrations_app.use_cases.clusters.identity import accept
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from migrations_app.use_cases.rollouts import lifecycle
from migrations_app.use_cases.rollouts.limits import refuse_batch
from migrations_app.use_cases.rollouts.start_checks import refuse_held_elsewhere, refuse_start, why_not_start
from migrations_app.use_cases.scans import queue
from migrations_app.use_cases.scans.worker import scan_claimed
from tests.actions.on_server import QUICK, installed, put
from tests.builders.pools import a_provisioner
from tests.builders.rollouts import IDENTITY, a_plan, a_rollout
from tests.builders.rows import a_cluster
from tests.clients.one_cluster import OneCluster, kubeconfig_for
from tests.fakes.evilk8s import EvilServer
from tests.use_cases.clusters.eks import KEYS
from tests.use_cases.people import ADMINISTER, OPERATE, actor, person, user
from tests.use_cases.rollouts.test_changed_objects import rebuild

pytestmark = pytest.mark.django_db


@pytest.fixture
def there():
    return OneCluster()


@pytest.fixture
def server(settings, there):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=KEYS, allow_loopback=True)
    with EvilServer(there) as found:
        yield found


@pytest.fixture
def shop(server):
    return Cluster.objects.get(pk=registered(server, "shop"))


def registered(server, name):
    return register_kubeconfig(kubeconfig_for(server).encode(), Details(name=name, by="ada"))


def scanned(cluster) -> Scan:
    """The scan, when it has ended."""
    scan = queue.request_scan(cluster.pk).scan_id
    scan_claimed(queue.claim(scan))
    cluster.refresh_from_db()
    return Scan.objects.get(pk=scan)


def state(cluster) -> IdentityDetail:
    return identity_detail(Cluster.objects.get(pk=cluster.pk))


def test_the_first_scan_learns_which_cluster_it_is(shop):
    assert state(shop).state == "unknown"
    assert scanned(shop).state == "done"
    assert (state(shop).state, shop.kube_system_uid, len(shop.ca_digest)) == ("known", "uid-1", 64)


def test_another_cluster_behind_the_address_is_not_mixed_into_the_history(shop, there):
    first = scanned(shop)
    there.uid = "uid-2"
    told = scanned(shop)
    assert (told.state, told.error_code, told.snapshot) == ("failed", "other_cluster", None)
    assert "uid-2" in told.error_detail
    assert list(Snapshot.objects.all()) == [first.snapshot]
    assert (shop.latest, shop.kube_system_uid, state(shop).state) == (first.snapshot, "uid-1", "other")
    scanned(shop)
    told = [row.body["code"] for row in Outbox.objects.filter(topic="scan.failed")]
    assert told == ["other_cluster"]
    there.uid = "uid-1"
    assert scanned(shop).state == "done"
    assert (state(shop).state, state(shop).other_uid) == ("known", "")


def test_a_cluster_that_is_replaced_while_it_is_read_is_not_stored(shop, there, server):
    uids = iter(["uid-1", "uid-2"])
    answer = OneCluster.__call__

    def script(request, wire):
        if request.path.endswith("/kube-system"):
            there.uid = next(uids)
        answer(there, request, wire)

    server.script = script
    assert (scanned(shop).error_code, Snapshot.objects.count()) == ("other_cluster", 0)


def test_a_uid_that_may_not_be_read_is_said_and_equals_nothing(shop, there, server):
    there.uid = ""
    assert scanned(shop).state == "done"
    lines = {line.name: line.why for line in shop.latest.report().parts}
    assert (lines["identity"], shop.latest.complete) == ("forbidden", False)
    assert (state(shop).state, state(shop).error, shop.kube_system_uid) == ("unknown", "forbidden", "")
    again = Cluster.objects.get(pk=registered(server, "again"))
    scanned(again)
    assert (registrations_of(shop.pk), state(again).registrations) == ((shop.pk,), ())


def test_a_known_cluster_whose_uid_is_hidden_is_not_proven(shop, there):
    scanned(shop)
    there.uid = ""
    assert scanned(shop).state == "done"
    assert (state(shop).state, state(shop).kube_system_uid, state(shop).error) == ("unproven", "uid-1", "forbidden")


def test_another_ca_with_the_same_uid_is_another_cluster(shop):
    scanned(shop)
    Cluster.objects.filter(pk=shop.pk).update(ca_digest="0" * 64)
    told = scanned(shop)
    assert (told.error_code, "its CA is another one" in told.error_detail) == ("other_cluster", True)


class TestAccept:
    def test_a_person_accepts_it_and_the_history_begins_anew(self, shop, there):
        first = scanned(shop).snapshot
        a_rollout(shop, state="approved")
        LegacyDay.objects.update(nodes=99)
        there.uid = "uid-2"
        scanned(shop)
        version = shop.version
        assert accept(shop.pk, uid="uid-2", typed_name="shop", version=version) == version + 1
        shop.refresh_from_db()
        assert (shop.latest, shop.kube_system_uid, shop.failures, state(shop).state) == (None, "uid-2", 0, "known")
        event = AuditEvent.objects.get(verb="cluster.identity_accepted")
        assert (event.object, "uid-1" in event.detail, "uid-2" in event.detail) == ("shop", True, True)
        assert Rollout.objects.get().state == "expired"
        scan_claimed(queue.claim(Scan.objects.get(state="queued").pk))
        shop.refresh_from_db()
        assert Snapshot.objects.count() == 2
        assert [moment for moment, _ in legacy_trend(shop.pk)] == [shop.latest.scanned_at]
        assert [one.replaced for one in Snapshot.objects.order_by("replaced")] == [False, True]
        assert LegacyDay.objects.exclude(nodes=99).count() == LegacyDay.objects.count() == 1
        assert Snapshot.objects.get(replaced=True) == first

    def test_where_only_the_ca_changed_the_history_goes_on(self, shop):
        first = scanned(shop).snapshot
        Cluster.objects.filter(pk=shop.pk).update(ca_digest="0" * 64)
        scanned(shop)
        accept(shop.pk, uid="uid-1", typed_name="shop")
        shop.refresh_from_db()
        assert (shop.latest, shop.identity_since, state(shop).state) == (first, None, "known")

    @pytest.mark.parametrize(
        ("given", "code"),
        [
            ({"uid": "uid-2", "typed_name": "Shop"}, "name_not_typed"),
            ({"uid": "uid-3", "typed_name": "shop"}, "stale"),
            ({"uid": "uid-2", "typed_name": "shop", "version": 9}, "stale"),
        ],
    )
    def test_what_was_not_seen_is_not_accepted(self, shop, there, given, code):
        scanned(shop)
        there.uid = "uid-2"
        scanned(shop)
        with pytest.raises((Conflict, InvalidInput)) as told:
            accept(shop.pk, **given)
        assert (told.value.code, state(shop).state) == (code, "other")

    def test_not_while_a_rollout_holds_it(self, shop, there):
        scanned(shop)
        there.uid = "uid-2"
        scanned(shop)
        a_rollout(shop, state="paused")
        with pytest.raises(Conflict) as told:
            accept(shop.pk, uid="uid-2", typed_name="shop")
        assert told.value.code == "rollout_holds"

    def test_nothing_is_accepted_where_nothing_else_answers(self, shop):
        scanned(shop)
        with pytest.raises(Conflict):
            accept(shop.pk, uid="", typed_name="shop")


class TestRegisteredTwice:
    @pytest.fixture
    def both(self):
        rows = [a_cluster(name=name, source="kubeconfig") for name in ("shop", "shop-again")]
        Cluster.objects.update(kube_system_uid=IDENTITY.kube_system_uid, ca_digest=IDENTITY.ca)
        Cluster.objects.filter(name="shop-again").update(ca_digest="0" * 64)
        return [Cluster.objects.get(pk=row.pk) for row in rows]

    @pytest.fixture
    def ada(self):
        return user("ada", OPERATE, ADMINISTER)

    def approved(self, cluster, ada):
        plan = a_plan(cluster, identity=IDENTITY)
        return a_rollout(cluster, plan_value=plan, state="approved", author=ada, risk="low", policy_version=1)

    def frozen_by(self, cluster, rollout):
        Policy.objects.create(cluster=cluster, frozen=True, frozen_why="audit week")
        return Rollout.objects.get(pk=rollout.pk)

    def test_each_names_the_other(self, both, ada):
        shop, again = both
        assert [(one.id, one.name, one.same_ca) for one in state(shop).registrations] == [
            (again.pk, "shop-again", False)
        ]
        assert (registrations_of(shop.pk), registrations_of(again.pk)) == ((shop.pk, again.pk), (again.pk, shop.pk))

    def test_one_rollout_holds_both(self, both, ada, monkeypatch):  # A13, R08
        monkeypatch.setattr("migrations_app.use_cases.rollouts.start_checks.approvals_needed", lambda _row: 0)
        first, second = (self.approved(one, ada) for one in both)
        lifecycle.start(first.pk, person(ada), digest=first.digest, by=actor(ada))
        words = f"rollout {first.pk} of the registration {first.cluster_name} holds this cluster: both registrations"
        with visibility_scope(ALL):
            assert why_not_start(second.pk, person(ada)).startswith(words)
            with pytest.raises(Conflict) as told:
                lifecycle.start(second.pk, person(ada), digest=second.digest, by=actor(ada))
            assert (told.value.code, told.value.message) == ("busy", why_not_start(second.pk, person(ada)))
        assert sorted(Rollout.objects.values_list("state", flat=True)) == ["approved", "running"]

    def test_a_registration_that_the_caller_may_not_see_is_not_named(self, both, ada, monkeypatch):  # T11
        first, second = (self.approved(one, ada) for one in both)
        Rollout.objects.filter(pk=first.pk).update(state="running")
        group = ClusterGroup.objects.create(name="mine")
        group.clusters.add(both[1])
        mine = VisibilityScope(EffectivePermissions(by_group={group.pk: frozenset({"view", "operate"})}), both[1].pk)
        with visibility_scope(mine), pytest.raises(Conflict) as told:
            refuse_held_elsewhere(Rollout.objects.get(pk=second.pk))
        assert told.value.message.startswith("a rollout of a registration that you may not see holds this cluster: ")
        assert str(first.pk) not in told.value.message
        with visibility_scope(mine), pytest.raises(Conflict) as closed:
            refuse_start(self.frozen_by(both[0], second), person(ada))
        assert (
            closed.value.message
            == "changes are frozen: audit week (by the policy of a registration that you may not see)"
        )

    def test_what_a_worker_stores_names_no_other_registration(self, both, ada):  # T11
        """The page of a rollout or journey shows it to everyone who sees that cluster."""
        first, second = (self.approved(one, ada) for one in both)
        with pytest.raises(RolloutHalted) as halted:
            refuse_batch(self.frozen_by(both[0], second))
        words = "changes are frozen: audit week (by the policy of another registration of this cluster)"
        assert (halted.value.code, halted.value.message) == ("closed", words)
        Rollout.objects.filter(pk=first.pk).update(state="running")
        with pytest.raises(Conflict) as held:
            refuse_held_elsewhere(second)
        assert held.value.message.startswith("a rollout of another registration of this cluster holds this cluster: ")
        assert str(first.pk) not in held.value.message

    def test_the_plans_tell_even_where_no_scan_did(self, both, ada, monkeypatch):
        monkeypatch.setattr("migrations_app.use_cases.rollouts.start_checks.approvals_needed", lambda _row: 0)
        Cluster.objects.update(kube_system_uid="")
        first, second = (self.approved(one, ada) for one in both)
        Rollout.objects.filter(pk=first.pk).update(state="running")
        with pytest.raises(Conflict) as told:
            lifecycle.start(second.pk, person(ada), digest=second.digest, by=actor(ada))
        assert told.value.code == "busy"

    @pytest.mark.parametrize("plan", [b"", b"{", b'{"identity": {"kube_system_uid": "", "ca": ""}}'])
    def test_plans_without_a_known_uid_are_no_cluster(self, both, ada, plan):
        for one in both:
            a_rollout(one, plan=plan, state="running", author=ada)
        assert [holder_elsewhere(row) for row in Rollout.objects.all()] == [None, None]

    def test_the_freeze_of_one_is_the_freeze_of_the_other(self, both, ada):  # A33
        row = self.frozen_by(both[1], self.approved(both[0], ada))
        words = "changes are frozen: audit week (by the policy of the registration shop-again)"
        with visibility_scope(ALL):
            assert why_not_start(row.pk, person(ada)) == words


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_a_rebuilt_cluster_on_the_real_server(clean_apiserver, settings):  # T17, R32
    settings.ENV = dataclasses.replace(settings.ENV, **QUICK)
    clean_apiserver.load_crds("alpha_and_beta")
    installed(clean_apiserver, "0.32.10")
    put(clean_apiserver, a_provisioner())
    text = clean_apiserver.kubeconfig(clean_apiserver.admin_token).encode()
    shop, again = (
        Cluster.objects.get(pk=register_kubeconfig(text, Details(name=name, by="ada"))) for name in ("shop", "again")
    )
    assert [scanned(shop).state, scanned(again).state] == ["done", "done"]
    assert [one.name for one in state(shop).registrations] == ["again"]
    rebuild(clean_apiserver)
    assert [scanned(one).error_code for one in (shop, again)] == ["other_cluster", "other_cluster"]
    accept(shop.pk, uid=Cluster.objects.get(pk=shop.pk).other_uid, typed_name="shop")
    scan_claimed(queue.claim(Scan.objects.get(cluster=shop, state="queued").pk))
    head = cluster_head(shop.pk, now=Scan.objects.latest("created_at").created_at)
    assert (head.identity.state, head.identity.registrations, head.is_latest) == ("known", (), True)
