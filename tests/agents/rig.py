"""A karpdash server, a cluster that it reaches through an agent alone, and that agent as a real process."""

import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from migrations_app.clients.agents.protocol import PROTOCOL, AgentHello, AgentWelcome
from migrations_app.clients.agents.server_link import ServerLink
from migrations_app.clients.secret import Secret
from migrations_app.models.cluster import Cluster, ClusterAgent
from migrations_app.models.scan import Scan
from migrations_app.use_cases.agents.tokens import register_agent
from migrations_app.use_cases.clusters.registration import Details
from migrations_app.use_cases.scans import queue
from migrations_app.use_cases.scans.worker import scan_claimed
from tests.installations.running import ROOT, bare_environment
from tests.servers.processes import Child
from tests.servers.waiting import eventually

LOST_AFTER = 120
"""Seconds: longer than a busy machine keeps an agent from polling. Tests of the loss itself say a shorter time."""


@dataclass(slots=True)
class Site:
    """The installation: `url` is where agents dial, `folder` takes their files and logs."""

    url: str
    folder: Path
    agents: list[Child] = field(default_factory=list)
    links: list[ServerLink] = field(default_factory=list)

    def register(self, name: str = "far") -> tuple[Cluster, Path]:
        """A cluster whose agent is still to come, and the file of its token."""
        made = register_agent(Details(name=name, by="ada"))
        return Cluster.objects.get(pk=made.cluster), self.token_file(name, made.secret)

    def token_file(self, name: str, secret: str) -> Path:
        path = self.folder / f"{name}.token"
        path.write_text(secret)
        return path

    def start(
        self, token: Path, kubeconfig: str, *words: str, url: str = "", env: Mapping[str, str] | None = None
    ) -> Child:
        """An agent process; it may not be connected yet."""
        number = len(self.agents)
        path = self.folder / f"{number}.kubeconfig"
        path.write_text(kubeconfig)
        command = [sys.executable, "-m", "karpdash.command", "agent", "--server", url or self.url]
        command += ["--token-file", str(token), "--kubeconfig", str(path), *words]
        surroundings = bare_environment(allow_loopback="1") | {"PYTHONPATH": str(ROOT)} | dict(env or {})
        self.agents.append(Child(command, log=self.folder / f"{number}.log", env=surroundings))
        return self.agents[-1]

    def connected(self, token: Path, kubeconfig: str, *words: str, url: str = "") -> Child:
        """An agent process that has said hello."""
        child = self.start(token, kubeconfig, *words, url=url)
        wait_for_line(child, "connected to")
        return child

    def link(self, token: str, *, protocol: int = PROTOCOL) -> ServerLink:
        """An agent's line without an agent, after its hello."""
        found = ServerLink(self.url, Secret(token))
        self.links.append(found)
        server = {"server": "https://192.0.2.7:6443", "ca_digest": "a" * 64}
        hello = AgentHello(protocol=protocol, version="1", acts=False, **server)  # type: ignore[arg-type]  # texts
        found.session = found.ask("hello", hello, kind=AgentWelcome).session
        return found

    def stop(self) -> None:
        """Returns when no request is served any more: the database of a test ends with it."""
        for child in self.agents:
            child.stop(signal.SIGKILL)
        for link in self.links:
            link.close()
        eventually(lambda: not requests_served(), what="the last request to end")


def requests_served() -> list[str]:
    """The threads of the server of the tests that serve a connection."""
    return [one.name for one in threading.enumerate() if "process_request_thread" in one.name]


def wait_for_line(child: Child, words: str) -> str:
    """The log of the agent once it holds the words."""

    def is_there() -> bool:
        ended = child.process.poll() is not None
        text = child.log.read_text()
        assert words in text or not ended, text
        return words in text

    eventually(is_there, what=f"the agent to say {words!r}")
    return child.log.read_text()


def wait_for_end(child: Child) -> tuple[int, str]:
    """Exit code and log of an agent that ends by itself."""
    eventually(lambda: child.process.poll() is not None, what="the agent to end")
    return child.process.wait(), child.log.read_text()


def scanned(cluster: Cluster) -> Scan:
    """The scan, when it has ended."""
    scan = queue.request_scan(cluster.pk).scan_id
    claim = queue.claim(scan)
    assert claim is not None
    scan_claimed(claim)
    cluster.refresh_from_db()
    return Scan.objects.get(pk=scan)


def agent_row(cluster: Cluster) -> ClusterAgent:
    return ClusterAgent.objects.get(cluster=cluster)


@contextmanager
def site_at(url: str, folder: Path) -> Iterator[Site]:
    """The site; its agents are stopped at the end."""
    found = Site(url, folder)
    try:
        yield found
    finally:
        found.stop()
