"""Takes the pictures of the docs: `python -m tests.tools.pictures [NAME ...]` writes docs/pictures/NAME.png.

It starts karpdash with its sample fleet in a folder of its own and opens the pages with chromium.
"""

import json
import re
import signal
import sys
import tempfile
import time
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import urllib3
from playwright.sync_api import Page, sync_playwright

from tests.installations.running import ROOT, bare_environment
from tests.servers import browser
from tests.servers.pki import Authority
from tests.servers.processes import Child, free_port

PICTURES = ROOT / "docs" / "pictures"
PASSWORD = "correct horse battery staple"
WIDTH, HEIGHT = 1280, 860
AGENT_TOKEN = re.compile(r"kd_[A-Za-z0-9_-]{43}")
FIRST_ADMIN = re.compile(r"first admin: name (\S+), one-time password (\S+)")


class Picture(NamedTuple):
    """`of` is the sample cluster whose tab is shown; `path` is the URL, or the tab of that cluster.

    With `first`, the page that the first row links to is shown instead.
    """

    path: str
    of: str = ""
    first: bool = False


FAR = "shop-private"
"""A cluster that is reached through an agent."""
WANTED: dict[str, Picture] = {
    "fleet": Picture("/"),
    "readiness": Picture("", of="halfway_032"),
    "runbook": Picture("plan", of="halfway_032"),
    "manifests": Picture("convert", of="alpha_030"),
    "iam": Picture("iam", of="beta_037"),
    "nodes": Picture("nodes", of="halfway_032"),
    "sample": Picture("sample", of="live-alpha"),
    "rollout": Picture("/rollouts/", first=True),
    "progress": Picture("/burndown"),
    "audit": Picture("/audit"),
    "agent": Picture("agent", of=FAR),
}
"""The pictures of docs/tour.md, in its order, and that of docs/agent.md."""


def main(names: Sequence[str]) -> int:
    """Returns 0 when all were taken; 2 for an unknown name."""
    unknown = [name for name in names if name not in WANTED]
    if unknown:
        sys.stderr.write(f"no such picture: {', '.join(unknown)} (there are {', '.join(WANTED)})\n")
        return 2
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kp-") as folder:
        port = free_port()
        words = ["-m", "karpdash.command", "up", "--port", str(port), "--data-dir", f"{folder}/data"]
        server = Child([sys.executable, *words], log=Path(folder) / "up.log", env=bare_environment())
        try:
            server.wait_until(lambda: _scanned(port), what="karpdash", seconds=180)
            _take(f"http://127.0.0.1:{port}", _first_admin(server.log), names or tuple(WANTED), Path(folder))
        finally:
            server.stop(signal.SIGTERM)
    return 0


def _scanned(port: int) -> bool:
    try:
        return urllib3.request("GET", f"http://127.0.0.1:{port}/readyz", retries=False, timeout=5).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def _first_admin(log: Path) -> tuple[str, str]:
    until = time.monotonic() + 60
    while not (found := FIRST_ADMIN.search(log.read_text())):
        if time.monotonic() > until:
            raise RuntimeError(f"no first admin was told:\n{log.read_text()[-2000:]}")
        time.sleep(0.2)
    return found[1], found[2]


def _take(address: str, account: tuple[str, str], names: Sequence[str], folder: Path) -> None:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(**browser.installed().launch)
        context = opened.new_context(
            base_url=address, viewport={"width": WIDTH, "height": HEIGHT}, reduced_motion="reduce", color_scheme="light"
        )
        page = context.new_page()
        _sign_in(page, account)
        for name in names:
            agent = connect_agent(page, address, folder) if WANTED[name].of == FAR else None
            _open(page, WANTED[name])
            page.screenshot(path=PICTURES / f"{name}.png")
            sys.stdout.write(f"docs/pictures/{name}.png\n")
            if agent is not None:
                agent.stop()
        opened.close()


def connect_agent(page: Page, address: str, folder: Path) -> Child:
    """Registers a cluster with an agent and starts that agent; its API server does not answer."""
    page.goto("/clusters/new?way=agent")
    page.get_by_text("Agent in the cluster").click()
    page.get_by_label("Name").fill(FAR)
    page.get_by_role("button", name="Register and scan").click()
    token = folder / "token"
    token.write_text(AGENT_TOKEN.findall(page.locator(".banner code").inner_text())[0])
    ca = b64encode(Authority("far").pem.encode()).decode()
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "far",
        "clusters": [{"name": "far", "cluster": {"server": "https://localhost:9", "certificate-authority-data": ca}}],
        "users": [{"name": "far", "user": {"token": "t"}}],
        "contexts": [{"name": "far", "context": {"cluster": "far", "user": "far"}}],
    }
    access = folder / "access"
    access.write_text(json.dumps(document))
    words = ["-m", "karpdash.command", "agent", "--server", address, "--token-file", token, "--kubeconfig", access]
    env = bare_environment(allow_loopback="1") | {"PYTHONPATH": str(ROOT)}
    agent = Child([sys.executable, *words], log=folder / "agent.log", env=env)
    agent.wait_until(lambda: "connected to" in agent.log.read_text(), what="the agent", seconds=60)
    return agent


def _sign_in(page: Page, account: tuple[str, str]) -> None:
    page.goto("/login")
    page.get_by_label("Username").fill(account[0])
    page.get_by_label("Password").fill(account[1])
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("New password", exact=True).fill(PASSWORD)
    page.get_by_label("New password confirmation").fill(PASSWORD)
    page.get_by_role("button", name="Change").click()
    page.wait_for_url("**/")


def _open(page: Page, wanted: Picture) -> None:
    answer = page.goto("/" if wanted.of else wanted.path)
    if wanted.of:
        first = page.get_by_role("link", name=wanted.of, exact=True).first.get_attribute("href") or ""
        answer = page.goto(f"{first.rstrip('/')}/{wanted.path}")
    if wanted.first:
        answer = page.goto(page.locator("a.row-link").first.get_attribute("href") or "")
    if answer is None or not answer.ok:
        raise RuntimeError(f"{page.url} was not answered well")
    page.locator("main").first.wait_for()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
