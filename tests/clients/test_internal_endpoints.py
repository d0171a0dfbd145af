"""K05, T03: no address that a person enters leads to karpdash's own database or broker, however it is written."""

from collections.abc import Mapping, Sequence

import pytest

from migrations_app.clients import addresses as module
from migrations_app.clients.addresses import InternalEndpoint, OutboundPolicy, Resolver, internal_endpoints, resolve
from migrations_app.clients.audit_sink import post
from migrations_app.clients.helm.charts import pull_chart
from migrations_app.clients.kubernetes.connection import Connection, Server
from migrations_app.clients.kubernetes.transport import Transport
from migrations_app.clients.secret import Secret
from migrations_app.errors import AddressRefused, Unreachable
from tests.clients.kubernetes.rig import FAST, HERE, always, connection
from tests.fakes.evilk8s import AUTHORITY, LOOPBACK, EvilServer

POSTGRES = {"ENGINE": "django.db.backends.postgresql"}
DB, BROKER = InternalEndpoint("db.internal", 5432), InternalEndpoint("10.9.0.7", 6379)
OURS = OutboundPolicy(own=(DB, BROKER), allowed=("10.0.0.0/8",))


@pytest.fixture(autouse=True)
def forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PGHOST", "PGHOSTADDR", "PGPORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(module, "_last_known", {})


# What the settings name.


@pytest.mark.parametrize(
    ("host", "port", "places"),
    [
        ("db.internal", "", [("db.internal", 5432)]),
        ("DB.internal", "6000", [("db.internal", 6000)]),
        ("10.0.0.5", "5432", [("10.0.0.5", 5432)]),
        ("fd12::5", "", [("fd12::5", 5432)]),
        ("one,two", "5432,5433", [("one", 5432), ("two", 5433)]),
        ("one,two", "6000", [("one", 6000), ("two", 6000)]),
        ("/run/postgresql", "5432", []),
        ("@abstract", "", []),
        ("", "", []),
    ],
)
def test_the_database_of_the_settings(host: str, port: str, places: list[tuple[str, int]]) -> None:
    assert internal_endpoints({**POSTGRES, "HOST": host, "PORT": port}, "") == tuple(
        InternalEndpoint(*one) for one in places
    )


def test_what_the_settings_leave_open_comes_from_the_variables_of_the_driver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "from.env")
    monkeypatch.setenv("PGHOSTADDR", "10.0.0.8")
    monkeypatch.setenv("PGPORT", "7000")
    assert internal_endpoints({**POSTGRES, "HOST": ""}, "") == (
        InternalEndpoint("from.env", 7000),
        InternalEndpoint("10.0.0.8", 7000),
    )


def test_a_file_has_no_address() -> None:
    assert internal_endpoints({"ENGINE": "django.db.backends.sqlite3", "NAME": "/data/x"}, "memory://") == ()


@pytest.mark.parametrize(
    ("url", "places"),
    [
        ("redis://queue.internal", [("queue.internal", 6379)]),
        ("rediss://:secret@queue.internal:6380/0", [("queue.internal", 6380)]),
        ("redis://[fd12::7]:6379/0", [("fd12::7", 6379)]),
        ("redis:///0", [("localhost", 6379)]),
        ("redis://one:1;redis://two:2", [("one", 1), ("two", 2)]),
        ("redis+socket:///data/broker.sock", []),
    ],
)
def test_the_broker_of_the_settings(url: str, places: list[tuple[str, int]]) -> None:
    assert internal_endpoints({}, url) == tuple(InternalEndpoint(*one) for one in places)


# What is refused at the moment of connecting.


def book(entries: Mapping[str, Sequence[str]]) -> Resolver:
    """A resolver that knows these names, and numbers."""

    def ask(host: str, _port: int) -> Sequence[str]:
        if host not in entries and not host[0].isdigit():
            raise OSError("no such name")
        return entries.get(host, (host,))

    return ask


def led(
    addresses: Sequence[str], *, reach: OutboundPolicy = OURS, port: int = 443, **names: Sequence[str]
) -> Sequence[str]:
    known = {"db.internal": ("10.9.0.5", "fd12::5"), "cluster.test": addresses, **names}
    return resolve("cluster.test", port, reach=reach, resolver=book(known))


@pytest.mark.parametrize(
    "address",
    [
        "10.9.0.5",
        "10.9.0.7",
        "fd12::5",
        "fd12:0:0::0:5",
        "::ffff:10.9.0.5",
        "::ffff:a09:5",
        "::10.9.0.5",
        "64:ff9b::10.9.0.5",
        "2002:0a09:0005::1",
        "::ffff:10.9.0.7",
    ],
)
@pytest.mark.parametrize("port", [443, 5432, 6443])
def test_another_machine_of_ours_is_refused_at_every_port(address: str, port: int) -> None:
    with pytest.raises(AddressRefused) as caught:
        led(["10.1.1.1", address], port=port)
    assert "10.9" not in str(caught.value)


def test_a_mapped_address_in_the_settings_is_the_plain_one() -> None:
    with pytest.raises(AddressRefused):
        led(
            ["10.9.0.9"],
            reach=OutboundPolicy(own=(InternalEndpoint("db.internal", 5432),)),
            **{"db.internal": ("::ffff:10.9.0.9",)},
        )


def test_neighbours_are_connected_to() -> None:
    assert led(["10.9.0.6", "fd12::6"]) == ("10.9.0.6", "fd12::6")


THIS = OutboundPolicy(
    allow_loopback=True, own=(InternalEndpoint("localhost", 5432), InternalEndpoint("127.0.0.1", 6379))
)
HOSTS = {"localhost": ("127.0.0.1", "::1")}


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.9", "::1", "::ffff:127.0.0.1"])
def test_on_this_machine_only_the_port_is_refused(address: str) -> None:
    assert led([address], reach=THIS, port=6443, **HOSTS) == (address,)
    for port in (5432, 6379):
        with pytest.raises(AddressRefused):
            led([address], reach=THIS, port=port, **HOSTS)


def test_the_other_addresses_of_this_machine_lead_to_its_database_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_binds", lambda address: address == "10.4.4.4")
    monkeypatch.setattr(module, "_binds_everything", lambda: False)
    assert led(["10.4.4.4"], reach=THIS, port=6443, **HOSTS) == ("10.4.4.4",)
    assert led(["10.4.4.5"], reach=THIS, port=5432, **HOSTS) == ("10.4.4.5",)
    with pytest.raises(AddressRefused):
        led(["10.4.4.4"], reach=THIS, port=5432, **HOSTS)


def test_a_machine_that_binds_to_everything_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_binds", lambda address: True)
    monkeypatch.setattr(module, "_binds_everything", lambda: True)
    with pytest.raises(AddressRefused):
        led(["10.9.0.7"], port=6443)


def test_a_real_socket_tells_what_is_this_machine() -> None:
    module._binds_everything.cache_clear()
    assert (module._binds("127.0.0.1"), module._binds("192.0.2.1")) == (True, False)


def test_loopback_is_still_refused_where_it_is_not_allowed() -> None:
    with pytest.raises(AddressRefused):
        led(["127.0.0.1"], reach=OutboundPolicy(own=THIS.own), port=6443, **HOSTS)


# Names that change (rebinding).


def test_our_names_are_asked_at_each_connection() -> None:
    assert led(["10.9.0.50"])
    with pytest.raises(AddressRefused):
        led(["10.9.0.50"], **{"db.internal": ("10.9.0.50",)})


def test_what_our_name_last_stood_for_holds_while_it_does_not_resolve() -> None:  # R05
    assert led(["10.1.1.1"])
    assert led(["10.1.1.1"], **{"db.internal": ()}) == ("10.1.1.1",)
    with pytest.raises(AddressRefused):
        led(["10.9.0.5"], **{"db.internal": ()})


def test_without_ever_knowing_where_we_are_nothing_is_connected_to() -> None:
    with pytest.raises(AddressRefused):
        led(["10.1.1.1"], **{"db.internal": ()})


def test_a_name_that_rebinds_after_the_check_is_not_asked_again() -> None:
    answers = {"cluster.test": [["127.0.0.1"], ["10.9.0.5"]], "db.internal": [["10.9.0.5"]]}
    with EvilServer(always(lambda wire: wire.answer(b"{}"))) as evil:
        there = connection(evil, server=Server("cluster.test", evil.port), tls_server_name=LOOPBACK)
        reach = OutboundPolicy(allow_loopback=True, own=(DB,))
        transport = Transport(there, reach=reach, limits=FAST, resolver=lambda host, _: answers[host].pop(0))
        assert transport.get("/version").body == b"{}"
        transport.close()
    assert answers == {"cluster.test": [["10.9.0.5"]], "db.internal": []}


# Every way out.


def test_clusters_registries_and_sinks_are_refused_alike() -> None:
    with EvilServer(always(lambda wire: wire.answer(b"{}"))) as evil:
        ours = OutboundPolicy(allow_loopback=True, own=(InternalEndpoint("127.0.0.1", evil.port),))
        server = Server("127.0.0.1", evil.port)
        for way in (
            lambda: Transport(Connection(server=server, ca_pem=AUTHORITY.pem), reach=ours, limits=FAST),
            lambda: pull_chart(server, "karpenter", tag="1.0.9", reach=ours, limits=FAST),
            lambda: post(f"http://127.0.0.1:{evil.port}/", b"{}\n", token=Secret(""), reach=ours),
        ):
            with pytest.raises(AddressRefused):
                way()
        assert evil.requests == []
        Transport(Connection(server=server, ca_pem=AUTHORITY.pem), reach=HERE, limits=FAST).close()


def test_an_unknown_cluster_is_still_unknown() -> None:
    with pytest.raises(Unreachable):
        led([])
