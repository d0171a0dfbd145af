"""`karpdash --server URL`: the same outputs and exit codes as without it, over the REST API of a real server."""

import dataclasses
import json
import threading
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone
from msgspec.structs import replace

from migrations_app.checks.base import Remedy
from migrations_app.cli import main
from migrations_app.queries.clusters.detail import report_of
from migrations_app.readiness.outputs import json_schema, junit, markdown, runbook_markdown, runbook_table, table
from migrations_app.readiness.published_fields import typed_plan
from migrations_app.readiness.report import Target
from migrations_app.readiness.runbook.runbook import runbook
from migrations_app.readiness.verdict import exit_code
from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.accounts.tool_choice import choose_tool
from tests.builders.campaigns import a_campaign
from tests.builders.journeys import a_journey
from tests.builders.rollouts import a_rollout, an_approval, entitled, remove
from tests.builders.rows import a_cluster, a_failure, a_finding, a_report, a_snapshot

SCOPES = ["read", "scan", "plan", "act"]


@pytest.fixture
def root(transactional_db):
    return get_user_model().objects.create_superuser("root")


@pytest.fixture
def token(root, monkeypatch, settings):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))
    secret = tokens.issue(root, name="terminal", scopes=SCOPES, days=1).secret
    monkeypatch.setenv("KARPDASH_TOKEN", secret)
    return secret


@pytest.fixture
def shop(token):
    cluster = a_cluster("shop", source="kubeconfig")
    return a_snapshot(cluster), cluster


@pytest.fixture
def asked(live_server, capsys):
    """Runs the command against the server and tells exit code, stdout and stderr."""

    def run(*words):
        code = main(["--server", live_server.url, *words])
        told = capsys.readouterr()
        return code, told.out, told.err

    return run


RENDERERS = {"table": table.render, "json": json_schema.render, "junit": junit.render, "markdown": markdown.render}


@pytest.mark.parametrize("form", RENDERERS)
def test_a_stored_report_is_told_as_by_scan(shop, asked, form):
    report = report_of(shop[0].pk)
    code, out, _ = asked("scan", "--cluster", "shop", "--stored", "-o", form)
    assert out == RENDERERS[form](report)
    assert code == exit_code(report) == 1


def test_what_counts_is_chosen_as_in_scan(shop, asked):
    report = report_of(shop[0].pk)
    for extra, named in ((["--fail-on", "never"], {"fail_on": "never"}), (["--strict"], {"strict": True})):
        assert asked("scan", "--cluster", "shop", "--stored", *extra)[0] == exit_code(report, **named)


def test_a_new_scan_is_waited_for(shop, asked, monkeypatch):
    from migrations_app.models.scan import Scan

    def work(_seconds):
        Scan.objects.filter(state="queued").update(state="done", snapshot=shop[0])

    monkeypatch.setattr("migrations_app.cli.server_client.reports.time.sleep", work)
    assert asked("scan", "--cluster", "shop", "-o", "json")[0] == 1
    assert Scan.objects.get().requested_by == "root"


FAILED = {"last_error_code": "timeout", "failures": 1}
BUNDLE, OF_BUNDLE = {"source": "bundle"}, "the time of its bundle"
AHEAD = "which is in the future: the clock of a worker was ahead; leave --stored out to scan again"


def test_a_scan_that_began_earlier_is_not_taken_for_the_answer(shop, asked, monkeypatch):
    from migrations_app.models.scan import Scan

    earlier = Scan.objects.create(cluster=shop[1], state="running", requested_by="timetable")

    def work(_seconds):
        Scan.objects.filter(state="queued").update(state="done", snapshot=shop[0])
        Scan.objects.filter(pk=earlier.pk).update(state="failed", error_code="timeout")

    monkeypatch.setattr("migrations_app.cli.server_client.reports.time.sleep", work)
    code, _, err = asked("scan", "--cluster", "shop", "-o", "json")
    assert (code, err) == (1, "a scan that began earlier is under way; another one follows\n")
    assert list(Scan.objects.order_by("created_at").values_list("requested_by", "state")) == [
        ("timetable", "failed"), ("root", "done"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("age", "columns", "code", "told"),
    [
        (timedelta(), {}, 0, ""),
        (timedelta(days=2), {}, 3, "and no scan has succeeded since\n"),
        (timedelta(days=2), FAILED, 3, "and no scan has succeeded since: timeout\n"),
        (timedelta(days=2), BUNDLE, 3, f"{OF_BUNDLE}, which scans read again: register a newer bundle\n"),
        (timedelta(days=2), BUNDLE | FAILED, 3, f"{OF_BUNDLE}, and the last scan of the bundle failed: timeout\n"),
        (timedelta(days=-3), {}, 3, f"{AHEAD}\n"),
        (timedelta(days=-3), FAILED, 3, f"{AHEAD}; the last scan failed: timeout\n"),
    ],
)
def test_an_old_snapshot_says_so_and_is_not_ready_if_strict(token, asked, age, columns, code, told):
    """Where clusters are scanned on demand only, no scan is due: without an error there is no reason to name."""
    at = timezone.now() - age
    cluster = a_cluster("shop", interval_seconds=0, **columns)
    a_snapshot(cluster, a_report("shop", checks=(a_finding(status="pass"),), complete=True), at=at)
    plain, strict = (asked("scan", "--cluster", "shop", "--stored", *more) for more in ([], ["--strict"]))
    assert (plain[0], strict[0]) == (0, code)
    assert [said[2].partition(", ")[2] for said in (plain, strict)] == [told] * 2


def test_a_scan_that_fails_could_not_look(shop, asked, monkeypatch):
    from migrations_app.models.scan import Scan

    def work(_seconds):
        Scan.objects.filter(state="queued").update(state="failed", error_code="timeout", error_detail="no answer")

    monkeypatch.setattr("migrations_app.cli.server_client.reports.time.sleep", work)
    code, out, err = asked("scan", "--cluster", "shop")
    assert (code, out) == (3, "")
    assert "the scan of the server failed: no answer" in err


def test_a_scan_that_takes_too_long(shop, asked):
    code, _, err = asked("scan", "--cluster", "shop", "--wait", "0.000001")
    assert code == 3
    assert "goes on at the server" in err


@pytest.mark.parametrize("form", ["table", "markdown", "json"])
def test_the_plan_is_that_of_the_server(shop, asked, form):
    plan = runbook(report_of(shop[0].pk))
    wanted = {
        "table": runbook_table.render, "markdown": runbook_markdown.render,
        "json": lambda one: json_schema.written(typed_plan(one)),
    }[form](plan)  # fmt: skip
    code, out, _ = asked("plan", "--cluster", "shop", "-o", form)
    assert code == 0
    assert (json.loads(out) == json.loads(wanted)) if form == "json" else out == wanted


@pytest.mark.parametrize("form", ["table", "markdown", "json"])
@pytest.mark.parametrize(
    ("stage", "code", "note"),
    [
        ("unknown", 3, "the running release could not be told, so no path can be told either\n"),
        ("no_karpenter", 0, "no Karpenter is installed, so there is no path\n"),
    ],
)
def test_a_plan_without_a_path_ends_as_that_of_the_terminal(token, asked, form, stage, code, note):
    report = a_report("shop", checks=())
    facts = replace(report.cluster, stage=stage, karpenter_version=None)
    a_snapshot(a_cluster("shop"), replace(report, cluster=facts, target=Target(None, ()), hops=()))
    given = asked("plan", "--cluster", "shop", "-o", form)
    assert (given[0], given[2], given[1] != "") == (code, note, True)


def test_a_sample_is_found_by_its_name_beside_a_real_cluster(shop, asked):
    a_snapshot(a_cluster("beta_037", source="sample", environment="sample"))
    assert [asked("plan", "--cluster", name)[0] for name in ("beta_037", "shop", "none")] == [0, 0, 2]


def test_the_tool_of_the_account_comes_first_and_an_asked_one_before_it(token, root, asked):
    fixes = (Remedy(how="kubectl", text="kubectl delete it"), Remedy(how="helm", text="it: false"))
    a_snapshot(a_cluster("shop"), a_report("shop", checks=(a_finding(remedies=fixes),)))

    def fixed_by(*more):
        told = (asked("scan", "--cluster", "shop", "--stored", *more)[1], asked("plan", "--cluster", "shop", *more)[1])
        return [{fix.text for fix in fixes if fix.text in text} for text in told]

    assert fixed_by() == [{"kubectl delete it"}] * 2
    choose_tool(root.pk, tool="helm")
    assert fixed_by() == [{"it: false"}] * 2
    assert fixed_by("--tool", "kubectl") == [{"kubectl delete it"}] * 2
    assert asked("plan", "--cluster", "shop", "--tool", "magic")[0] == 2


def test_lists(shop, asked):
    code, out, _ = asked("cluster", "list")
    assert (code, out.split()[:2]) == (0, ["NAME", "SOURCE"])
    assert [row["name"] for row in json.loads(asked("cluster", "list", "-o", "json")[1])] == ["shop"]
    rows = json.loads(asked("findings", "--cluster", "shop", "--status", "fail", "-o", "json")[1])
    assert {row["cluster_name"] for row in rows} == {"shop"}
    assert json.loads(asked("findings", "--status", "waived", "-o", "json")[1]) == []


def test_a_list_from_a_server_says_who_does_not_answer_and_what_is_old(shop, asked):
    cluster = shop[1]
    a_snapshot(cluster, at=timezone.now() - timedelta(days=3), verdict="ready")
    assert asked("cluster", "list")[1].split()[-4:][0::3] == ["ready", "stale"]
    a_failure(cluster)
    assert asked("cluster", "list")[1].split()[-4:][0::3] == ["unreachable", "stale"]


def test_a_list_from_a_server_says_which_samples_it_leaves_out(shop, asked):
    assert asked("cluster", "list")[2] == ""
    for name in ("one", "two"):
        a_cluster(name, source="sample", environment="sample")
    code, out, err = asked("cluster", "list", "-o", "json")
    assert (code, [row["name"] for row in json.loads(out)]) == (0, ["shop"])
    assert err == "2 sample clusters are not listed beside other clusters\n"


def test_every_page_of_a_list_is_read(token, asked, monkeypatch):
    monkeypatch.setattr("migrations_app.clients.karpdash_server.PAGE_SIZE", 2)
    for number in range(5):
        a_cluster(f"c{number}")
    assert [row["name"] for row in json.loads(asked("cluster", "list", "-o", "json")[1])] == [f"c{n}" for n in range(5)]


def test_a_node_is_skipped_with_a_reason_and_named(shop, asked, root, monkeypatch):
    monkeypatch.setattr("migrations_app.api.rollouts.enqueue_rollout", lambda _row, _task: True)
    row = a_rollout(shop[1], remove(), state="paused", author=root)
    code, out, _ = asked("rollout", "skip_node", str(row.pk), "--step", "s001", "--reason", "on Monday")
    assert (code, "skipped:  ip-10-0-0-1  on Monday" in out) == (0, True), out


def test_an_approved_rollout_is_started_paused_and_ended(shop, asked, root, monkeypatch):
    monkeypatch.setattr("migrations_app.api.rollouts.enqueue_rollout", lambda _row, _task: True)
    row = a_rollout(shop[1], state="approved", author=root)
    an_approval(row, entitled(get_user_model().objects.create_user("cleo"), "approve_rollout"))
    other = asked("rollout", "start", str(row.pk), "--digest", "0" * 64)
    assert other[0] == 2
    told = json.loads(asked("rollout", "start", str(row.pk), "--digest", row.digest, "-o", "json")[1])
    assert (told["state"], told["id"]) == ("running", str(row.pk))
    assert asked("rollout", "pause", str(row.pk))[0] == 0
    row.refresh_from_db()
    assert row.stop_request == "pause"
    assert "shop" in asked("rollout", "list", "--state", "running")[1]
    code, out, _ = asked("rollout", "show", str(row.pk))
    assert code == 0
    assert row.digest in out


def test_a_plan_that_cannot_be_made_tells_why(shop, asked):
    code, _, err = asked("rollout", "plan", "--cluster", "shop", "--action", "nonsense")
    assert code == 2
    assert "action" in err


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (["scan", "--cluster", "nowhere"], 2, "no cluster is named nowhere"),
        (["scan", "--cluster", "shop", "--kubernetes", "much"], 2, "kubernetes"),
        (["rollout", "show", "00000000-0000-0000-0000-000000000000"], 2, "no such"),
    ],
)
def test_what_is_refused_says_why(shop, asked, words, code, why):
    given = asked(*words, *(["--stored"] if words[0] == "scan" else []))
    assert given[0] == code
    assert why in given[2]


@pytest.mark.parametrize("text", ["", "no token", "x" * 500, "kd_unknown"])
def test_tokens_that_open_nothing(shop, asked, monkeypatch, text):
    monkeypatch.setenv("KARPDASH_TOKEN", text)
    code, out, err = asked("cluster", "list")
    assert (code, out) == (3 if text == "kd_unknown" else 2, "")
    assert "token" in err


def test_the_token_may_stand_in_a_file(shop, live_server, tmp_path, monkeypatch, token, capsys):
    monkeypatch.delenv("KARPDASH_TOKEN")
    (tmp_path / "token").write_text(f"{token}\n")
    words = ["--server", live_server.url, "--token-file", str(tmp_path / "token"), "cluster", "list"]
    assert main(words) == 0
    assert main([*words[:3], str(tmp_path / "none"), *words[4:]]) == 2
    assert token not in capsys.readouterr().err


@pytest.mark.parametrize(
    "url",
    ["ftp://x", "karpdash.example.com", "https://", "https://u:p@h", "http://h:99999", "http://[", "https://h/?a=b"],
)
def test_urls_that_are_none(monkeypatch, url, capsys):
    monkeypatch.setenv("KARPDASH_TOKEN", "kd_x")
    assert main(["--server", url, "cluster", "list"]) == 2
    assert "--server" in capsys.readouterr().err


class _Other(BaseHTTPRequestHandler):
    """A server that is no karpdash: what it says stands in its class."""

    status, body, headers_sent = 200, b"<html>", {}

    def do_GET(self):
        self.send_response(type(self).status)
        for name, value in type(self).headers_sent.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(type(self).body)))
        self.end_headers()
        self.wfile.write(type(self).body)

    def log_message(self, *_words):
        pass


@pytest.mark.parametrize(
    ("status", "body", "headers", "why"),
    [
        (200, b"<html>", {}, "is this a karpdash server?"),
        (200, b'{"results": 1}', {}, "no results"),
        (200, b'{"results": [], "next": "https://elsewhere/"}', {}, "names a next page that cannot be requested"),
        (302, b"", {"Location": "https://sso.example.com/login"}, "redirects to https://sso.example.com/login"),
        (502, b"\x1b[2Jbad", {}, "answered 502"),
        (401, b'{"detail": "\\u001b[2Jwho?"}', {}, "who?"),
    ],
)
def test_servers_that_are_no_karpdash(monkeypatch, capsys, status, body, headers, why):
    monkeypatch.setenv("KARPDASH_TOKEN", "kd_x")
    handler = type("Answering", (_Other,), {"status": status, "body": body, "headers_sent": headers})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        code = main(["--server", f"http://127.0.0.1:{server.server_port}", "cluster", "list"])
        server.shutdown()
    told = capsys.readouterr()
    assert (code, told.out) == (3, "")
    assert why in told.err
    assert "\x1b" not in told.err


def test_a_journey_is_shown_paused_held_and_ended(shop, asked, root):
    row = a_journey(shop[1], state="running", author=root, at=1)
    code, out, _ = asked("journey", "list", "--cluster", "shop", "--state", "under_way")
    assert (code, out.split("\n")[1].split()) == (
        0, [str(row.pk), "shop", row.starts, row.target_release, "running", "1", "4"],
    )  # fmt: skip
    code, out, _ = asked("journey", "pause", str(row.pk), "--hold-disruption")
    assert (code, "paused" in out, "asked for: held" in out) == (0, True, True)
    assert asked("journey", "hold", str(row.pk))[0] != 0
    told = json.loads(asked("journey", "resume", str(row.pk), "-o", "json")[1])
    assert (told["state"], told["disruption_hold"]["asked_for"]) == ("paused", "released")
    code, out, _ = asked("journey", "abort", str(row.pk))
    assert (code, "aborted" in out) == (0, True)
    assert asked("journey", "show", "4b1c7a0e-0000-4000-8000-000000000000")[0] != 0


def test_a_campaign_is_shown_with_its_clusters(shop, asked, root):
    row = a_campaign(shop[1], state="running", author=root, wait_code="soak")
    code, out, _ = asked("campaign", "list", "--state", "under_way")
    assert (code, out.split("\n")[1].split()) == (0, [str(row.pk), "to", "v1", "running", "0", "1", "soak"])
    code, out, _ = asked("campaign", "show", str(row.pk))
    assert (code, out.strip().split("\n")[-1].split()) == (0, ["1", "shop", "waiting", "0.37.8", "1.0.14"])
    told = json.loads(asked("campaign", "show", str(row.pk), "-o", "json")[1])
    assert [one["name"] for one in told["clusters"]] == ["shop"]
    assert asked("campaign", "show", "4b1c7a0e-0000-4000-8000-000000000000")[0] != 0
