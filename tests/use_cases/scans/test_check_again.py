"""A check that is asked alone says what it says in the whole, reads less, and never makes anything look right."""

import dataclasses
import json

import msgspec
import pytest
from django.conf import settings

from migrations_app.checks.base import Reason
from migrations_app.checks.registry import all_checks
from migrations_app.clients.bundle.bundle import open_bundle
from migrations_app.collect.aws import add_aws, collect_aws
from migrations_app.collect.collect import collect
from migrations_app.collect.some_parts import ALWAYS
from migrations_app.errors import InvalidInput
from migrations_app.inventory.inventory import PART_NAMES, track_reads
from migrations_app.models.audit import AuditEvent
from migrations_app.models.cluster import Cluster
from migrations_app.models.scan import Scan, Snapshot
from migrations_app.models.scan_event import ScanEvent
from migrations_app.queries.scans.scans import checked_again
from migrations_app.readiness.evaluate import evaluate
from migrations_app.readiness.verdict import next_hop
from migrations_app.samples import fleet
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from migrations_app.use_cases.scans import check_again, queue, worker
from migrations_app.use_cases.scans.check_again import AWS, FOR_AWS, fresh_finding, known_check
from tests.clients.one_cluster import OneCluster, kubeconfig_for
from tests.fakes.evilk8s import EvilServer
from tests.use_cases.clusters.eks import KEYS

CHECKS = {check.id: check for check in all_checks()}
OPEN, PASSES, OTHER = "legacy_provisioners_gone", "crds_served", "claims_not_drifted"


def bundle(story):
    return open_bundle(fleet.files(story))


def looked_at(story):
    return add_aws(collect(bundle(story), cluster=story.name), fleet.aws(story))


@pytest.mark.parametrize("story", fleet.stories(), ids=lambda story: story.name)
def test_alone_it_says_what_it_says_in_the_whole(story):
    report = evaluate(looked_at(story)).report
    coming = next_hop(report)
    row = Cluster(name=story.name, source="sample", context=story.name)
    for finding in report.checks:
        # What the fix of another check brings is not there yet: then all is read.
        if coming and finding.hop == coming.hop and finding.status in check_again.STILL_OPEN and not finding.follows:
            found, parts = fresh_finding(row, bundle(story), check=CHECKS[finding.id], hop=finding.hop, on_part=None)
            told = (found.status, found.summary, found.evidence_total, found.evidence_exact)
            assert told == (finding.status, finding.summary, finding.evidence_total, finding.evidence_exact), finding.id
            assert parts < len(PART_NAMES)


def test_what_is_looked_at_to_ask_aws_is_read_before():
    read = set()
    for story in fleet.stories():
        if account := fleet.aws(story):
            seen = track_reads(looked_at(story).inventory)
            read |= seen.reading(lambda seen=seen, account=account: collect_aws(account, seen))[1]
    assert "nodes" in read
    assert read <= {*ALWAYS, *FOR_AWS, AWS}


def test_pods_are_read_for_those_who_look_at_them_alone():
    story = fleet.find("halfway_032")
    row = Cluster(name=story.name, source="sample", context=story.name)
    hop = next_hop(evaluate(looked_at(story)).report).hop
    names = {}
    for check in (OPEN, "pods_have_controllers"):
        note = names.setdefault(check, set()).add
        fresh_finding(row, bundle(story), check=CHECKS[check], hop=hop, on_part=lambda name, _, note=note: note(name))
    assert "provisioners" in names[OPEN]
    assert ("pods" in names[OPEN], "pods" in names["pods_have_controllers"]) == (False, True)


def test_aws_is_asked_once(monkeypatch):
    story = fleet.find("halfway_032")
    row, asked = Cluster(name=story.name, source="sample", context=story.name), []
    looks = check_again.with_aws_parts
    monkeypatch.setattr(check_again, "with_aws_parts", lambda *of, **more: asked.append(1) or looks(*of, **more))
    hop = next_hop(evaluate(looked_at(story)).report).hop
    assert fresh_finding(row, bundle(story), check=CHECKS["controller_permitted"], hop=hop, on_part=None)
    assert len(asked) == 1


def test_only_a_check_that_exists_is_asked():
    assert known_check(OPEN) == OPEN
    with pytest.raises(InvalidInput, match="no such check"):
        known_check("anything")


@pytest.fixture
def shop(db):
    row = Cluster.objects.create(name="halfway_032", source="sample", context="halfway_032")
    scanned(row)
    row.refresh_from_db()
    return row


def scanned(row, check=""):
    asked = queue.request_scan(row.pk, by="ada", only_check=check).scan_id
    worker.scan_claimed(queue.claim(asked))
    return Scan.objects.get(pk=asked)


def told(row):
    return checked_again(row.pk, OPEN, since=Cluster.objects.get(pk=row.pk).last_success_at)


def was(monkeypatch, **said):
    """The snapshot says this of the check that is asked."""
    reads = check_again._in_snapshot
    monkeypatch.setattr(check_again, "_in_snapshot", lambda *of: msgspec.structs.replace(reads(*of), **said))


class TestScan:
    def test_a_check_that_is_open_ends_the_scan_and_leaves_the_snapshot(self, shop):
        done = scanned(shop, OPEN)
        assert (done.state, done.snapshot, done.only_check) == ("done", None, OPEN)
        assert (done.check_answer["check"], done.check_answer["status"]) == (OPEN, "fail")
        row = Cluster.objects.get(pk=shop.pk)
        assert (row.latest_id, row.last_success_at) == (shop.latest_id, shop.last_success_at)
        assert ScanEvent.objects.filter(scan_id=done.pk, state="done").count() == 1
        assert json.loads(AuditEvent.objects.filter(verb="scan.requested").latest("pk").detail)["check"] == OPEN
        found = told(shop)
        assert (found.answer.summary, found.by) == (done.check_answer["summary"], "ada")

    def test_one_that_is_no_longer_open_is_followed_by_the_whole(self, shop, monkeypatch):
        was(monkeypatch, status="fail")
        done = scanned(shop, PASSES)
        assert (done.state, done.only_check, done.check_answer["status"]) == ("done", "", "pass")
        assert done.snapshot_id not in (None, shop.latest_id)
        assert checked_again(shop.pk, PASSES, since=shop.last_success_at) is None

    @pytest.mark.parametrize(
        "said",
        [
            {"status": "unknown"},
            {"status": "pass"},
            {"status": "unknown", "reason": Reason("part_unread", "pods", "x")},
        ],
    )
    def test_one_that_says_something_else_is_followed_by_the_whole(self, shop, monkeypatch, said):
        was(monkeypatch, **said)
        assert scanned(shop, OPEN).snapshot_id

    def test_one_that_is_unknown_for_another_cause_is_followed_by_the_whole(self, shop, monkeypatch):
        asks = check_again.fresh_finding

        def unread(*of, **more):
            found = asks(*of, **more)
            changed = {"status": "unknown", "reason": Reason("part_unread", "provisioners", "timeout")}
            return found._replace(finding=msgspec.structs.replace(found.finding, **changed))

        monkeypatch.setattr(check_again, "fresh_finding", unread)
        was(monkeypatch, status="unknown", reason=Reason("part_unread", "provisioners", "forbidden"))
        assert scanned(shop, OPEN).snapshot_id
        was(monkeypatch, status="unknown", reason=Reason("part_unread", "provisioners", "timeout"))
        assert scanned(shop, OPEN).snapshot_id is None

    def test_the_whole_is_read_after_a_failure(self, shop):
        Cluster.objects.filter(pk=shop.pk).update(failures=1, last_error_code="unreachable")
        assert scanned(shop, OPEN).snapshot_id
        assert Cluster.objects.get(pk=shop.pk).failures == 0

    def test_the_whole_tells_why_nothing_answers(self, shop, monkeypatch):
        Cluster.objects.filter(pk=shop.pk).update(context="gone")
        lost = scanned(shop, OPEN)
        assert (lost.state, lost.error_code, lost.only_check, lost.check_answer) == ("failed", "bad_input", "", None)

    def test_both_readings_share_the_time_of_one_scan(self, shop, monkeypatch):
        seconds, connects, collects = [], check_again.connect, worker.collect

        def connected(*of, within):
            seconds.append(within.scan_seconds)
            return connects(*of, within=within)

        def collected(*of, deadline, **more):
            seconds.append(deadline)
            return collects(*of, deadline=deadline, **more)

        monkeypatch.setattr(check_again, "connect", connected)
        monkeypatch.setattr(worker, "collect", collected)
        was(monkeypatch, status="unknown")
        scanned(shop, OPEN)
        alone, whole = seconds
        assert (alone, whole < 4 * alone) == (settings.ENV.scan_deadline / 4, True)

    def test_the_whole_is_read_where_another_hop_comes_next(self, shop):
        Snapshot.objects.filter(pk=shop.latest_id).update(next_hop="1.0")
        done = scanned(shop, OPEN)
        assert (done.check_answer, done.only_check) == (None, "")
        assert done.snapshot_id not in (None, shop.latest_id)

    def test_the_whole_is_read_before_there_is_any_snapshot(self, db):
        row = Cluster.objects.create(name="halfway_032", source="sample", context="halfway_032")
        assert scanned(row, OPEN).snapshot_id

    def test_a_newer_scan_of_the_whole_takes_the_answer_away(self, shop):
        scanned(shop, OPEN)
        assert told(shop)
        scanned(shop)
        assert told(shop) is None

    def test_who_asks_for_the_whole_meanwhile_gets_it(self, shop, monkeypatch):
        asks = check_again.fresh_finding

        def interrupted(*of, **more):
            assert not queue.request_scan(shop.pk, by="ben").created
            return asks(*of, **more)

        monkeypatch.setattr(check_again, "fresh_finding", interrupted)
        assert scanned(shop, OPEN).snapshot_id

    def test_nothing_is_stored_of_a_scan_that_another_worker_has(self, shop, monkeypatch):
        asks = check_again.fresh_finding

        def taken_over(*of, **more):
            Scan.objects.filter(state="running").update(fence=7)
            return asks(*of, **more)

        monkeypatch.setattr(check_again, "fresh_finding", taken_over)
        left = scanned(shop, OPEN)
        assert (left.state, left.check_answer, left.snapshot) == ("running", None, None)

    def test_another_cluster_behind_the_address_answers_nothing(self, db, settings):
        settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=KEYS, allow_loopback=True)
        there = OneCluster()
        with EvilServer(there) as server:
            text = kubeconfig_for(server).encode()
            row = Cluster.objects.get(pk=register_kubeconfig(text, Details(name="shop", by="ada")))
            scanned(row)
            there.uid = "uid-2"
            lost = scanned(row, OPEN)
        assert (lost.state, lost.error_code, lost.check_answer) == ("failed", "other_cluster", None)


class TestQueue:
    @pytest.fixture
    def row(self, db):
        return Cluster.objects.create(name="shop", source="sample", context="halfway_032")

    def active(self, row):
        return Scan.objects.get(cluster=row).only_check

    @pytest.mark.parametrize(
        ("first", "second", "read"), [(OPEN, OPEN, OPEN), (OPEN, "", ""), ("", OPEN, ""), (OPEN, OTHER, "")]
    )
    def test_an_active_scan_reads_at_least_what_is_asked_for(self, row, first, second, read):
        one = queue.request_scan(row.pk, by="ada", only_check=first)
        two = queue.request_scan(row.pk, by="ben", only_check=second)
        assert (two.scan_id, two.created, self.active(row)) == (one.scan_id, False, read)

    def test_a_scan_that_ends_in_between_is_followed_by_one_of_the_whole(self, row, monkeypatch):
        queue.request_scan(row.pk, by="ada", only_check=OPEN)
        first = Scan.objects.get()
        rows = type(Scan.objects.all())
        finds = rows.first

        def then_ends(self):
            found = finds(self)
            Scan.objects.filter(pk=first.pk).update(state="done")
            return found

        monkeypatch.setattr(rows, "first", then_ends)
        asked = queue.request_scan(row.pk, by="ben")
        assert (asked.created, asked.scan_id != first.pk) == (True, True)
