"""What the tests of faults share: answers of a proxy, steps of each verb, and work beside a test."""

import threading
from contextlib import contextmanager

import msgspec

from migrations_app.flow.connect import FIELD, keys
from tests.flow.rollouts.building import (
    config_map,
    creating,
    deleting,
    node,
    painting,
    tainting,
)

NODE_PATH = "/api/v1/nodes/node-1"
MAPS = "/api/v1/namespaces/default/configmaps"
APPLIED = [("s001", "patch", "applied"), ("s001", "gate", "noop")]


def refusal(proxy, status, *, times=1, method="PATCH", **headers):
    body = msgspec.json.encode({"kind": "Status", "status": "Failure", "message": "no", "code": status})
    return proxy.add("answer", method, "/nodes/", status=status, body=body, headers=headers, times=times)


def one_of(server, verb):
    """A step of that verb, and the method and path of its request."""
    if verb == "create":
        return creating(), "POST", f"{MAPS}\\?"
    if verb == "apply":
        return painting(*config_map(server)), "PATCH", f"{MAPS}/map-1"
    target, read = node(server)
    if verb == "delete":
        return deleting(target, read), "DELETE", NODE_PATH
    return tainting(target, read), "PATCH", NODE_PATH


@contextmanager
def beside(what):
    """Runs the function in a thread while the block lasts."""
    thread = threading.Thread(target=what, daemon=True)
    thread.start()
    yield
    thread.join(30)


def reconnect(cluster, text):
    cluster.sealed = keys().seal(text, owner=str(cluster.pk), field=FIELD)
    cluster.save()


def ours(one):
    return any(taint["key"] == "karpenter.sh/legacy" for taint in one["spec"].get("taints", ()))
