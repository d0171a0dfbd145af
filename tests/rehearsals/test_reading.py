"""A reading for a twin holds no secret, and rebuilds what controls pods from the pods."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.collect.collect import collect
from migrations_app.rehearsals.reading import needed_pod_fields, read_objects
from tests.rehearsals.scene import Refusing, Scene

TEXTS = st.text(alphabet="abcxyz", min_size=1, max_size=5)
SECRET = "hunter2-secret"


@given(names=st.lists(TEXTS, min_size=1, max_size=3), key=TEXTS, phase=st.sampled_from(["Running", "Pending"]))
def test_no_environment_command_or_volume_content_is_kept(names, key, phase):
    hidden = {"name": key, "value": SECRET}
    containers = [
        {"name": name, "image": "web:1", "env": [hidden], "envFrom": [hidden], "args": [SECRET], "command": [SECRET]}
        for name in names
    ]
    volumes = [{"name": "v", "secret": {"secretName": SECRET}}, {"name": "w", "emptyDir": {"hint": SECRET}}]
    pod = {
        "metadata": {"name": "p", "namespace": "n", "uid": "1", "annotations": {key: SECRET}},
        "spec": {"containers": containers, "initContainers": containers, "volumes": volumes},
        "status": {"phase": phase, "message": SECRET},
    }
    slim = needed_pod_fields(pod)
    assert SECRET not in json.dumps(slim)
    assert [one["name"] for one in slim["spec"]["containers"]] == names


def test_a_finished_pod_is_left_out():
    pod = {"metadata": {"name": "p", "namespace": "n"}, "spec": {}, "status": {"phase": "Succeeded"}}
    assert needed_pod_fields(pod) is None


def test_workloads_are_rebuilt_from_their_pods():
    api = Scene(nodes=2, pods=6, apps=2).bundle()
    found = read_objects(api, collect(api, cluster="shop").inventory)
    mine = [one for one in found.of("ReplicaSet") if one["metadata"]["namespace"] == "shop"]
    assert [one["spec"]["replicas"] for one in mine] == [6, 6]
    assert [one["spec"]["template"]["metadata"]["labels"]["app"] for one in mine] == ["app-0", "app-1"]
    assert all("nodeName" not in one["spec"]["template"]["spec"] for one in mine)


@pytest.mark.parametrize(
    ("plural", "told"),
    [
        ("daemonsets", "DaemonSets without pods"),
        ("mutatingwebhookconfigurations", "MutatingWebhookConfigurations"),
    ],
)
def test_a_list_that_is_refused_is_not_taken_for_an_empty_one(plural, told):
    api = Scene(nodes=2, pods=6, apps=2).bundle()
    inventory = collect(api, cluster="shop").inventory
    assert read_objects(Refusing(api, plural), inventory).unread[told] == "forbidden"
