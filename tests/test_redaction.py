"""One table of secrets through every door by which text leaves, and a table of texts that must stay readable."""

import json
import logging
import time

import msgspec
import pytest

from karpdash.monitoring import logs
from migrations_app.clients.bundle.redaction import redacted_object
from migrations_app.clients.helm.values import kept_values
from migrations_app.clients.secret import clean
from migrations_app.readiness.notification_events import headline, text_of
from migrations_app.redaction import find_secrets, is_secret_name, redacted_tree, replace_secrets
from migrations_app.use_cases.audit.log import detail_text, guarded
from migrations_app.use_cases.notifications.delivery import _cloud_event
from tests.redaction_cases import INNOCENT, SHAPES, Shape


def _log(text: str) -> str:
    record = logging.LogRecord("karpdash", logging.WARNING, "x.py", 1, text, None, None)
    return str(json.loads(logs.json_formatter().format(record))["event"])


def _audit(text: str) -> str:
    return str(json.loads(detail_text({"why": text}))["why"])


def _values(text: str) -> str:
    return str(kept_values({"settings": {"clusterName": text}})["settings"]["clusterName"])


def _bundle(text: str) -> str:
    doc = {"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "x"}, "spec": {"note": text}}
    kept = redacted_object(msgspec.Raw(msgspec.json.encode(doc)), group="karpenter.sh", plural="nodepools")
    assert kept is not None
    return str(kept["spec"]["note"])


def _event(text: str):
    return {"id": "1", "type": "scan.failed", "time": "2026-01-01T00:00:00Z", "subject": text, "data": {"why": text}}


def _notice(text: str) -> str:
    return f"{text_of([_event(text)])}\n{headline([_event(text)])}"


def _hook(text: str) -> str:
    return str(_cloud_event(_event(text))["data"]["why"])


DOORS = {
    "log": _log,
    "audit": _audit,
    "audit object": guarded,
    "helm values": _values,
    "server": clean,
    "bundle": _bundle,
    "notice": _notice,
    "web hook": _hook,
}


def _shown(text: str) -> str:
    """Without white space, which some doors fold."""
    return "".join(text.split())


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_no_secret_leaves(shape: Shape, door: str) -> None:
    assert _shown(shape.hidden) not in _shown(DOORS[door](shape.text))
    assert _shown(shape.hidden)[:30] not in _shown(DOORS[door](shape.text))


@pytest.mark.parametrize("door", ["log", "audit", "audit object", "helm values", "server", "bundle", "web hook"])
@pytest.mark.parametrize("text", INNOCENT)
def test_what_is_no_secret_stays_readable(text: str, door: str) -> None:
    assert DOORS[door](text) == text


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_what_is_hidden_once_stays_as_it_is(shape: Shape) -> None:
    once = replace_secrets(shape.text)
    assert replace_secrets(once) == once
    assert replace_secrets(replace_secrets(shape.text, "[secret]"), "[secret]") == replace_secrets(
        shape.text, "[secret]"
    )


def test_the_table_has_every_kind_once() -> None:
    names = [shape.name for shape in SHAPES]
    assert len(names) == len(set(names)) >= 40
    assert all(shape.hidden in shape.text for shape in SHAPES)
    assert len(INNOCENT) >= 40


def test_what_tells_the_kind_stays() -> None:
    assert replace_secrets("https://admin:hunter2@git.example.com/x") == "https://(removed)@git.example.com/x"
    assert list(find_secrets("a password=hunter2 b")) == [(11, 18)]


@pytest.mark.parametrize(
    "name",
    [
        *("password", "dbPassword", "DB_PASSWORD", "clientSecret", "API_KEY", "apikey", "token", "authToken"),
        *("credentials", "privateKey", "external_id", "access_key_id", "AWS_SECRET_ACCESS_KEY", "cookie", "bearer"),
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret_name(name)
    assert redacted_tree({name: "x"}) == {name: "(removed)"}


@pytest.mark.parametrize(
    "name",
    [
        *("token_id", "secret_name", "secretName", "tokens", "httpTokens", "external", "key", "accessible", "name", ""),
        *("credential_version", "clusterName", "tokenRefresh", "nodeClassRef", "author"),
    ],
)
def test_names_of_what_is_none(name: str) -> None:
    assert not is_secret_name(name)


_BAD = [
    *("eyJ", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "password=", "password:'", "token:", "://a:", "://", "@"),
    *("bearer ", "Authorization: ", "--", "--password ", "a:b@", "LS0tLS1CRUdJTiB", "kd_", "AKIA", "eyJaaaaaaaaa."),
    *("SG.aaaaaaaaaaaaaaaa", "cookie: ", '\\"', "secret=", "_", "aB", "glpat-a", ":a", "=", 'token:"', "password"),
    *("hooks.slack.com/services/", "xoxb-", "bearer a", "token: aaaaaaaa(", 'password="a ', "@://a:b", "@:a"),
]


@pytest.mark.parametrize("piece", _BAD)
def test_time_grows_with_the_length_alone(piece: str) -> None:
    def seconds(length: int) -> float:
        text = f"password {piece * (length // len(piece))}"
        began = time.process_time()
        replace_secrets(text)
        return time.process_time() - began

    short, long = min(seconds(20_000) for _ in range(3)), min(seconds(160_000) for _ in range(2))
    assert long < 24 * short + 0.05
