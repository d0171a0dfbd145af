"""Workers that are killed while helm runs: what happened is read from the release, and helm is never run twice over."""

import uuid

import pytest

from migrations_app.use_cases.rollouts import journal
from migrations_app.use_cases.rollouts.helm import runs
from tests.helm.conftest import FIRST, GIVEN, NEXT
from tests.helm.own_charts import BASE, HOOK, OLD_ONLY, install, packed, play_controllers
from tests.helm.test_on_server import DEPLOYMENT, RECORDS
from tests.servers.processes import discard, folder
from tests.servers.waiting import eventually
from tests.use_cases.rollouts.workers import KILLED, worker_processes

pytestmark = pytest.mark.own_processes


@pytest.fixture(scope="module")
def people(apiserver):
    place = folder("workers")
    with worker_processes(apiserver, place, module="tests.helm.worker_process") as found:
        yield found
    discard(place)


@pytest.fixture
def workers(people, clean_apiserver, helm, tmp_path):
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts" / "next.tgz").write_bytes(packed(NEXT))
    (tmp_path / "charts" / "hook.tgz").write_bytes(packed(NEXT, {**BASE, "hook.yaml": HOOK}))
    install(helm, clean_apiserver, packed(FIRST, {**BASE, "old.yaml": OLD_ONLY}), GIVEN)
    people.ask("configure", helm.program, str(tmp_path))
    yield people
    assert people.ask("chain") is True


def planned(workers, source="next.tgz"):
    name = f"cluster-{uuid.uuid4().hex[:8]}"
    cluster = workers.ask("register", workers.server.kubeconfig(workers.server.admin_token), name)
    row, why = workers.ask("plan", cluster, source)
    assert why == ""
    workers.mark = workers.server.audit_mark()
    return row


def image(workers):
    return workers.server.admin.get(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]["image"].rpartition(":")[2]


def statuses(workers):
    found = workers.server.admin.items(RECORDS, labelSelector="owner=helm")
    return {int(one["metadata"]["labels"]["version"]): one["metadata"]["labels"]["status"] for one in found}


def sent(workers):
    """How often helm's changes were sent for real, by verb and name, without the records that are written again."""
    ours = [one for one in workers.server.audit_events(workers.mark) if " helm" in one["userAgent"]]
    real = [one for one in ours if "dry-run" not in one["userAgent"]]
    told = [(one["verb"], one["objectRef"]["name"]) for one in real if one["verb"] in ("create", "patch", "delete")]
    return {one: told.count(one) for one in told}


ONCE = {
    ("create", "sh.helm.release.v1.karpenter.v2"): 1,
    ("patch", "karpenter"): 1,
    ("delete", "karpenter-global-settings"): 1,
}


def finished(workers, row):
    """The state after another worker has gone on; the cluster's controllers do their part."""
    pid = workers.start(row)

    def over():
        if image(workers) == NEXT:
            play_controllers(workers.server)
        return workers.ask("state", row)[0] != "running"

    eventually(over, what="the rollout to end or to stop", seconds=60)
    workers.wait(pid)
    return workers.state(row)


@pytest.mark.parametrize("point", [*journal.CRASH_POINTS[:-1], "helm_before_record"])
def test_killed_before_or_after_the_run_it_is_done_once(workers, point):  # R02, A22, A25
    row = planned(workers)
    assert workers.work(row, point) == KILLED
    assert finished(workers, row) == "succeeded"
    assert (sent(workers), statuses(workers), image(workers)) == (ONCE, {1: "superseded", 2: "deployed"}, NEXT)


@pytest.mark.parametrize("point", runs.CRASH_POINTS[1:])
def test_killed_in_the_middle_nothing_is_sent_again_and_a_person_decides(workers, point):  # R02, A25, A37
    row = planned(workers)
    assert workers.work(row, point) == KILLED
    assert finished(workers, row) == "paused: release_pending"
    assert statuses(workers) == {1: "deployed", 2: "pending-upgrade"}
    assert all(count == 1 for count in sent(workers).values())
    assert image(workers) == (NEXT if point == "helm_after_object" else FIRST)
    assert [one[3] for one in workers.journal(row)] == ["changed_by_other"]


def test_an_abort_kills_helm_and_says_what_it_left(workers):  # A10, A36
    row = planned(workers, "hook.tgz")
    pid = workers.start(row)
    eventually(lambda: image(workers) == NEXT, what="helm to wait for its hook", seconds=60)
    workers.ask("abort", row)
    workers.wait(pid)
    assert workers.ask("state", row)[0] == "aborted"
    assert statuses(workers)[2] == "pending-upgrade"
    assert [one[3] for one in workers.journal(row)] == ["changed_by_other"]
