"""A whole installation with real processes, and the people who take a cluster over a hop in its pages."""

import json
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.installations.running import ROOT, Up, bare_environment, kill
from tests.servers import processes
from tests.use_cases.rollouts import audit_log_reader

PASSWORD = "correct horse battery staple"
SETTINGS = {
    "allow_loopback": "1", "gate_poll": "1", "cancel_seconds": "0", "settle_seconds": "5", "sweep_interval": "5",
    "scan_interval": "0",
}  # fmt: skip
WORD = "#state-word"
ROLLOUT = re.compile(r"^[^?]*/rollouts/([0-9a-f-]{36})/")
SOON, LONG = 60_000, 480_000


@dataclass(slots=True)
class PagesInstallation:
    """One installation with its people, each at a browser of their own. `errors` is what their consoles said."""

    up: Up
    opened: Browser
    contexts: list[BrowserContext] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def hire(self, **people: tuple[str, ...]) -> None:
        """New accounts, each with its rights."""
        words = [sys.executable, "-m", "tests.installations.errands"]
        env = bare_environment(**SETTINGS, data_dir=str(self.up.data)) | {"PYTHONPATH": str(ROOT)}
        asked = "\n".join(json.dumps(["person", name, PASSWORD, *rights]) for name, rights in people.items())
        subprocess.run(words, cwd=ROOT, env=env, input=asked, text=True, check=True, stdout=subprocess.DEVNULL)

    def seated(self, name: str, **options: Any) -> Page:
        """The page of that person, who has just signed in."""
        # A spinner that turns costs as much as the rest of the page.
        options = {"viewport": {"width": 1280, "height": 900}, "reduced_motion": "reduce"} | options
        context = self.opened.new_context(base_url=self.up.address, **options)
        self.contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda line: self.errors.append(line.text) if line.type == "error" else None)
        page.goto("/login")
        page.get_by_label("Username").fill(name)
        page.get_by_label("Password").fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="Sign in")).to_be_hidden()
        return page

    def leave(self) -> list[str]:
        """Closes every browser, and gives what their consoles said."""
        for context in self.contexts:
            context.close()
        said = list(self.errors)
        self.contexts.clear()
        self.errors.clear()
        return said

    def complaints(self, rollout: str, events: list[dict[str, Any]]) -> list[str]:
        """What the API server's audit log says against the journal of this rollout."""
        said = self.up.rows(
            f"SELECT step, attempt, at FROM migrations_app_auditevent WHERE correlation = '{rollout}'"
            " AND verb IN ('step.intent', 'step.passed')"
        )
        at = {(step, number): datetime.fromisoformat(text.replace("Z", "+00:00")) for step, number, text in said}
        journal = self.up.rows(
            "SELECT step, number, verb, outcome, audit_id FROM migrations_app_attempt"
            f" WHERE rollout_id = '{uuid.UUID(rollout).hex}' ORDER BY id"
        )
        lines = [
            audit_log_reader.Line(
                step=step, number=number, verb=verb, outcome=outcome, audit_id=audit_id,
                recorded_at=at.get((step, number)),
            )
            for step, number, verb, outcome, audit_id in journal
        ]  # fmt: skip
        return audit_log_reader.complaints(audit_log_reader.requests(events, of=rollout), lines)


@contextmanager
def installation(opened: Browser) -> Iterator[PagesInstallation]:
    """A running installation; nothing of it is left afterwards."""
    folder = processes.folder("o")
    up = Up(folder, settings=SETTINGS, words=("--no-demo",)).start()
    try:
        yield PagesInstallation(up.serving(), opened)
    finally:
        left = up.family()
        up.end()
        kill(left)
        processes.discard(folder)


@dataclass(slots=True)
class Desk:
    """One cluster in the hands of its operator and its approver. `rollouts` are those so far, by their id."""

    installation: PagesInstallation
    operator: Page
    approver: Page
    cluster: str
    name: str
    rollouts: dict[str, str] = field(default_factory=dict)

    def rollout(self, action: str, **choices: str) -> None:
        """The whole way of a rollout, from the button that offers it to its success."""
        self.begin(action, **choices)
        self.agree()
        self.start()
        self.finished()

    def begin(self, action: str, **choices: str) -> str:
        """The id of a rollout that waits for its approval, or may be started already."""
        page = self.operator
        self._offered(action)
        for name, said in choices.items():
            _choose(page, name, said)
        page.get_by_role("button", name="Preview").click()
        expect(page.locator(WORD)).to_have_text("Preview", timeout=SOON)
        page.wait_for_url(ROLLOUT)
        rollout = re.findall(ROLLOUT, page.url)[0]
        self.rollouts[rollout] = action
        if page.locator("#ask-typed").count():
            page.locator("#ask-typed").fill(self.name)
        page.locator("form[action$='/ask'] button").click()
        expect(page.locator(WORD)).to_have_text(re.compile("^(Waiting for approval|Approved)$"), timeout=SOON)
        return rollout

    def agree(self) -> None:
        """The approver finds it in the inbox and agrees, with the password and the name where they are asked for."""
        if self.operator.locator(WORD).text_content() == "Approved":
            return
        page = self.approver
        page.goto("/rollouts/waiting")
        page.locator("tr", has_text=self.name).get_by_role("link").first.click()
        page.wait_for_url(ROLLOUT)
        if page.get_by_role("link", name="Sign in again").count():
            page.get_by_role("link", name="Sign in again").click()
            page.get_by_label("Password").fill(PASSWORD)
            page.get_by_role("button", name="Confirm").click()
            page.wait_for_url(ROLLOUT)
        for box in page.locator("form[action$='/approve'] input[name=accepted]").all():
            box.check()
        if page.locator("#yes-typed").count():
            page.locator("#yes-typed").fill(self.name)
        page.locator("form[action$='/approve'] button").click()
        expect(page.locator(WORD)).to_have_text("Approved")
        page.goto("/rollouts/waiting")  # the page of the rollout would ask for news until its end

    def start(self) -> None:
        """The operator's page has seen the approval by itself."""
        expect(self.operator.locator(WORD)).to_have_text("Approved", timeout=SOON)
        self.operator.locator("form[action$='/start'] input[name=confirmed]").check()
        self.operator.locator("form[action$='/start'] button").click()
        expect(self.operator.locator(WORD)).to_have_text(re.compile("^(Running|Succeeded)$"))

    def finished(self) -> None:
        """The page says so by itself; what stopped it otherwise is in the failure."""
        over = re.compile("^(Succeeded|Paused|Failed|Aborted|Needs attention)$")
        expect(self.operator.locator(WORD)).to_have_text(over, timeout=LONG)
        assert self.operator.locator(WORD).text_content() == "Succeeded", self.operator.locator("#live").inner_text()

    def _offered(self, action: str) -> None:
        """Opens the form behind the button that offers it, as soon as a fresh look at the cluster does."""
        page = self.operator
        link = page.locator(f"a[href$='rollouts/new?action={action}']").first
        for _ in range(60):
            page.goto(f"/clusters/{self.cluster}/rollouts")
            if link.count():
                # The last resort is folded.
                link.evaluate("link => { const fold = link.closest('details'); if (fold) fold.open = true; }")
                link.click()
                page.wait_for_url(f"**/rollouts/new?action={action}")
                return
            page.wait_for_timeout(500)
        raise AssertionError(f"{action} is not offered: {page.locator('main').inner_text()}")


def _choose(page: Page, name: str, said: str) -> None:
    box = page.locator(f"input[type=checkbox][name={name}][value='{said}']")
    if box.count():
        box.check()
    else:
        page.locator(f"#choice-{name}").fill(said)
