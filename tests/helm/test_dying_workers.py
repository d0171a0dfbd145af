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
def gang(people, clean_apiserver, helm, tmp_path):
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts" / "next.tgz").write_bytes(packed(NEXT))
    (tmp_path / "charts" / "hook.tgz").write_bytes(packed(NEXT, {**BASE, "hook.yaml": HOOK}))
    install(helm, clean_apiserver, packed(FIRST, {**BASE, "old.yaml": OLD_ONLY}), GIVEN)
    people.ask("configure", helm.program, str(tmp_path))
    yield people
    assert people.ask("chain") is True


def planned(gang, source="next.tgz"):
    name = f"cluster-{uuid.uuid4().hex[:8]}"
    cluster = gang.ask("register", gang.server.kubeconfig(gang.server.admin_token), name)
    row, why = gang.ask("plan", cluster, source)
    assert why == ""
    gang.mark = gang.server.audit_mark()
    return row


def image(gang):
    return gang.server.admin.get(DEPLOYMENT)["spec"]["template"]["spec"]["containers"][0]["image"].rpartition(":")[2]


def statuses(gang):
    found = gang.server.admin.items(RECORDS, labelSelector="owner=helm")
    return {int(one["metadata"]["labels"]["version"]): one["metadata"]["labels"]["status"] for one in found}


def sent(gang):
    """How often helm's changes were sent for real, by verb and name, without the records that are written again."""
    ours = [one for one in gang.server.audit_events(gang.mark) if " helm" in one["userAgent"]]
    real = [one for one in ours if "dry-run" not in one["userAgent"]]
    told = [(one["verb"], one["objectRef"]["name"]) for one in real if one["verb"] in ("create", "patch", "delete")]
    return {one: told.count(one) for one in told}


ONCE = {
    ("create", "sh.helm.release.v1.karpenter.v2"): 1,
    ("patch", "karpenter"): 1,
    ("delete", "karpenter-global-settings"): 1,
}


def finished(gang, row):
    """The state after another worker has gone on; the cluster's controllers do their part."""
    pid = gang.start(row)

    def over():
        if image(gang) == NEXT:
            play_controllers(gang.server)
        return gang.ask("state", row)[0] != "running"

    eventually(over, what="the rollout to end or to stop", seconds=60)
    gang.wait(pid)
    return gang.state(row)


@pytest.mark.parametrize("point", [*journal.NAMES[:-1], "helm_before_record"])
def test_killed_before_or_after_the_run_it_is_done_once(gang, point):  # R02, A22, A25
    row = planned(gang)
    assert gang.work(row, point) == KILLED
    assert finished(gang, row) == "succeeded"
    assert (sent(gang), statuses(gang), image(gang)) == (ONCE, {1: "superseded", 2: "deployed"}, NEXT)


@pytest.mark.parametrize("point", runs.NAMES[1:])
def test_killed_in_the_middle_nothing_is_sent_again_and_a_person_decides(gang, point):  # R02, A25, A37
    row = planned(gang)
    assert gang.work(row, point) == KILLED
    assert finished(gang, row) == "paused: release_pending"
    assert statuses(gang) == {1: "deployed", 2: "pending-upgrade"}
    assert all(count == 1 for count in sent(gang).values())
    assert image(gang) == (NEXT if point == "helm_after_object" else FIRST)
    assert [one[3] for one in gang.journal(row)] == ["changed_by_other"]


def test_an_abort_kills_helm_and_says_what_it_left(gang):  # A10, A36
    row = planned(gang, "hook.tgz")
    pid = gang.start(row)
    eventually(lambda: image(gang) == NEXT, what="helm to wait for its hook", seconds=60)
    gang.ask("abort", row)
    gang.wait(pid)
    assert gang.ask("state", row)[0] == "aborted"
    assert statuses(gang)[2] == "pending-upgrade"
    assert [one[3] for one in gang.journal(row)] == ["changed_by_other"]
