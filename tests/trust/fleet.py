"""The whole story of a fleet: six clusters, one campaign, and what the servers' own audit logs say of it (A25, R02)."""

import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.two_people import PagesInstallation, installation
from tests.servers import browser
from tests.servers.apiserver import ApiServer
from tests.simulator.beside import ServerSimulator
from tests.simulator.conversion import conversion_webhook
from tests.simulator.story import CRDS, pods
from tests.trust.fleet_story import Errands, FleetStory, counted
from tests.trust.parts import Part
from tests.trust.sites import KINDS, SIZE, Site, place_charts
from tests.use_cases.rollouts import audit_log_reader

FLEET = {
    "beta-1": ("beta", "dev"),
    "beta-2": ("beta", "staging"),
    "halfway-1": ("halfway", "production"),
    "halfway-2": ("halfway", "production"),
    "alpha-1": ("alpha", "production"),
    "alpha-2": ("alpha", "production"),
}
"""By name: the state before the campaign, and the environment."""
RECIPE = {
    "waves": "1, 1, rest", "order": "dev, staging, production", "at_once": "4", "gate_minutes": "0", "person": "never",
    "most_stops": "1", "unseen": "1", "accepts": "1", "destroys-remove_legacy": "1",
    "node_role": "KarpenterNodeRole-{cluster}",
    "weighed": "Permissions, quotas and values were compared for all six clusters",
}  # fmt: skip
WRONG = "beta-2"
MAX_DECISIONS = 6
"""Of both people together, from the request for approval to the end."""
POLICY = {"approvals_destructive": "1", "batch": "2", "per_hour": "100"}


@contextmanager
def sites(fleet: dict[str, tuple[str, str]], conversions: dict[str, dict]) -> Iterator[dict[str, Site]]:
    """The clusters of the fleet, each on a server of its own with its simulator at work."""
    with ExitStack() as stack:
        found = {}
        for name, (kind, _) in fleet.items():
            server = ApiServer()
            stack.callback(server.stop)
            simulator = ServerSimulator(server)
            stack.callback(simulator.close)
            found[name] = Site(name, KINDS[kind], server, simulator)
            conversions[name] = stack.enter_context(conversion_webhook())
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(Site.furnish, found.values()))
        for name, site in found.items():
            site.convert_by(conversions[name])
            stack.enter_context(site.simulator.running())
            site.mark = site.server.audit_mark()
        yield found


def told(opened: Browser, fleet: dict[str, tuple[str, str]], *, pictures: Path | None = None) -> list[str]:
    """Lets the campaign of that fleet run; what did not hold, after printing what was counted."""
    conversions: dict[str, dict] = {}
    with sites(fleet, conversions) as found, installation(opened) as up:
        _employ(up)
        errands = Errands(up.up.data)
        try:
            story = FleetStory(
                up, errands, up.seated("ada"), up.seated("cleo"), found, conversions, wrong=WRONG, pictures=pictures
            )
            source = place_charts(up.up.data / "charts")
            for name, (_, environment) in fleet.items():
                story.register(name, environment=environment)
            story.scanned()
            began = time.monotonic()
            story.draft(source, **RECIPE)
            story.agree()
            story.walk()
            story.finish()
            minutes = (time.monotonic() - began) / 60
            return [*_judged(story, minutes=minutes), *up.leave()]
        finally:
            errands.close()


def _employ(up: PagesInstallation) -> None:
    operator = ("operate_rollout", "add_cluster", "add_scan")
    up.hire(ada=operator, cleo=("approve_rollout",), gil=("administer_policy",))
    boss = up.seated("gil")
    boss.goto("/policy")
    for name, value in POLICY.items():
        boss.locator(f"#{name}").fill(value)
    boss.locator("#campaigns_destroy").check()
    boss.get_by_role("button", name="Change the policy").click()
    up.leave()


def _judged(story: FleetStory, *, minutes: float) -> list[str]:
    """What speaks against the campaign, cluster by cluster."""
    wrong, lines, writes = [], 0, 0
    for name, site in story.sites.items():
        site.simulator.settle()
        below = {budget: margin for budget, margin in site.simulator.lowest.items() if margin < 0}
        wrong += [f"{name}: below its budget: {below}"] if below else []
        if pods(site.server) != (SIZE.nodes * SIZE.slots, 0):
            wrong.append(f"{name}: pods {pods(site.server)}")
        stored = site.server.admin.get(f"{CRDS}/nodepools.karpenter.sh")["status"]["storedVersions"]
        wrong += [f"{name}: stored as {stored}"] if stored != ["v1"] else []
        events = site.server.audit_events(site.mark)
        lines += len(events)
        for rollout in story.rollouts(name):
            wrong += [f"{name}: {words}" for words in story.installation.complaints(rollout, events)]
            writes += sum(one.took_effect for one in audit_log_reader.requests(events, of=rollout))
    if story.errands.ask("chain") is not True:
        wrong.append("the audit log has a gap")
    rollouts = sum(len(story.rollouts(name)) for name in story.sites)
    if len(story.decisions) > MAX_DECISIONS:
        wrong.append(f"{len(story.decisions)} decisions: at most {MAX_DECISIONS} are wanted")
    said = "\n".join(f"{count:>4}  {what}" for what, count in counted(story.decisions).most_common())
    sys.stderr.write(
        f"{len(story.decisions)} decisions:\n{said}\n"
        f"{minutes:.1f} minutes, {rollouts} rollouts, {writes} writes among {lines} lines of the servers' audit logs\n"
        + "".join(f"{name}: {', '.join(site.done)}\n" for name, site in story.sites.items())
    )
    return wrong


def campaigns(count: int, dice: random.Random) -> Sequence[str]:
    """That many campaigns over the whole fleet, one after the other."""
    del dice
    expect.set_options(timeout=60_000)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(**browser.installed().launch)
        try:
            return ["; ".join(told(opened, FLEET)) for _ in range(count)]
        finally:
            opened.close()


PARTS = (Part(name="campaigns of six clusters", full=1, rules="R02, A25, A40, A44", series=campaigns),)
