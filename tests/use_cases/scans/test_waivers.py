"""Waivers given, taken back and ended: what is counted follows, and what was found stays as it was."""

import dataclasses
import uuid
from datetime import timedelta

import pytest
from django.utils import timezone

from migrations_app.errors import Conflict, InvalidInput, NotFound, PermissionDenied
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster
from migrations_app.models.monitoring import Gauges
from migrations_app.models.policy import Waiver
from migrations_app.models.scan import Content, FindingRow, Snapshot
from migrations_app.queries.clusters.detail import report_of
from migrations_app.queries.fleet.causes import blockers_of
from migrations_app.queries.fleet.clusters import FleetFilters, fleet_page
from migrations_app.queries.fleet.waivers import WaiverFilters, waiver_page, waivers_by_cluster
from migrations_app.queries.scans.findings import FindingFilters, finding_page
from migrations_app.use_cases.scans import queue, waivers
from migrations_app.use_cases.scans.worker import scan_claimed
from tests.builders.rows import a_cluster, a_finding, a_report, a_snapshot
from tests.use_cases.people import ADMINISTER, person, user
from tests.use_cases.scans.waivers import a_wish

pytestmark = pytest.mark.django_db
BLOCKER, WARNING = "legacy_provisioners_gone", "budgets_let_nodes_go"
ANSWERED = "iam_change_known"


@pytest.fixture
def gil():
    return person(user("gil", ADMINISTER))


@pytest.fixture
def ann():
    return person(user("ann", "change_cluster"))


def now():
    return timezone.now()


def judged(name="shop"):
    shop = a_cluster(name)
    a_snapshot(shop, a_report(name, checks=(a_finding(BLOCKER), a_finding("crds_served", status="pass"))))
    return shop


def numbers(shop):
    """The verdict and blockers of the column, of the fleet page, of the report and of the list of findings."""
    row = Snapshot.objects.get(pk=Cluster.objects.get(pk=shop.pk).latest_id)
    on_page = next(one for one in fleet_page(FleetFilters(), now=now()).rows if one.id == shop.pk)
    report = report_of(row.pk)
    listed = finding_page(FindingFilters(cluster=shop.pk, check=BLOCKER), after="", limit=9).rows
    return row.verdict, row.blockers, on_page.bucket, report.hops[0].verdict, [one.status for one in listed]


OPEN = ("blocked", 1, "blocked", "blocked", ["fail"])
ACCEPTED = ("ready_with_warnings", 0, "ready_with_warnings", "ready_with_warnings", ["waived"])


def test_every_reader_says_the_same_after_a_waiver_and_after_its_revocation(gil):
    shop = judged()
    assert numbers(shop) == OPEN
    made = waivers.waive(a_wish(BLOCKER, shop), gil, now=now())
    assert numbers(shop) == ACCEPTED
    waivers.revoke(made, gil, now=now())
    assert numbers(shop) == OPEN


def test_nothing_that_was_found_is_rewritten(gil):
    shop = judged()
    before = list(Content.objects.values_list("digest", "report")), list(FindingRow.objects.values())
    waivers.waive(a_wish(BLOCKER, shop), gil, now=now())
    assert (list(Content.objects.values_list("digest", "report")), list(FindingRow.objects.values())) == before


def test_reads_say_fail_the_moment_it_ends_and_the_tick_brings_the_numbers(gil, time_machine):
    time_machine.move_to(now(), tick=False)
    shop = judged()
    waivers.waive(a_wish(BLOCKER, shop, ends_at=now() + timedelta(days=1)), gil, now=now())
    time_machine.shift(timedelta(days=1))
    assert numbers(shop)[3:] == OPEN[3:]
    assert (waivers.expire_waivers(now()), numbers(shop)) == (1, OPEN)
    assert (waivers.expire_waivers(now()), AuditEvent.objects.filter(verb="waiver.ended").count()) == (0, 1)


def test_a_waiver_of_all_clusters_reaches_each_with_the_tick_and_spares_the_others(gil):
    shop, other = judged("shop"), judged("other")
    made = waivers.waive(a_wish(BLOCKER), gil, now=now())
    assert (waivers.expire_waivers(now()), numbers(shop), numbers(other)) == (2, ACCEPTED, ACCEPTED)
    assert waivers.expire_waivers(now()) == 0
    waivers.revoke(made, gil, now=now())
    assert (waivers.expire_waivers(now()), numbers(shop), numbers(other)) == (2, OPEN, OPEN)


def test_the_waiver_of_one_cluster_says_nothing_of_another(gil):
    shop, other = judged("shop"), judged("other")
    waivers.waive(a_wish(BLOCKER, shop), gil, now=now())
    assert (waivers.expire_waivers(now()), numbers(shop), numbers(other)) == (0, ACCEPTED, OPEN)


def test_a_scan_is_published_with_the_waivers_that_hold(gil, settings):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))
    shop = Cluster.objects.create(name="a", source="sample", context="alpha_030")
    scanned(shop)
    failing = report_of(shop.latest_id).checks
    named = {one.id for one in failing if one.status == "fail"}
    for check in named:
        waivers.waive(a_wish(check, shop), gil, now=now())
    counted = Snapshot.objects.get(pk=shop.latest_id).blockers
    scanned(shop)
    row = Snapshot.objects.get(pk=shop.latest_id)
    assert (counted, row.blockers, row.warnings, len(row.waived)) == (0, 0, 0, len(named))
    told = Gauges.objects.get(pk=shop.pk).body["checks"]
    assert ({status for _, _, status, _ in told} & {"fail", "waived"}) == {"waived"}
    assert waivers.expire_waivers(now()) == 0


def scanned(shop):
    scan_claimed(queue.claim(queue.request_scan(shop.pk, by="test").scan_id))
    shop.refresh_from_db()


def test_an_older_snapshot_keeps_the_waivers_that_it_was_counted_with(gil):
    shop = judged()
    old = shop.latest_id
    made = waivers.waive(a_wish(BLOCKER, shop), gil, now=now())
    a_snapshot(shop, a_report("shop", checks=(a_finding(BLOCKER, status="pass"),)))
    waivers.revoke(made, gil, now=now())
    assert report_of(old).checks[0].status == "waived"


def test_who_may_not_set_policies_accepts_warnings_of_one_cluster(ann):
    shop = judged()
    assert waivers.waive(a_wish(WARNING, shop), ann, now=now()) == Waiver.objects.get().pk
    for wish in (a_wish(BLOCKER, shop), a_wish(WARNING)):
        with pytest.raises(PermissionDenied):
            waivers.waive(wish, ann, now=now())
    assert (Waiver.objects.count(), Waiver.objects.get().blockers) == (1, False)


def test_a_waiver_of_all_is_taken_back_by_those_who_set_policies(gil, ann):
    made = waivers.waive(a_wish(WARNING), gil, now=now())
    with pytest.raises(PermissionDenied):
        waivers.revoke(made, ann, now=now())
    assert Waiver.objects.get().revoked_at is None


def test_taking_back_twice_changes_nothing(gil):
    made = waivers.waive(a_wish(), gil, now=now())
    waivers.revoke(made, gil, now=now())
    first = Waiver.objects.get().revoked_at
    waivers.revoke(made, gil, now=now())
    assert (Waiver.objects.get().revoked_at, AuditEvent.objects.filter(verb="waiver.revoked").count()) == (first, 1)
    with pytest.raises(NotFound):
        waivers.revoke(uuid.uuid4(), gil, now=now())


@pytest.mark.parametrize(
    ("told", "where"),
    [
        ({"check": "no_such"}, "check"),
        ({"hop": "0.99"}, "hop"),
        ({"check": ANSWERED}, "hop"),
        ({"reason": "  "}, "reason"),
        ({"reason": "x" * 501}, "reason"),
        ({"owner": ""}, "owner"),
        ({"ends_at": timezone.now() - timedelta(days=1)}, "ends_at"),
        ({"ends_at": timezone.now() + timedelta(days=367)}, "ends_at"),
    ],
)
def test_what_makes_no_sense_is_refused(gil, told, where):
    with pytest.raises(InvalidInput) as refused:
        waivers.waive(dataclasses.replace(a_wish(), **told), gil, now=now())
    assert (refused.value.where, Waiver.objects.count(), AuditEvent.objects.count()) == (where, 0, 0)


def test_the_same_is_not_waived_twice_at_one_time(gil):
    made = waivers.waive(a_wish(), gil, now=now())
    with pytest.raises(Conflict) as refused:
        waivers.waive(a_wish(), gil, now=now())
    assert refused.value.code == "already_waived"
    waivers.revoke(made, gil, now=now())
    waivers.waive(a_wish(), gil, now=now())
    states = [row.state for row in waiver_page(WaiverFilters(), now=now()).rows]
    assert states == ["active", "revoked"]


def test_a_cluster_that_is_not_there(gil):
    with pytest.raises(NotFound):
        waivers.waive(dataclasses.replace(a_wish(), cluster=uuid.uuid4()), gil, now=now())


def test_it_is_recorded_who_accepted_what(gil):
    shop = judged()
    waivers.waive(a_wish(BLOCKER, shop), gil, now=now())
    event = AuditEvent.objects.get(verb="waiver.made")
    assert (event.object, event.cluster_id) == (f"check {BLOCKER}", str(shop.pk))
    assert '"reason":"moved in May"' in event.detail


def test_findings_are_filtered_by_what_they_are_now(gil):
    shop, other = judged("shop"), judged("other")
    waivers.waive(a_wish(BLOCKER, shop), gil, now=now())
    found = {
        status: [one.cluster_name for one in finding_page(FindingFilters(status=status), after="", limit=9).rows]
        for status in ("fail", "waived", "pass")
    }
    assert found == {"fail": ["other"], "waived": ["shop"], "pass": ["other", "shop"]}
    told = finding_page(FindingFilters(status="waived"), after="", limit=9).rows[0].summary
    assert told == next(one.summary for one in report_of(shop.latest_id).checks if one.status == "waived")
    assert other.name == "other"


def asked_about_iam(*, waited="1.0"):
    """A cluster that is asked about IAM at two hops, of which the first was taken where the second is `waited`."""
    shop = a_cluster("shop")
    asked = (a_finding(ANSWERED, status="manual", hop=hop) for hop in ("1.0", "1.1+"))
    a_snapshot(shop, a_report("shop", checks=tuple(asked)))
    Snapshot.objects.update(next_hop=waited)
    return shop


def statuses(shop):
    """By hop what the report and the list of findings say, and whether it still blocks the fleet's next hop."""
    told = {one.hop: one.status for one in report_of(Cluster.objects.get(pk=shop.pk).latest_id).checks}
    listed = finding_page(FindingFilters(cluster=shop.pk, check=ANSWERED), after="", limit=9).rows
    assert {one.hop: one.status for one in listed} == told
    open_ones = blockers_of(fleet_page(FleetFilters(), now=now()).rows, held=waivers_by_cluster(now()))
    return told, [one.check for one in open_ones.get(shop.pk, ())]


def test_the_word_of_a_person_answers_for_its_hop_alone(gil):
    shop = asked_about_iam()
    assert statuses(shop) == ({"1.0": "manual", "1.1+": "manual"}, [ANSWERED])
    waivers.waive(a_wish(ANSWERED, shop, hop="1.0"), gil, now=now())
    assert statuses(shop) == ({"1.0": "waived", "1.1+": "manual"}, [])
    waivers.waive(a_wish(ANSWERED, shop, hop="1.1+"), gil, now=now())
    assert statuses(shop)[0] == {"1.0": "waived", "1.1+": "waived"}
    told = [(row.hop, row.check) for row in waiver_page(WaiverFilters(), now=now()).rows]
    assert told == [("1.1+", ANSWERED), ("1.0", ANSWERED)]
    assert '"hop":"1.0"' in AuditEvent.objects.filter(verb="waiver.made").order_by("seq").first().detail


def test_what_was_vouched_for_one_hop_does_not_clear_the_next_one(gil):
    shop = asked_about_iam(waited="1.1+")
    waivers.waive(a_wish(ANSWERED, shop, hop="1.0"), gil, now=now())
    assert statuses(shop)[1] == [ANSWERED]


def test_a_word_that_was_recorded_without_a_hop_answers_none(gil):
    shop = asked_about_iam()
    waivers.waive(a_wish(ANSWERED, shop, hop="1.0"), gil, now=now())
    Waiver.objects.update(hop="")
    assert statuses(shop) == ({"1.0": "manual", "1.1+": "manual"}, [ANSWERED])


FORMERLY, TODAY = "unread_kinds_current", "policies_name_current_keys"


@pytest.mark.parametrize(("held", "found"), [(FORMERLY, TODAY), (TODAY, FORMERLY), (TODAY, TODAY)])
def test_a_waiver_covers_a_renamed_check_everywhere(gil, held, found):
    shop, other = a_cluster("shop"), a_cluster("other")
    for cluster in (shop, other):
        checks = (a_finding(found), a_finding("crds_served", status="pass"))
        a_snapshot(cluster, a_report(cluster.name, checks=checks))
    Waiver.objects.create(
        check_id=held, cluster=shop, owner_name="Ada", reason="known", blockers=True, made_at=now(),
        ends_at=now() + timedelta(days=1),
    )  # fmt: skip
    waivers.expire_waivers(now())
    listed = finding_page(FindingFilters(check=TODAY), after="", limit=9).rows
    assert [(row.cluster_name, row.status) for row in listed] == [("other", "fail"), ("shop", "waived")]
    failing = fleet_page(FleetFilters(check=TODAY), now=now()).rows
    assert [row.name for row in failing] == ["other"]
    assert [Snapshot.objects.get(cluster=cluster).blockers for cluster in (shop, other)] == [0, 1]


@pytest.mark.parametrize("held", [FORMERLY, TODAY])
def test_a_renamed_check_is_not_waived_twice(gil, held):
    shop = judged()
    Waiver.objects.create(cluster=shop, check_id=held, ends_at=now() + timedelta(days=1), made_at=now())
    with pytest.raises(Conflict) as refused:
        waivers.waive(a_wish(TODAY, shop), gil, now=now())
    assert refused.value.code == "already_waived"
