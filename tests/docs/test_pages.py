"""The commands that stand in the docs are run: what a page promises must work."""

import dataclasses
import re
import shlex
import urllib.request
import uuid
from pathlib import Path
from string import Template

import pytest
import yaml
from django.contrib.auth.models import User
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from migrations_app.cli import COMMANDS, main
from migrations_app.models.cluster import Cluster
from migrations_app.samples import fleet
from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.scans import queue
from migrations_app.use_cases.scans.worker import scan_claimed

DOCS = Path(__file__).parents[2] / "docs"


def blocks(page: str, language: str) -> list[str]:
    text = (DOCS / page).read_text()
    return [
        line for block in re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S) for line in block.splitlines()
    ]


def commands() -> list[str]:
    return [line.removeprefix("$ karpdash ") for line in blocks("cli.md", "console")]


def test_the_pages_hold_commands_and_name_every_command() -> None:
    assert (len(commands()) >= 8, len(blocks("api.md", "sh")) >= 10) == (True, True)
    text = (DOCS / "cli.md").read_text()
    assert [name for name in COMMANDS if f"karpdash {name}" not in text and f"`{name}`" not in text] == []


def test_the_page_names_every_address_of_the_published_schema() -> None:
    rows = [line for line in (DOCS / "api.md").read_text().splitlines() if line.startswith("| `")]
    paths = yaml.safe_load((DOCS / "schema" / "openapi-v1.yaml").read_text())["paths"]

    def is_named(address: str) -> bool:
        below, last = address.rsplit("/", 1) if "/" in address else (address, address)
        texts = (f"`{address}`", f"`{address}?", f"`{below}`")
        return any(texts[0] in row or texts[1] in row or (texts[2] in row and f"`{last}`" in row) for row in rows)

    addresses = [path.removeprefix("/api/v1/") for path in paths]
    assert (len(addresses) > 100, [address for address in addresses if not is_named(address)]) == (True, [])


def test_the_page_says_how_many_packages_the_command_line_brings() -> None:
    locked = re.findall(r"^[\w.-]+==", (DOCS.parent / "locks" / "cli.txt").read_text(), re.M)
    assert f"{len(locked)} packages, no Django" in (DOCS / "install.md").read_text()


@pytest.mark.parametrize("words", commands())
def test_a_command_of_the_page_works(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    story = fleet.find("beta_037")
    assert story is not None
    fleet.write(story, tmp_path / "dump")
    monkeypatch.chdir(tmp_path)
    code = main(shlex.split(words))
    said = capsys.readouterr()
    assert (code, (said.out or said.err) != "") == (0, True)  # what writes files tells so beside its output


@dataclasses.dataclass(frozen=True)
class Curl:
    """As much of curl as the page uses."""

    url: str
    method: str
    headers: dict[str, str]
    body: bytes | None


def parsed(line: str) -> Curl:
    words = shlex.split(line)
    assert words.pop(0) == "curl"
    given: dict[str, list[str]] = {"-X": [], "-H": [], "-d": []}
    url = ""
    while words:
        word = words.pop(0)
        if word in given:
            given[word].append(words.pop(0))
        else:
            url = word
    headers = dict(header.split(": ", 1) for header in given["-H"])
    body = given["-d"][0].encode() if given["-d"] else None
    return Curl(url, given["-X"][0] if given["-X"] else "GET", headers, body)


@pytest.fixture
def names(
    transactional_db: None, live_server: LiveServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """What the page's variables stand for: a server with a scanned cluster."""
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))
    for module in ("clusters.views", "clusters.batches", "scans.scans"):
        monkeypatch.setattr(f"migrations_app.api.{module}.enqueue_scan", lambda _scan: True)
    row = Cluster.objects.create(name="blue", source="sample", context="beta_037")
    claim = queue.claim(queue.request_scan(row.pk).scan_id)
    assert claim is not None
    scan_claimed(claim)
    ada = User.objects.create_superuser(f"ada-{uuid.uuid4()}")
    secret = tokens.issue(ada, name="docs", scopes=["read", "scan", "admin"], days=1).secret
    row.refresh_from_db()
    return {"URL": live_server.url, "TOKEN": secret, "CLUSTER": str(row.pk), "SNAPSHOT": str(row.latest_id)}


def test_every_request_of_the_pages_is_answered(names: dict[str, str]) -> None:
    answers = []
    for line in [*blocks("api.md", "sh"), *blocks("people.md", "sh")]:
        asked = parsed(Template(line).substitute(names))
        request = urllib.request.Request(asked.url, data=asked.body, headers=asked.headers, method=asked.method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            answers.append((asked.method, answer.status))
    assert [status for method, status in answers if method == "GET"] == [200] * 17
    assert [status for method, status in answers if method != "GET"] == [202, 201, 200, 201, 201, 201]
