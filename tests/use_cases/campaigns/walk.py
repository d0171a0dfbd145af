"""Runs a campaign over two real API servers in two waves, from start to end, with workers that may be killed."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from tests.acceptance import chart, clusters
from tests.acceptance.real_clusters import load
from tests.builders.newest import NEWEST
from tests.servers.api_client import RefusedError
from tests.servers.apiserver import ApiServer
from tests.use_cases.rollouts import audit_log_reader
from tests.use_cases.rollouts.workers import KILLED, WorkerProcesses

CAMPAIGN_WORKER = "tests.use_cases.campaigns.worker_process"
CLEAN = clusters.find("v1-13")
WRONG = "1.2.3"
"""A release that is neither the one before nor the one that the campaign leads to."""
TOLD_BY_THE_CONTROLLER = ("Deployment", "Secret")
ELSEWHERE = frozenset({"journey.after_ask", "journey.after_back"})
"""Points of a rollback alone, where tests/use_cases/journeys/test_on_server.py kills."""
WAVES, BEGUN, COVERED, STARTED, DONE, STOPPED = 2, 2, 2, 2, 2, 1
"""How often each happens, however many workers are killed."""


def runs(server: ApiServer, release: str) -> None:
    """Installs what `helm upgrade` leaves: the Deployment of the release, and its record."""
    for document in chart.objects(replace(CLEAN, version=release).chart):
        if document["kind"] in TOLD_BY_THE_CONTROLLER:
            with suppress(RefusedError):
                server.admin.request("DELETE", server.admin.path_of(document))
            load(server, [document])


@dataclass(slots=True)
class Walk:
    """`deadly` says before each shift at which points its worker is killed; `died` are the points where one was
    killed.
    """

    people: WorkerProcesses
    servers: Mapping[str, ApiServer]
    deadly: Callable[[list[str]], dict[str, int]] = lambda _: {}
    died: list[str] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)
    campaign: str = ""

    def prepare(self) -> None:
        """Registers and scans both clusters; previews, approves and starts the campaign."""
        people = self.people
        people.ask("enlist")
        for name, server in self.servers.items():
            load(server, clusters.objects(CLEAN))
            self.marks[name] = server.audit_mark()
            cluster = people.ask("register", server.kubeconfig(server.admin_token), name)
            people.ask("waive", cluster, "kubernetes_inside_window", "running_release_fits_kubernetes")
            assert people.ask("scan", cluster) == "done"
        self.campaign = people.ask("campaign", f"karpenter-{NEWEST}")
        board = self.board()
        assert (board["state"], {name: one[:2] for name, one in board["clusters"].items()}) == (
            "previewed", {"blue": [0, "waiting"], "green": [1, "waiting"]},
        ), board  # fmt: skip
        people.ask("agree", self.campaign)

    def board(self) -> dict:
        return dict(self.people.ask("board", self.campaign))

    def oversee(self) -> None:
        """Runs workers one after the other, until one of them finds nothing more to do without a person."""
        while True:
            pid = self.people.ask("oversee", self.campaign, self.deadly(self.died))
            self.people.pids.append(pid)
            ended = self.people.wait(pid)
            if ended != KILLED:
                assert ended == 0, self.board()
                return
            self.died.append(self.people.ask("died_at"))

    def journey(self, name: str) -> str:
        return str(self.board()["clusters"][name][3])

    def ticked(self, name: str) -> None:
        """Confirms each step of that cluster's journey that waits for a person, and runs workers."""
        made = self.journey(name)
        while (here := self.people.ask("standing", made))["waits"] == "tick_needed":
            step = next(one[0] for one in here["steps"] if one[2] == "running")
            self.people.ask("tick", made, step, f"{step} was weighed")
            self.oversee()

    def look_again(self, name: str) -> None:
        self.people.ask("look_again", self.journey(name))
        self.oversee()

    def blue_stops(self) -> None:
        """Puts the first cluster on a wrong release, which stops the campaign."""
        self.oversee()
        self.ticked("blue")
        runs(self.servers["blue"], WRONG)
        self.look_again("blue")
        board = self.board()
        assert (board["state"], board["cause"], board["words"]) == ("paused", "other_release", "blue"), board
        assert [board["clusters"][name][1] for name in self.servers] == ["stopped", "waiting"]
        seen = self.servers["green"].audit_events(self.marks["green"])
        assert not [one for one in seen if one["verb"] in ("create", "patch", "update")
                    and one["user"]["username"] == "admin" and "karpenter" in one["requestURI"]]  # fmt: skip

    def blue_is_fixed(self) -> None:
        """Installs the right release, retries the step and resumes the campaign, until the first cluster is done."""
        runs(self.servers["blue"], NEWEST)
        blue = self.journey("blue")
        failed = next(one[0] for one in self.people.ask("standing", blue)["steps"] if one[2] == "failed")
        self.people.ask("retry", blue, failed)
        self.look_again("blue")
        self.people.ask("go_on", self.campaign)
        for _ in range(2):
            self.oversee()
            self.ticked("blue")
            self.people.ask("look_again", blue)
        self.oversee()
        board = self.board()
        assert (board["state"], board["clusters"]["blue"][1]) == ("running", "done"), board

    def green_is_upgraded(self) -> None:
        """Runs the second wave, from its first tick until its controller is upgraded and the rest is confirmed."""
        self.ticked("green")
        here = self.people.ask("standing", self.journey("green"))
        assert here["waits"] == "work_outside", here
        runs(self.servers["green"], NEWEST)
        for _ in range(2):
            self.look_again("green")
            self.ticked("green")
        board = self.board()
        assert (board["state"], {one[1] for one in board["clusters"].values()}) == ("succeeded", {"done"}), board

    def judge(self) -> None:
        """Asserts that every write took effect once with its intent before it, and every transition of the campaign
        happened once.
        """
        for name, server in self.servers.items():
            requests = self._written(server, self.marks[name], self.journey(name))
            assert len({one.step for one in requests}) == len(requests) > 0
        assert self.people.ask("chain") is True
        verbs = self.people.ask("verbs", self.campaign)
        found = [verbs.count(f"campaign.member_{word}") for word in ("begun", "covered", "started", "done", "stopped")]
        assert found == [BEGUN, COVERED, STARTED, DONE, STOPPED], verbs
        told = [verbs.count(f"campaign.{word}") for word in ("wave_opened", "paused", "succeeded")]
        assert (told, verbs[-1]) == ([WAVES, 1, 1], "campaign.succeeded"), verbs

    def whole(self) -> None:
        self.prepare()
        self.blue_stops()
        self.blue_is_fixed()
        self.green_is_upgraded()
        self.judge()

    def _written(self, server: ApiServer, mark: int, made: str) -> list[audit_log_reader.Seen]:
        """Returns what the journey's rollouts wrote, from the server's audit log, after comparing the journal
        with it.
        """
        found = []
        for rollout in self.people.ask("rollouts", made):
            seen = WorkerProcesses(self.people.process, server, mark)
            assert seen.complaints(rollout) == []
            found += [
                one for one in audit_log_reader.requests(server.audit_events(mark), of=rollout) if one.took_effect
            ]
        return found


def each_once(points: list[str]) -> Callable[[list[str]], dict[str, int]]:
    """Kills a worker at each of these points, one after the other as they are reached."""
    return lambda died: {point: 1 for point in points if point not in died}
