"""K02-K05, T03, T21, T24: whom we speak to."""

from pathlib import Path

import pytest

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.kubernetes.connection import Server
from migrations_app.clients.kubernetes.transport import Transport
from migrations_app.clients.secret import Secret
from migrations_app.errors import AddressRefused, ReadError, TlsRefused, Unreachable
from tests.clients.kubernetes.rig import FAST, HERE, always, connection, failure, outcome, speaking
from tests.fakes.certificates import Authority
from tests.fakes.evilk8s import AUTHORITY, GOOD, LOOPBACK, OTHER, EvilServer


def refused_certificate(pair: object) -> tuple[type[ReadError], str]:
    return outcome(failure(always(lambda wire: wire.answer()), pair=pair))


def test_a_certificate_of_another_authority_is_refused() -> None:  # R17
    assert refused_certificate(OTHER.issue()) == (TlsRefused, "tls_untrusted")


def test_an_expired_certificate_is_refused() -> None:  # R17
    assert refused_certificate(AUTHORITY.issue(since=-9, until=-1)) == (TlsRefused, "tls_expired")


def test_a_certificate_of_tomorrow_is_refused() -> None:  # R17
    assert refused_certificate(AUTHORITY.issue(since=1, until=2)) == (TlsRefused, "tls_not_yet_valid")


def test_a_certificate_for_another_address_is_refused() -> None:
    assert refused_certificate(AUTHORITY.issue(addresses=("127.0.0.2",))) == (TlsRefused, "tls_name")


def test_a_certificate_for_another_name_is_refused() -> None:  # R17
    assert refused_certificate(AUTHORITY.issue(names=("x.test",), addresses=())) == (TlsRefused, "tls_name")


def test_nothing_is_sent_before_the_server_has_proved_itself() -> None:  # T21
    false = speaking(always(lambda wire: wire.answer()), pair=OTHER.issue())
    with false as (transport, evil), pytest.raises(TlsRefused):
        transport.get("/version")
    assert (evil.requests, evil.connections) == ([], 1)


def test_a_server_without_tls_is_refused() -> None:
    assert outcome(failure(always(), tls=False)) == (TlsRefused, "tls_not_spoken")


def test_an_empty_port_is_unreachable() -> None:
    with EvilServer(always()) as evil:
        gone = connection(evil)
    transport = Transport(gone, reach=HERE, limits=FAST)
    with pytest.raises(Unreachable) as caught:
        transport.get("/version")
    transport.close()
    assert caught.value.code == "unreachable"


def test_a_ca_that_is_none_is_refused_when_opening() -> None:
    with EvilServer(always()) as evil, pytest.raises(TlsRefused) as caught:
        Transport(connection(evil, ca_pem="nothing"), reach=HERE)
    assert caught.value.code == "tls_material"


def test_a_registered_leaf_or_intermediate_is_an_anchor() -> None:
    with EvilServer(always(lambda wire: wire.answer(b"good"))) as evil:
        transport = Transport(connection(evil, ca_pem=GOOD.certificate), reach=HERE, limits=FAST)
        assert bytes(transport.get("/version").body) == b"good"
        transport.close()


def test_a_client_certificate_is_shown_and_leaves_no_file() -> None:  # K03, T24
    users = Authority("users")
    pair = users.issue()
    with EvilServer(always(lambda wire: wire.answer(b"good")), client_ca=users.pem) as evil:
        before = open_files()
        shown = connection(evil, token=None, client_cert_pem=pair.certificate, client_key_pem=Secret(pair.key))
        transport = Transport(shown, reach=HERE, limits=FAST)
        assert open_files() == before
        assert bytes(transport.get("/version").body) == b"good"
        transport.close()


def test_without_memory_files_a_client_certificate_is_shown_and_leaves_no_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:  # K03, T24
    users = Authority("users")
    pair = users.issue()
    with EvilServer(always(lambda wire: wire.answer(b"good")), client_ca=users.pem) as evil:
        shown = connection(evil, token=None, client_cert_pem=pair.certificate, client_key_pem=Secret(pair.key))
        with monkeypatch.context() as elsewhere:  # the server of the test needs them itself
            elsewhere.delattr("os.memfd_create")
            elsewhere.setattr("tempfile.tempdir", str(tmp_path))
            transport = Transport(shown, reach=HERE, limits=FAST)
        assert list(tmp_path.iterdir()) == []
        assert bytes(transport.get("/version").body) == b"good"
        transport.close()


def open_files() -> list[str]:
    """What memory files and plain files this process holds open."""
    links = []
    for entry in Path("/proc/self/fd").iterdir():
        try:
            links.append(str(entry.readlink()))
        except OSError:
            continue
    return sorted(link for link in links if "memfd:pair" in link or link.endswith(".pem"))


def test_a_missing_client_certificate_has_a_reason() -> None:
    script = always(lambda wire: wire.answer(b"good"))
    error = failure(script, client_ca=OTHER.pem)
    assert outcome(error) in [(TlsRefused, "tls_alert"), (Unreachable, "cut")]
    assert "alert (" in str(error) or outcome(error)[1] == "cut"  # an alert is told by its name


def test_the_name_is_resolved_once_and_the_checked_address_is_used() -> None:  # K05, T03: rebinding
    answers = [[LOOPBACK], ["169.254.169.254"]]
    with EvilServer(always(lambda wire: wire.answer(b"good"))) as evil:
        named = connection(evil, server=Server("kubernetes.test", evil.port))
        transport = Transport(named, reach=HERE, limits=FAST, resolver=lambda _host, _port: answers.pop(0))
        assert [bytes(transport.get("/version").body) for _ in range(3)] == [b"good"] * 3
        transport.close()
    assert answers == [["169.254.169.254"]]
    assert evil.requests[0].headers["host"] == f"kubernetes.test:{evil.port}"


def test_a_refused_address_is_never_connected_to() -> None:  # T03
    with EvilServer(always(lambda wire: wire.answer())) as evil, pytest.raises(AddressRefused):
        Transport(connection(evil), reach=OutboundPolicy())
    assert evil.connections == 0


def test_another_address_of_the_server_is_tried_when_one_refuses() -> None:
    with EvilServer(always(lambda wire: wire.answer(b"good"))) as evil:
        named = connection(evil, server=Server("kubernetes.test", evil.port))
        both = ["127.0.0.9", LOOPBACK]
        transport = Transport(named, reach=HERE, limits=FAST, resolver=lambda _host, _port: both)
        assert bytes(transport.get("/version").body) == b"good"
        transport.close()


def test_proxies_of_the_environment_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:  # K04
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with speaking(always(lambda wire: wire.answer(b"good"))) as (transport, _):
        assert bytes(transport.get("/version").body) == b"good"
