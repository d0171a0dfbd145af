"""K15: karpdash acts as the credentials that were registered; nothing asks to be taken for somebody else."""

import pytest

from migrations_app.clients.kubernetes.kubeconfig import read_kubeconfig
from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.clients.kubernetes.transport import Transport
from migrations_app.errors import InvalidKubeconfig
from tests.clients.kubernetes.kubeconfigs import dump, good_user, kubeconfig
from tests.clients.kubernetes.rig import CANARY, HERE, connection
from tests.fakes.evilk8s import EvilServer, Request

OURS = {"accept", "accept-encoding", "authorization", "content-length", "content-type", "host", "user-agent"}


def sent() -> tuple[Request, ...]:
    """One request of each kind that the transport makes."""
    with EvilServer(lambda _, wire: wire.answer(b"{}")) as server:
        transport = Transport(connection(server), reach=HERE, limits=ClientLimits(scan_seconds=20))
        transport.get("/version")
        transport.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"kind": "x"})
        for method in ("POST", "PATCH", "DELETE"):
            transport.send_once(
                method,
                "/api/v1/nodes" if method == "POST" else "/api/v1/nodes/a",
                query=(),
                body={},
                content_type="application/json",
                purpose="action=x step=1",
            )
        transport.close()
        return tuple(server.requests)


def test_every_request_carries_these_headers_and_no_others() -> None:  # K15, T25
    requests = sent()
    assert [one.method for one in requests] == ["GET", "POST", "POST", "PATCH", "DELETE"]
    assert {name for one in requests for name in one.headers} - {"connection"} <= OURS
    assert {one.headers["authorization"] for one in requests} == {f"Bearer {CANARY}"}


@pytest.mark.parametrize("key", ["as", "as-uid", "as-groups", "as-user-extra"])
def test_a_kubeconfig_that_asks_for_it_is_refused(key: str) -> None:  # K15
    value = {"as-groups": ["system:masters"], "as-user-extra": {"scopes": ["all"]}}.get(key, "system:admin")
    with pytest.raises(InvalidKubeconfig):
        read_kubeconfig(dump(kubeconfig(user=good_user(**{key: value}))))
