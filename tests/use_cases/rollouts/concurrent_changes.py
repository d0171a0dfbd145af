"""Changes during a rollout: by other clients, of credentials, and refusals that the proxy sends."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import msgspec

from migrations_app.actions.plan import Step
from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.runtime.connections import FIELD, keys
from tests.servers.apiserver import ApiServer
from tests.servers.fault_proxy import Fault, FaultProxy
from tests.use_cases.rollouts.building import MAPS, NODE_PATH, config_map, creating, deleting, node, painting, tainting


def refusal(proxy: FaultProxy, status: int, *, times: int = 1, **headers: str) -> Fault:
    """Makes the proxy refuse the next patches of nodes with this status; the server never sees them."""
    body = msgspec.json.encode({"kind": "Status", "status": "Failure", "message": "no", "code": status})
    return proxy.add("answer", "PATCH", "/nodes/", status=status, body=body, headers=headers, times=times)


def one_of(server: ApiServer, verb: str) -> tuple[Step, str, str]:
    """Returns a step of that verb, and the method and path of its request."""
    if verb == "create":
        return creating(), "POST", f"{MAPS}\\?"
    if verb == "apply":
        return painting(*config_map(server)), "PATCH", f"{MAPS}/map-1"
    target, read = node(server)
    if verb == "delete":
        return deleting(target, read), "DELETE", NODE_PATH
    return tainting(target, read), "PATCH", NODE_PATH


@contextmanager
def beside(what: Callable[[], None]) -> Iterator[None]:
    """Runs the function in a thread during the block."""
    thread = threading.Thread(target=what, daemon=True)
    thread.start()
    yield
    thread.join(30)


def reconnected(cluster: Cluster, text: bytes) -> None:
    """Changes the cluster's stored kubeconfig without any notice to workers."""
    cluster.sealed = keys().seal(text, owner=str(cluster.pk), field=FIELD)
    cluster.save()
