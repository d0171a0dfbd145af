"""The requests that stand in docs/rollouts.md are sent, in their order: what the page promises must work."""

import dataclasses
import urllib.request
from string import Template

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from migrations_app.api.framework.problem_codes import CODES
from migrations_app.queries.visibility import PERMISSIONS
from migrations_app.use_cases.accounts import tokens
from migrations_app.use_cases.rollouts.backups import store_backup
from tests.builders.rollouts import a_line, a_rollout, an_approval, entitled, taint
from tests.builders.rows import a_cluster
from tests.docs.test_pages import DOCS, blocks, parsed

TEXT = (DOCS / "rollouts.md").read_text()
EXPECTED = {
    "plans": 202, "rehearsals": 202, "ask": 200, "start": 202, "pause": 202, "abort": 202, "default": 200,
    "kill-switch": 200,
}  # fmt: skip


@pytest.fixture
def names(
    transactional_db: None, live_server: LiveServer, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """What the page's variables stand for."""
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=(("k1", b"0" * 32),))
    for module in ("plans", "rollouts"):
        monkeypatch.setattr(f"migrations_app.api.{module}.enqueue_rollout", lambda _row, _task: True)
    monkeypatch.setattr("migrations_app.api.rehearsals.views.enqueue_rehearsal", lambda _rehearsal: True)
    root = User.objects.create_superuser("root")
    cleo = entitled(User.objects.create_user("cleo"), "approve_rollout")
    shop, other = a_cluster("shop"), a_cluster("other")
    plan, ready = a_rollout(shop, author=root), a_rollout(shop, state="approved", author=root)
    an_approval(ready, cleo)
    run = a_rollout(other, state="running", author=root)
    a_line(run)
    change = taint().change
    assert change is not None
    store_backup(run, change.target, read={"apiVersion": "v1", "kind": "Provisioner", "metadata": {"name": "default"}})
    secret = tokens.issue(root, name="docs", scopes=["read", "plan", "act", "admin"], days=1).secret
    return {
        "URL": live_server.url, "TOKEN": secret, "CLUSTER": str(shop.pk), "PLAN": str(plan.pk), "READY": str(ready.pk),
        "DIGEST": ready.digest, "RUN": str(run.pk),
    }  # fmt: skip


def test_every_request_of_the_page_is_answered(names: dict[str, str]) -> None:
    told = {}
    for line in blocks("rollouts.md", "sh"):
        asked = parsed(Template(line).substitute(names))
        request = urllib.request.Request(asked.url, data=asked.body, headers=asked.headers, method=asked.method)
        with urllib.request.urlopen(request, timeout=20) as answer:
            told[asked.method, asked.url.rsplit("/", 1)[-1].partition("?")[0]] = answer.status
    assert {name: status for (method, name), status in told.items() if method != "GET"} == EXPECTED
    assert {status for (method, _), status in told.items() if method == "GET"} == {200}
    assert sum(method == "GET" for method, _ in told) >= 6


def test_the_codes_and_rights_of_the_page_are_ours() -> None:
    last = TEXT.rpartition("A refusal names its code:")[2]
    named = [word for word in last.split("`")[1::2] if word.replace("_", "").isalpha()]
    assert (len(named) >= 10, [word for word in named if word not in CODES]) == (True, [])
    rights = [PERMISSIONS[right].partition(".")[2] for right in ("operate", "approve", "administer", "break_glass")]
    assert [right for right in rights if f"`{right}`" not in TEXT] == []
