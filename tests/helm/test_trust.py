"""What helm gets to see and where it can get to: nothing of karpdash, and one cluster through the relay."""

import http.client
import io
import json
import socket
import stat
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from migrations_app.actions.helm.request import HelmRequest, HelmRun
from migrations_app.clients.helm.chart_archive import checked_chart
from migrations_app.clients.helm.engine import HelmInput, HelmTool, RunGuards, dry_run_helm, run_helm
from migrations_app.clients.helm.program import (
    MAX_MEMORY,
    environment,
    kill_group,
    private_folder,
    run,
    write_kubeconfig,
)
from migrations_app.clients.helm.relay import MAX_CONNECTIONS, ClusterRelay
from migrations_app.clients.helm.relay_rules import DryRules, PlannedRules, RelayedRequest
from migrations_app.errors import Conflict, InvalidInput
from tests.clients.kubernetes.rig import CANARY, FAST, always, speaking
from tests.helm.own_charts import packed
from tests.servers.waiting import AT_ONCE, eventually

RUN = HelmRun(do="upgrade", release="karpenter", namespace="karpenter", before=1)
SERVED = always(lambda wire: wire.answer(b'{"kind": "Version"}'))


def ask(url, method, path, body=None, **headers):
    """(status, headers, body) of one request to the relay."""
    parts = urlsplit(url)
    line = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
    line.request(method, f"{parts.path}{path}", body=json.dumps(body) if body is not None else None, headers=headers)
    answer = line.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    line.close()
    return found


def script(folder: Path, text: str) -> Path:
    program = folder / "helm"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(stat.S_IRWXU)
    return program


def test_helm_sees_no_credential_no_address_and_nothing_of_the_surroundings(tmp_path, monkeypatch):  # K19, T01, T23
    monkeypatch.setenv("KARPDASH_SECRET_KEY", "canary-key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "canary-aws")
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("HELM_PLUGINS", "/canary-plugins")
    seen = tmp_path / "seen"
    loop = 'while read -r line || [ -n "$line" ]; do echo "$line"; done < "$KUBECONFIG"'
    tell = f'{{ set; {loop}; echo "words: $*"; echo *; }} > {seen}'
    tool = HelmTool(program=script(tmp_path, tell), version="v3.8.1", seconds=5)
    with speaking(SERVED) as (transport, evil):
        given = HelmInput(chart=packed("1.0.14"), values={"secret": "canary-value"})
        dry_run_helm(tool, RUN, transport=transport, given=given)
        told = seen.read_text()
        assert str(evil.port) not in told
    assert "http://127.0.0.1:" in told
    for canary in (CANARY, "canary-", "10.0.0.1", "AWS_", "KARPDASH_", "exec"):
        assert canary not in told
    assert "--values=-" in told


def test_the_folder_of_a_run_is_private_and_gone_afterwards(tmp_path):  # T24
    with private_folder() as folder:
        write_kubeconfig(folder, "http://127.0.0.1:1/x")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "kubeconfig").stat().st_mode) == 0o600
        config = json.loads((folder / "kubeconfig").read_text())
        assert config["users"] == [{"name": "relay", "user": {}}]
        paths = {value for value in environment(folder).values() if value.startswith("/")}
        assert all(Path(path).is_relative_to(folder) for path in paths)
    assert not folder.exists()


@pytest.mark.parametrize("redirect", ["302 Found", "307 Temporary Redirect"])
def test_a_redirect_leads_nowhere(redirect):  # K04, T03
    away = always(lambda wire: wire.answer(b"{}", status=redirect, Location="http://169.254.169.254/latest"))
    with speaking(away) as (transport, evil), ClusterRelay(transport, DryRules(), purpose="t").serving() as relay:
        status, headers, _ = ask(relay.url, "GET", "/api")
        assert (str(status), "Location" in headers) == (redirect[:3], False)
        assert len(evil.requests) == 1


def test_a_server_that_drips_or_hangs_costs_a_bounded_time():  # K06, T06
    for sick in (
        always(lambda wire: wire.hang()),
        always(lambda wire: wire.begin(), lambda w: w.drip(b"1\r\nx\r\n", every=0.02)),
    ):
        began = time.monotonic()
        with (
            speaking(sick, limits=FAST) as (transport, _),
            ClusterRelay(transport, DryRules(), purpose="t").serving() as relay,
        ):
            status, _, body = ask(relay.url, "GET", "/api")
        assert (status, json.loads(body)["kind"]) == (504, "Status")
        assert time.monotonic() - began < AT_ONCE


def test_only_who_knows_the_path_gets_through_and_only_clean_paths_do():  # K13, T03
    with speaking(SERVED) as (transport, evil), ClusterRelay(transport, DryRules(), purpose="t").serving() as relay:
        root = relay.url.rpartition("/")[0]
        assert ask(root, "GET", "/api")[0] == 404
        assert ask(f"{root}/{'x' * 43}", "GET", "/api")[0] == 404
        for path in ("/api/../secret", "/api//v1", "/api/%2e%2e/x", "/"):
            assert ask(relay.url, "GET", path)[0] == 400
        assert evil.requests == []
        assert ask(relay.url, "GET", "/api/v1")[0] == 200
    assert [one.headers["authorization"] for one in evil.requests] == [f"Bearer {CANARY}"]


def test_a_stranger_is_sent_off_before_anything_of_his_is_read():  # K19, T06
    with speaking(SERVED) as (transport, evil), ClusterRelay(transport, DryRules(), purpose="t").serving() as relay:
        port = urlsplit(relay.url).port
        with socket.create_connection(("127.0.0.1", port), timeout=20) as line:
            line.sendall(b"POST /guess HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n")
            told = b"".join(iter(lambda: line.recv(65536), b""))  # ends: the relay closes, and waits for no body
        assert told.startswith(b"HTTP/1.1 404 ")
        others = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(MAX_CONNECTIONS)]
        with socket.create_connection(("127.0.0.1", port), timeout=20) as more:
            assert more.recv(1) == b""
        for line in others:
            line.close()
        eventually(lambda: _answers(relay.url), what="the relay to answer again")
    assert evil.requests == []


def _answers(url):
    try:
        return ask(url, "GET", "/")[0] == 400  # not a path of the API
    except (http.client.HTTPException, OSError):
        return False


def test_a_connection_that_is_kept_open_gets_nothing_after_the_run():  # K19, A10
    rules = planned(HelmRequest(method="POST", path=f"{PATH}/a", digest=digest_of(MAP)))
    with speaking(SERVED) as (transport, evil):
        relay = ClusterRelay(transport, rules, purpose="t")
        parts = urlsplit(relay.url)
        kept = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=20)
        with relay.serving():
            kept.request("GET", f"{parts.path}/")
            assert (kept.getresponse().read() != b"", kept.sock is not None) == (True, True)
        for method, path in (("GET", f"{parts.path}/api/v1"), ("POST", f"{parts.path}{PATH}")):
            kept.request(method, path, body=json.dumps(MAP))
            late = kept.getresponse()
            assert (late.status, json.loads(late.read())["message"]) == (410, "karpdash: the run has ended")
        kept.close()
    assert (evil.requests, rules.sent) == ([], [])


def test_what_helm_sends_as_headers_is_not_passed_on():  # T25, K16
    with (
        speaking(SERVED) as (transport, evil),
        ClusterRelay(transport, DryRules(), purpose="step=s001").serving() as relay,
    ):
        ask(relay.url, "GET", "/api/v1", **{"Impersonate-User": "system:admin", "Authorization": "Bearer other"})
    (seen,) = evil.requests
    assert "impersonate-user" not in seen.headers
    assert (seen.headers["authorization"], "step=s001" in seen.headers["user-agent"]) == (f"Bearer {CANARY}", True)


PATH = "/api/v1/namespaces/karpenter/configmaps"
MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "y"}}


def test_every_change_of_a_preview_is_a_dry_run():  # K14, A27
    with speaking(SERVED) as (transport, evil), ClusterRelay(transport, DryRules(), purpose="t").serving() as relay:
        for method, path in (("POST", PATH), ("PUT", f"{PATH}/a"), ("PATCH", f"{PATH}/a"), ("DELETE", f"{PATH}/a")):
            assert ask(relay.url, method, path, MAP, **{"Content-Type": "application/json"})[0] == 200
        assert ask(relay.url, "DELETE", f"{PATH}/b")[0] == 200
    told = [(one.method, one.query.get("dryRun"), json.loads(one.body).get("dryRun")) for one in evil.requests]
    assert told == [
        ("POST", "All", None), ("PUT", "All", None), ("PATCH", "All", None),
        ("DELETE", None, ["All"]), ("DELETE", None, ["All"]),
    ]  # fmt: skip


def digest_of(body):
    return RelayedRequest(method="POST", path=PATH, body=body).digest


def planned(*requests, permit=lambda: None):
    return PlannedRules(
        requests=requests, record=RUN.makes.path, former=RUN.former.path, marks={"m": "1"}, permit=permit,
        reached=lambda _name: None,
    )  # fmt: skip


def test_only_what_was_planned_passes_and_only_once():  # A04, A20, T19
    create = HelmRequest(method="POST", path=f"{PATH}/a", digest=digest_of(MAP))
    with speaking(SERVED) as (transport, evil):
        for body, path, status in (
            (MAP, PATH, 200),
            (MAP | {"data": {"x": "z"}}, PATH, 403),
            (MAP, "/api/v1/configmaps", 403),
        ):
            with ClusterRelay(transport, planned(create), purpose="t").serving() as relay:
                assert ask(relay.url, "POST", path, body)[0] == status
        rules = planned(create)
        with ClusterRelay(transport, rules, purpose="t").serving() as relay:
            assert [ask(relay.url, "POST", PATH, MAP)[0] for _ in range(3)] == [200, 403, 403]
            assert ask(relay.url, "DELETE", "/api/v1/namespaces/karpenter")[0] == 403
    assert [one.method for one in evil.requests] == ["POST", "POST"]
    assert rules.refused == f"POST {PATH}/a is not in the plan"


def test_records_of_other_releases_and_other_secrets_are_refused():  # T18
    home = "/api/v1/namespaces/karpenter/secrets"
    record = {"kind": "Secret", "type": "helm.sh/release.v1", "metadata": {"name": RUN.makes.name}}
    other = record | {"metadata": {"name": "sh.helm.release.v1.shop.v9"}}
    plain = {"kind": "Secret", "type": "Opaque", "metadata": {"name": RUN.makes.name}}
    with speaking(SERVED) as (transport, evil):
        for method, path, body, status in (
            ("POST", home, record, 200), ("PUT", RUN.former.path, record, 200), ("POST", home, other, 403),
            ("POST", home, plain, 403), ("DELETE", RUN.former.path, None, 403), ("POST", RUN.former.path, record, 403),
        ):  # fmt: skip
            with ClusterRelay(transport, planned(), purpose="t").serving() as relay:
                assert (method, path, ask(relay.url, method, path, body)[0]) == (method, path, status)
    assert json.loads(evil.requests[0].body)["metadata"]["annotations"] == {"m": "1"}


def test_nothing_is_sent_once_the_lease_is_lost():  # A14, A36
    def lost():
        raise Conflict("another worker took over", code="lease_lost")

    create = HelmRequest(method="POST", path=f"{PATH}/a", digest=digest_of(MAP))
    rules = planned(create, permit=lost)
    with speaking(SERVED) as (transport, evil), ClusterRelay(transport, rules, purpose="t").serving() as relay:
        assert ask(relay.url, "POST", PATH, MAP)[0] == 403
    assert (evil.requests, rules.refused) == ([], "another worker took over")


def test_a_run_that_has_to_end_is_killed_with_all_that_it_started(tmp_path):  # A10
    program = script(tmp_path, f"sleep=/bin/sleep\n$sleep 60 &\necho $! > {tmp_path}/child\nwait")
    guards = RunGuards(permit=lambda: None, stop=(tmp_path / "child").exists, reached=lambda _name: None, marks={})
    tool = HelmTool(program=program, version="v3.8.1", seconds=50)
    with speaking(SERVED) as (transport, _):
        done = run_helm(tool, RUN, transport=transport, given=HelmInput(), guards=guards, purpose="t")
    assert (done.end.code, done.sent) == (None, ())
    child = int((tmp_path / "child").read_text())
    eventually(
        lambda: not Path("/proc", str(child)).exists() or " Z " in Path("/proc", str(child), "stat").read_text(),
        what="the child of helm to be gone",
    )


def test_helm_cannot_take_all_memory(tmp_path):  # T06
    program = tmp_path / "helm"
    lines = ("import sys", "sys.stdin.read()", f"held = bytearray({MAX_MEMORY})", "print('held', len(held))")
    program.write_text("\n".join((f"#!{sys.executable}", *lines)))
    program.chmod(stat.S_IRWXU)
    end = run(program, (), folder=tmp_path, stdin=b"", seconds=20)
    assert (end.code, "MemoryError" in end.words) == (1, True)


def test_output_is_cut_cleaned_and_redacted(tmp_path):  # T07, T23
    program = script(
        tmp_path,
        'i=0; while [ $i -lt 3000 ]; do echo line $i; i=$((i+1)); done; printf "\\033[31mpassword=hunter2-77b1\\n"',
    )
    end = run(program, (), folder=tmp_path, stdin=b"", seconds=20)
    assert (end.done, "hunter2" in end.words, "\033" in end.words, len(end.words) <= 1500) == (True, False, False, True)
    assert "line 2999" in end.words


def chart_with(kind):
    body = io.BytesIO(packed("1.0.14"))
    out = io.BytesIO()
    with tarfile.open(fileobj=body) as old, tarfile.open(fileobj=out, mode="w:gz") as new:
        for member in old.getmembers():
            new.addfile(member, old.extractfile(member))
        odd = tarfile.TarInfo("karpenter/templates/odd.yaml" if kind != "up" else "karpenter/../../odd.yaml")
        odd.type, odd.linkname = {
            "link": (tarfile.SYMTYPE, "/etc/passwd"),
            "hard": (tarfile.LNKTYPE, "/etc/passwd"),
        }.get(kind, (tarfile.REGTYPE, ""))
        new.addfile(odd)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["link", "hard", "up"])
def test_a_chart_with_links_or_names_that_lead_out_is_refused(kind):  # T05
    with pytest.raises(InvalidInput):
        checked_chart(chart_with(kind), source="x", name="karpenter", version="1.0.14")


def test_a_group_that_is_gone_already_is_no_error(tmp_path):
    child = subprocess.Popen(["/bin/true"], start_new_session=True)
    child.wait()
    kill_group(child)
