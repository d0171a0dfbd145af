"""The CRDs of a release, from its own chart only: no version that is stored goes, and conversion has to answer."""

from dataclasses import replace

import msgspec
import pytest

from migrations_app.actions.base import Unavailable
from migrations_app.actions.conditions import FieldEquals, ListContains, all_hold
from migrations_app.actions.targets.crd_upgrade import MARK
from migrations_app.actions.targets.crds import crd_target
from migrations_app.execution import gates
from migrations_app.karpenter import labels
from migrations_app.models.rollout import Rollout
from tests import upstream
from tests.actions import charts
from tests.actions.on_server import carried_out, installed, plan_of, previewed, put, registered
from tests.actions.scenes import a_scene, asks_too_much, forecast_of, steps_of
from tests.actions.whole_rollouts import CRDS, done, lasting, roll_back, rollback_preview, sent
from tests.builders.clusters import a_cluster, helm_crds
from tests.builders.pools import a_class, a_pool, a_provisioner
from tests.fakes.conversion_webhook import conversion_webhook
from tests.use_cases.rollouts.building import advanced

ACTION = "upgrade_crds"
POOLS = "nodepools.karpenter.sh"
OWNER = {labels.HELM_RELEASE_NAME: "karpenter-crd", labels.HELM_RELEASE_NAMESPACE: "kube-system"}


def scene(running: str, files, *, cluster=None, stored=(), docs=()):
    """A cluster with the CRDs of its release, read whole, and a chart."""
    held = [doc | {"metadata": doc["metadata"] | {"uid": f"uid-{doc['metadata']['name']}", "generation": 3}}
            for doc in (docs or helm_crds(running, stored=stored))]  # fmt: skip
    found = (cluster or a_cluster(running)).without("crds").with_docs(*held)
    return replace(a_scene(found), files=files, objects={crd_target(doc["metadata"]["name"]): doc for doc in held})


def steps(*given, release="", **more):
    return steps_of(ACTION, scene(*given, **more), release=release)


def refused(*given, release="", **more) -> tuple[str, str]:
    with pytest.raises(Unavailable) as caught:
        steps(*given, release=release, **more)
    return caught.value.code, caught.value.message


def to_1_0(**more):
    return {"running": "0.37.8", "files": charts.files("1.0.14", converts=True), "release": "1.0.14"} | more


def ask(**given):
    release = given.pop("release")
    return steps_of(ACTION, scene(given.pop("running"), given.pop("files"), **given), release=release)


def test_new_kinds_are_created_with_the_marks_of_the_release_that_owns_the_others():
    found = steps("0.31.4", charts.files("0.32.10"), release="0.32.10")
    made = [step for step in found if step.change.verb == "create"]
    assert [step.change.target.name for step in made] == [
        POOLS, "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws",
    ]  # fmt: skip
    mark = {MARK: "0.32.10 when it was created"}
    assert [step.change.body["metadata"]["annotations"] for step in made] == [OWNER | mark] * 3
    assert {(step.undo, step.skippable) for step in made} == {(None, True)}
    assert "The undo keeps a CRD that was created" in made[0].note
    assert "From charts/test." in made[0].note


def test_the_stored_version_moves_and_what_the_controller_wrote_stays():
    step = next(one for one in ask(**to_1_0()) if one.change.target.name == POOLS)
    assert (step.title, step.risk) == (f"Bring {POOLS} to 1.0.14: v1, v1beta1 served, v1 stored", "high")
    assert step.change.target.uid == f"uid-{POOLS}"
    assert "clientConfig" not in step.change.body["spec"].get("conversion", {}).get("webhook", {})
    assert step.change.body["metadata"]["annotations"] == {MARK: "1.0.14 over generation 3"}
    assert FieldEquals(("metadata", "annotations", MARK), "1.0.14 over generation 3") in step.postconditions
    assert ListContains(("spec", "versions"), {"name": "v1", "served": True, "storage": True}) in step.postconditions
    assert [one["storage"] for one in step.undo.body["spec"]["versions"]] == [False, True]


def test_in_a_rollback_a_version_that_was_new_and_stored_stays_served():
    bare = helm_crds("0.33.5")
    (step, *_) = ask(**to_1_0(docs=bare, cluster=a_cluster("0.37.8")))
    back = {one["name"]: one["storage"] for one in step.undo.body["spec"]["versions"]}
    assert (back, "conversion" in step.undo.body["spec"]) == ({"v1beta1": True, "v1": False}, False)
    assert "v1 stays served" in step.note


def test_conversion_that_cannot_answer_is_refused():  # CRD-03, CRD-07
    off = a_cluster("0.37.8", env={"DISABLE_WEBHOOK": "true"})
    code, words = refused(*list(to_1_0().values())[:2], release="1.0.14", cluster=off)
    assert (code, "the Service has no such port" in words) == ("conversion_unanswered", True)
    gone = a_cluster("0.37.8").without("endpoints")
    assert refused("0.37.8", to_1_0()["files"], release="1.0.14", cluster=gone)[0] == "conversion_unanswered"
    for part in ("services", "endpoints"):
        blind = a_cluster("0.37.8").unseen(part)
        assert refused("0.37.8", to_1_0()["files"], release="1.0.14", cluster=blind)[0] == "not_seen"


def test_a_version_that_is_still_stored_is_never_dropped():  # CRD-08
    code, words = refused("1.0.14", charts.files("1.1.9"), release="1.1.9", stored=("v1beta1", "v1"))
    assert (code, words) == ("still_stored", f"{POOLS} still lists v1beta1 as stored: rewrite its objects first")


def test_without_v1beta1_the_conversion_goes_too_and_comes_back_with_it():  # CRD-09
    step = next(one for one in steps("1.0.14", charts.files("1.1.9"), release="1.1.9", stored=("v1",)))
    assert step.change.body["spec"]["conversion"] == {"strategy": "None", "webhook": None}
    before = next(doc for doc in helm_crds("1.0.14") if doc["metadata"]["name"] == step.change.target.name)
    assert step.undo.body["spec"]["conversion"] == before["spec"]["conversion"]
    assert ListContains(("spec", "versions"), {"name": "v1beta1"}, absent=True) in step.postconditions
    assert "v1beta1 is no longer served" in step.note


def test_only_the_release_of_the_hop_is_taken():
    assert refused("0.37.8", charts.files("1.0.8"), release="1.0.14")[0] == "other_release"
    assert refused("0.31.4", charts.files("0.37.8"), release="0.37.8")[0] == "not_next"


@pytest.mark.parametrize(
    ("docs", "told"),
    [
        (charts.shipped("1.0.14", converts=True)[:2], "without"),
        (charts.shipped("1.1.9", converts=False), "other versions"),
        ([*charts.shipped("1.0.14", converts=True), *charts.shipped("0.31.4", converts=False)[:1]], "with prov"),
        ([{"kind": "Deployment"}], "other objects"),
        (["no map"], "other objects"),
    ],
)
def test_a_chart_that_says_something_else_than_its_release_is_refused(docs, told):
    code, words = refused("0.37.8", charts.files("1.0.14", docs), release="1.0.14")
    assert (code, told in words) == ("strange_chart", True)


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 5000, b"\xff"])
def test_a_file_that_cannot_be_read_is_refused(body):
    assert refused("0.37.8", charts.files("1.0.14") | {"crds/0.yaml": body}, release="1.0.14")[0] == "strange_chart"


def test_a_crd_that_is_being_deleted_is_refused():  # CRD-11
    docs = helm_crds("0.37.8")
    docs[0]["metadata"]["deletionTimestamp"] = "2026-10-01T12:00:00Z"
    assert refused("0.37.8", to_1_0()["files"], release="1.0.14", docs=docs)[0] == "terminating"


def test_alpha_crds_stay_with_their_objects():  # CRD-12
    alpha = a_cluster("0.32.10").with_docs(a_provisioner())
    found = steps("0.32.10", charts.files("0.37.8", converts=True), release="0.37.8", cluster=alpha)
    assert {step.change.target.name for step in found} == {
        POOLS, "nodeclaims.karpenter.sh", "ec2nodeclasses.karpenter.k8s.aws",
    }  # fmt: skip
    assert all("Alpha CRDs stay, with 1 objects." in step.note for step in found)


def test_crds_that_are_as_shipped_leave_nothing_to_do():
    docs = [doc | {"status": {"storedVersions": ["v1"]}} for doc in charts.shipped("1.1.9", converts=False)]
    docs = [doc | {"spec": doc["spec"] | {"conversion": {"strategy": "None"}}} for doc in docs]
    assert refused("1.1.9", charts.files("1.1.9"), release="1.1.9", docs=docs)[0] == "nothing_to_do"


def test_the_forecast_names_what_stays():
    found = forecast_of(ACTION, scene("0.31.4", charts.files("0.32.10")), release="0.32.10")
    assert (found.nodes, len(found.cannot_be_undone)) == (0, 3)


def test_it_asks_for_no_more_than_it_declares():  # A26
    found = (*ask(**to_1_0()), *steps("0.31.4", charts.files("0.32.10"), release="0.32.10"))
    assert asks_too_much(ACTION, found) == set()


def stored(server, name=POOLS):
    found = server.admin.get(f"{CRDS}/{name}")
    flags = [(one["name"], one["served"], one["storage"]) for one in found["spec"]["versions"]]
    return flags, found["status"]["storedVersions"], found["spec"]["conversion"]["strategy"]


@pytest.fixture
def place(tmp_path, settings, server):
    """The folder charts of the data folder."""
    settings.ENV = replace(settings.ENV, data_dir=tmp_path)
    return tmp_path / "charts"


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_new_kinds_come_beside_the_old(server, place):  # A23, A24, A27
    server.load_documents([one for one in upstream.crds("v0.32.10") if one["metadata"]["name"] in
                           ("provisioners.karpenter.sh", "machines.karpenter.sh",
                            "awsnodetemplates.karpenter.k8s.aws")])  # fmt: skip
    installed(server, "0.31.4")
    put(server, a_provisioner())
    name = charts.real_chart(place, "v0.32.10", version="0.32.10")
    cluster = registered(server)
    row = done(cluster, ACTION, source=name, release="0.32.10")
    assert [verb for verb, _ in sent(row)] == ["create"] * 3
    assert server.admin.get("/apis/karpenter.sh/v1beta1/nodepools")["items"] == []
    assert rollback_preview(cluster, row).cause_code == "nothing_to_do"


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_a_crd_that_others_create_meanwhile_does_not_count_as_brought(server, place):  # A23, A25
    server.load_documents([one for one in upstream.crds("v0.32.10") if one["metadata"]["name"] in
                           ("provisioners.karpenter.sh", "machines.karpenter.sh",
                            "awsnodetemplates.karpenter.k8s.aws")])  # fmt: skip
    installed(server, "0.31.4")
    put(server, a_provisioner())
    name = charts.real_chart(place, "v0.32.10", version="0.32.10")
    row = previewed(registered(server), ACTION, source=name, release="0.32.10")
    assert row.state == "previewed"
    server.load_documents([doc for doc in upstream.crds("v1.1.9") if doc["metadata"]["name"] == POOLS])
    carried_out(row)
    words = f"CustomResourceDefinition {POOLS} was created by another client since the preview"
    assert (row.state, row.cause_code, row.cause) == ("paused", "changed", words)
    assert [one["name"] for one in server.admin.get(f"{CRDS}/{POOLS}")["spec"]["versions"]] == ["v1"]


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_the_real_crds_of_1_0_go_over_those_of_0_37_and_back(server, place):  # A24, A27, A35, CRD-01
    installed(server, "0.37.8")
    name = charts.real_chart(place, "v1.0.14", version="1.0.14")
    with conversion_webhook() as conversion:
        server.load_documents(
            [doc | {"spec": doc["spec"] | {"conversion": conversion}} for doc in upstream.crds("v0.37.8")]
        )
        put(server, a_pool(version="v1beta1"), a_class(version="v1beta1"))
        cluster, before = registered(server), server.admin.get(f"{CRDS}/{POOLS}")
        row = done(cluster, ACTION, source=name, release="1.0.14")
        assert stored(server) == ([("v1", True, True), ("v1beta1", True, False)], ["v1beta1", "v1"], "Webhook")
        now = server.admin.get(f"{CRDS}/{POOLS}")
        assert now["spec"]["conversion"]["webhook"]["clientConfig"] == conversion["webhook"]["clientConfig"]
        assert now["spec"]["versions"] != before["spec"]["versions"]
        roll_back(cluster, row)
        assert lasting(server.admin.get(f"{CRDS}/{POOLS}")) == lasting(before)


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_objects_that_cannot_be_read_any_more_stop_it(server, place, monkeypatch):  # A24
    monkeypatch.setattr(gates, "LISTS_SECONDS", 0)
    installed(server, "0.37.8")
    name = charts.real_chart(place, "v1.0.14", version="1.0.14")
    with conversion_webhook() as conversion:
        definitions = [doc | {"spec": doc["spec"] | {"conversion": conversion}} for doc in upstream.crds("v0.37.8")]
        server.load_documents(definitions)
        put(server, a_pool(version="v1beta1"), a_class(version="v1beta1"))
        cluster = registered(server)
        row = previewed(cluster, ACTION, source=name, release="1.0.14")
        names = [step.change.target.name for step in plan_of(row).steps]
    carried_out(row)  # the webhook has stopped meanwhile
    assert (row.state, row.cause_code, [path for _, path in sent(row)]) == ("paused", "unreadable", names[:1])
    assert f": after 0 s {names[0]} of v1 cannot be read: " in row.cause
    with conversion_webhook() as conversion:
        for crd in names:
            server.admin.patch(f"{CRDS}/{crd}", {"spec": {"conversion": conversion}})
        Rollout.objects.filter(pk=row.pk).update(state="running")
        row = advanced(row)
    assert (row.state, [path for _, path in sent(row)]) == ("succeeded", names)


@pytest.mark.apiserver
@pytest.mark.django_db(transaction=True)
def test_on_a_real_server_the_real_crds_of_1_1_drop_v1beta1_and_its_conversion(server, place):  # A24, A27, A35
    installed(server, "1.0.14")
    name = charts.real_chart(place, "v1.1.9", version="1.1.9")
    with conversion_webhook() as conversion:
        server.load_documents(
            [doc | {"spec": doc["spec"] | {"conversion": conversion}} for doc in upstream.crds("v1.0.14")]
        )
        cluster, before = registered(server), server.admin.get(f"{CRDS}/{POOLS}")
        row = done(cluster, ACTION, source=name, release="1.1.9")
        assert stored(server) == ([("v1", True, True)], ["v1"], "None")
        roll_back(cluster, row)
        assert lasting(server.admin.get(f"{CRDS}/{POOLS}")) == lasting(before)


def test_a_read_of_a_newer_server_shows_what_was_brought():
    """Such a server keeps the CEL rules; what is compared is there on both."""
    step = next(one for one in ask(**to_1_0()) if one.change.target.name == POOLS)
    versions = msgspec.json.decode(msgspec.json.encode(step.change.body["spec"]["versions"]))
    versions[0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [{"rule": "true"}]
    read = {
        "metadata": {"uid": step.change.target.uid, "annotations": step.change.body["metadata"]["annotations"]},
        "spec": {"versions": versions, "conversion": {"strategy": "Webhook"}},
    }
    assert all_hold(step.postconditions, read, uid=step.change.target.uid)
