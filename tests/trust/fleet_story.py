"""Six clusters go to v1 as one campaign in three waves, in the browser, by one operator and one approver.

One of them fails on purpose and is mended. Every decision of the two people is counted; what the owners of the
clusters do with helm and kubectl, as the steps ask for it, is noted beside it.
"""

import json
import re
import subprocess
import sys
import time
import uuid
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.two_people import PASSWORD, SETTINGS, SOON, PagesInstallation
from tests.installations.running import ROOT, bare_environment
from tests.trust.sites import Site

CAMPAIGN = re.compile(r"/campaigns/([0-9a-f-]{36})/")
WRONG, TARGET = "1.0.99", "1.0.14"
"""A release that is neither the one before nor the one that the campaign leads to."""
CRD_CHART = "crd_chart_values_match"
"""The check that the chart of the CRDs is of the release that runs."""
WAIVED = ("kubernetes_inside_window", "running_release_fits_kubernetes")
UNDER_WAY = "SELECT count(*) FROM migrations_app_scan WHERE state IN ('queued', 'running')"
MAX_SECONDS = 2400


class Errands:
    """What an installation is asked beside its pages; see tests/installations/errands.py."""

    def __init__(self, data: Path) -> None:
        env = bare_environment(**SETTINGS, data_dir=str(data)) | {"PYTHONPATH": str(ROOT)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.installations.errands"],
            cwd=ROOT, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, word: str, *arguments: str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([word, *arguments]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.communicate(timeout=30)


@dataclass(slots=True)
class Member:
    """One cluster of the campaign as it stands now."""

    name: str
    state: str
    journey: str
    journey_state: str
    cause: str
    waits: str
    step: str
    definition: dict[str, Any]


@dataclass(slots=True)
class FleetStory:
    """`wrong` is the cluster whose owner installs another release first; `pictures` is where screenshots go."""

    installation: PagesInstallation
    errands: Errands
    operator: Page
    approver: Page
    sites: dict[str, Site]
    conversions: dict[str, dict[str, Any]]
    wrong: str
    pictures: Path | None = None
    campaign: str = ""
    clusters: dict[str, str] = field(default_factory=dict)
    decisions: list[str] = field(default_factory=list)
    seen_to: dict[tuple[str, str], int] = field(default_factory=dict)

    def register(self, name: str, *, environment: str) -> None:
        """The operator pastes the kubeconfig; that the tests' Kubernetes is too old is accepted for a day."""
        page, server = self.operator, self.sites[name].server
        page.goto("/clusters/new?way=paste")
        page.get_by_label("Name", exact=True).fill(name)
        page.locator("#id_environment").fill(environment)
        page.locator("#id_kubeconfig").fill(server.kubeconfig(server.admin_token))
        page.get_by_role("button", name="Register and scan").click()
        page.wait_for_url(re.compile(r"/clusters/[0-9a-f-]{36}/$"))
        self.clusters[name] = page.url.rstrip("/").rpartition("/")[2]
        self.errands.ask("waive", self.clusters[name], *WAIVED)
        self.scan(name)

    def scan(self, name: str) -> None:
        """A scan that begins now, as a pipeline asks for it after helm."""
        cluster = uuid.UUID(self.clusters[name]).hex
        asked = f"{UNDER_WAY} AND cluster_id = '{cluster}'"
        self._until(lambda: self.installation.up.rows(asked) == [(0,)], what=f"the scans of {name} to end")
        self.errands.ask("enqueue_scan", self.errands.ask("request", self.clusters[name]))

    def scanned(self) -> None:
        """Every cluster has a scan and none is under way."""
        self._until(lambda: self.installation.up.rows(UNDER_WAY) == [(0,)], what="the scans to end")

    def draft(self, source: str, **fields: str) -> None:
        """The operator fills in the recipe and sees the preview."""
        page = self.operator
        page.goto("/campaigns/new")
        for name, value in {"name": "to v1", "to": TARGET, "minutes": "0", "source": source, **fields}.items():
            box = page.locator(f"#{name}")
            if box.evaluate("box => box.tagName") == "SELECT":
                box.select_option(value)
            elif box.get_attribute("type") == "checkbox":
                box.check()
            else:
                box.fill(value)
        page.get_by_role("button", name="Preview the campaign").click()
        page.wait_for_url(CAMPAIGN)
        self.campaign = re.findall(CAMPAIGN, page.url)[0]
        expect(page.locator("form[action$='/ask'] button")).to_be_visible(timeout=SOON)
        self.picture("1-preview")

    def agree(self) -> None:
        """Asked for, approved, started."""
        page = self.operator
        page.locator("form[action$='/ask'] button").click()
        self._decided("ada asks for approval of the campaign")
        self._approves(f"/campaigns/{self.campaign}/", "cleo approves the campaign")
        page.goto(f"/campaigns/{self.campaign}/")
        page.locator("form[action$='/start'] input[name=confirmed]").check()
        page.locator("form[action$='/start'] button").click()
        self._decided("ada starts the campaign")
        expect(page.locator("form[action$='/pause'] button")).to_be_visible()
        self.picture("3-started")

    def walk(self) -> None:
        """Until the campaign ended; people and owners do what it waits for."""
        ends = time.monotonic() + MAX_SECONDS
        while (state := self.state()) not in ("succeeded", "aborted"):
            assert time.monotonic() < ends, self.told()
            members = self.members()
            if sum(self._serve(one) for one in members):
                continue
            if members and all(map(_needs_people, members)):
                self._together()
            else:
                self._of_campaign(state)
                time.sleep(0.5)
        assert state == "succeeded", self.told()

    def finish(self) -> None:
        """The page of the end, and the receipt as the ticket gets it."""
        page = self.operator
        page.goto(f"/campaigns/{self.campaign}/")
        self.picture("8-finished")
        if self.pictures is not None:
            receipt = page.request.get(f"/campaigns/{self.campaign}/receipt.md").text()
            (self.pictures / "9-receipt.md").write_text(receipt)

    def state(self) -> str:
        rows = self.installation.up.rows(f"SELECT state FROM migrations_app_campaign WHERE id = '{self._key}'")
        return str(rows[0][0])

    def members(self) -> list[Member]:
        found = self.installation.up.rows(
            "SELECT m.cluster_name, m.state, j.id, j.state, j.cause_code, j.wait_code, s.step, s.definition"
            " FROM migrations_app_campaignmember m JOIN migrations_app_journey j ON j.id = m.journey_id"
            " LEFT JOIN migrations_app_journeysteprow s ON s.journey_id = j.id AND s.state IN ('running', 'failed')"
            f" WHERE m.campaign_id = '{self._key}' AND m.state NOT IN ('done', 'out')"
        )
        return [
            Member(name, state, str(uuid.UUID(journey)), *rest, step or "", json.loads(definition or "{}"))
            for name, state, journey, *rest, step, definition in found
        ]

    def told(self) -> str:
        """Where everything stands, for a failure."""
        lines = [f"{one.name}: {one.state} {one.journey_state} {one.cause} {one.waits} {one.step} {one.definition}"
                 for one in self.members()]  # fmt: skip
        why = self.installation.up.rows(
            f"SELECT state, cause_code, cause, wait_code FROM migrations_app_campaign WHERE id = '{self._key}'"
        )
        rollouts = self.installation.up.rows(
            "SELECT c.name, r.action, r.state, r.cause_code, r.cause FROM migrations_app_rollout r"
            " JOIN migrations_app_cluster c ON c.id = r.cluster_id WHERE r.state NOT IN ('succeeded')"
        )
        return "\n".join([str(why), *lines, *map(str, rollouts), *self.decisions])

    def picture(self, name: str, page: Page | None = None) -> None:
        """A screenshot of the whole page."""
        if self.pictures is not None:
            self.pictures.mkdir(parents=True, exist_ok=True)
            (page or self.operator).screenshot(path=self.pictures / f"{name}.png", full_page=True)

    def rollouts(self, name: str) -> list[str]:
        """The ids of the rollouts of that cluster that sent anything, oldest first."""
        cluster = uuid.UUID(self.clusters[name]).hex
        asked = f"SELECT id FROM migrations_app_rollout WHERE cluster_id = '{cluster}' AND started_at IS NOT NULL"
        return [str(uuid.UUID(pk)) for (pk,) in self.installation.up.rows(f"{asked} ORDER BY started_at")]

    @property
    def _key(self) -> str:
        return uuid.UUID(self.campaign).hex

    def _serve(self, one: Member) -> bool:
        """What this cluster waits for is done; whether it waited for anybody."""
        if _needs_people(one):
            return False  # people decide on all at once, when nothing else goes on
        if one.journey_state == "paused" and one.name == self.wrong and one.cause == "other_release":
            self._mends(one)
        elif one.journey_state != "running":
            assert one.journey_state in ("draft", "previewed", "approved", "succeeded"), self.told()
            return False
        elif one.waits == "tick_needed":
            return self._newly_waits(one) and self._crd_chart(one)
        elif one.waits == "work_outside" and one.step and self._newly_waits(one):
            self._outside(one)
        else:
            assert one.waits not in ("rollout_paused", "rollout_needs_attention"), self.told()
            return False
        return True

    def _newly_waits(self, one: Member) -> bool:
        """Whether the owner has not done that step yet; a step that the work did not settle is a failure."""
        done = self.seen_to.get((one.journey, one.step), 0)
        return done == 0

    def _outside(self, one: Member) -> None:
        site, wanted, checks = self.sites[one.name], one.definition["release"], one.definition["checks"]
        self.seen_to[(one.journey, one.step)] = 1
        if wanted:
            first = one.name == self.wrong and wanted == TARGET and not any(WRONG in line for line in site.done)
            site.release(WRONG if first else wanted)
            site.convert_by(self.conversions[one.name])
        elif "alpha_crds_outlive_chart" in checks:
            site.keep_alpha_crds()
        elif "stored_versions_clean" in checks:
            site.store_v1()
        elif "conversion_webhook_resolves" in checks:
            site.convert_by(self.conversions[one.name])
        elif "global_settings_carried_over" in checks:
            site.settings_as_values()
        elif "drift_not_held_off" in checks:
            site.hold_drift()
        else:
            raise AssertionError(f"{one.name} waits for what no owner does: {one.definition}\n{self.told()}")
        self.scan(one.name)

    def _crd_chart(self, one: Member) -> bool:
        """The owner brings the chart of the CRDs to the release that runs, as the step says; a scan proves it."""
        self.seen_to[(one.journey, one.step)] = 1
        asked = f"SELECT starts FROM migrations_app_journey WHERE id = '{uuid.UUID(one.journey).hex}'"
        self.sites[one.name].upgrade_crd_chart(str(self.installation.up.rows(asked)[0][0]))
        self.scan(one.name)
        return True

    def _mends(self, one: Member) -> None:
        """The owner installs the right release; the operator retries the step and resumes the campaign."""
        self._until(lambda: self.state() == "paused", what="the campaign to pause")
        self.operator.goto(f"/campaigns/{self.campaign}/")
        self.picture("4-stopped")
        self.operator.goto(f"/journeys/{one.journey}/")
        self.picture("5-stopped-upgrade")
        self.sites[one.name].release(TARGET)
        self.sites[one.name].convert_by(self.conversions[one.name])
        self.operator.goto(f"/campaigns/{self.campaign}/")
        self.operator.get_by_role("button", name="Retry its step and resume").click()
        self._decided(f"ada retries on {one.name} and resumes the campaign")
        self._until(lambda: self.state() == "running", what="the campaign to run")
        self.picture("7-resumed")

    def _of_campaign(self, state: str) -> None:
        """The next wave is opened, or a campaign that stopped without a broken upgrade is resumed."""
        page = self.operator
        asked = f"SELECT wait_code, needs_person FROM migrations_app_campaign WHERE id = '{self._key}'"
        ((waits, person),) = self.installation.up.rows(asked)
        if state == "running" and person and waits in ("person", "stops"):
            page.goto(f"/campaigns/{self.campaign}/")
            if page.locator("#open-note").count():
                self.picture(f"wave-{len(self.decisions)}")
                page.locator("#open-note").fill("the clusters before are well")
                page.locator("form[action$='/open-wave'] button").click()
                self._decided("ada opens the next wave")
        elif state == "paused":
            page.goto(f"/campaigns/{self.campaign}/")
            button = page.locator("form[action$='/resume'] button")
            if button.count() and not page.get_by_text("Stopped:").count():
                button.click()
                self._decided("ada resumes the campaign")

    def _together(self) -> None:
        """The operator, and then the approver, decide on all that waits, each in one form."""
        waiting = f"/campaigns/{self.campaign}/waiting"
        for page, form, fields in (
            (self.operator, "others", {"note": "weighed with the owners"}),
            (self.approver, "plans", {"typed": "to v1"}),
        ):
            page.goto(waiting)
            if not page.locator(f"#{form}").count():
                continue
            if form == "plans":
                self._signs_in_again(page)
            said = [" ".join(one.split()) for one in page.locator(f"#{form} b + *, #{form} label").all_inner_texts()]
            for name, value in fields.items():
                page.locator(f"#{form} #{name}").fill(value)
            self.picture(f"decided-{len(self.decisions)}", page)
            with page.expect_navigation():
                page.locator(f"#{form} button").click()
            self._decided(f"{'ada' if form == 'others' else 'cleo'} decides: {'; '.join(said)}")

    def _approves(self, path: str, says: str, *, name: str = "to v1") -> None:
        page = self.approver
        if path:
            page.goto(path)
            self.picture("2-approver", page)
        self._signs_in_again(page)
        expect(page.locator("form[action$='/approve'] button")).to_be_visible()
        for box in page.locator("form[action$='/approve'] input[name=accepted]").all():
            box.check()
        if page.locator("#yes-typed").count():
            page.locator("#yes-typed").fill(name)
        page.locator("form[action$='/approve'] button").click()
        self._decided(says)

    @staticmethod
    def _signs_in_again(page: Page) -> None:
        again = page.locator("main").get_by_role("link", name="Sign in again")
        if again.count():
            again.first.click()
            page.get_by_label("Password").fill(PASSWORD)
            page.get_by_role("button", name="Confirm").click()

    def _decided(self, says: str) -> None:
        self.decisions.append(says)

    @staticmethod
    def _until(holds: Any, *, what: str) -> None:
        ends = time.monotonic() + 240
        while not holds():
            assert time.monotonic() < ends, f"waited in vain for {what}"
            time.sleep(0.3)


def _needs_people(one: Member) -> bool:
    """Whether it waits for an operator's or an approver's decision, and for nothing that an owner does."""
    if one.journey_state == "paused":
        return one.cause in ("plan_differs", "plan_not_shown")
    asks = one.waits in ("confirmation_needed", "approval_needed")
    return asks or (one.waits == "tick_needed" and CRD_CHART not in one.definition.get("checks", ()))


def counted(decisions: list[str]) -> Counter[str]:
    """How many decisions of each kind, without the names of clusters."""
    return Counter(re.sub(r" on \S+?(:|$)", r"\1", line) for line in decisions)
