"""One mail to a real server: over TLS, to checked addresses, within its time, whatever the server says."""

import dataclasses
import time

import pytest

from migrations_app.clients import mail
from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.mail import Mail, MailServer, read_mail_server
from migrations_app.clients.secret import Secret
from migrations_app.errors import (
    AddressRefused,
    InvalidInput,
    ReadError,
    ServerFailed,
    TimedOut,
    TlsRefused,
    Unreachable,
)
from tests.servers.mail_sink import MailSink
from tests.servers.waiting import AT_ONCE

HERE = OutboundPolicy(allow_loopback=True)
LETTER = Mail(to=("ops@example.com",), subject="karpdash: Scans fail: shöp", text="Scans fail: shöp", id="abc")


@pytest.fixture
def sinks(tmp_path, monkeypatch):
    started = []

    def start(**told):
        sink = MailSink(tmp_path, **told)
        monkeypatch.setenv("SSL_CERT_FILE", sink.trust)
        started.append(sink)
        return sink

    yield start
    for sink in started:
        sink.stop()


def server(sink, **told):
    usual = {"host": "127.0.0.1", "port": sink.port, "safe": False, "user": "", "password": Secret("")}
    return MailServer(**(usual | {"sender": "karpdash@example.com"} | told))


@pytest.mark.parametrize("at_once", [True, False])
def test_a_mail_arrives_over_tls_with_the_password(sinks, at_once):
    sink = sinks(at_once=at_once)
    mail.send(server(sink, safe=at_once, user="u", password=Secret("canary")), LETTER, reach=HERE)
    ((to, text, safe, who),) = sink.got
    assert (to, safe, who != "", "Message-ID: <abc@karpdash>" in text) == (["ops@example.com"], True, True, True)
    assert ("From: karpdash@example.com" in text, "To: ops@example.com" in text, "\nBcc" in text) == (True, True, False)


def test_several_people_do_not_learn_of_each_other(sinks):
    sink = sinks()
    mail.send(server(sink), dataclasses.replace(LETTER, to=("a@example.com", "b@example.com")), reach=HERE)
    ((to, text, _, _),) = sink.got
    assert (to, "a@example.com" in text, "b@example.com" in text) == (["a@example.com", "b@example.com"], False, False)


def test_in_clear_only_on_this_machine_and_never_with_a_password(sinks):
    sink = sinks(tls=False)
    mail.send(server(sink), LETTER, reach=HERE)
    assert [safe for _, _, safe, _ in sink.got] == [False]
    with pytest.raises(TlsRefused):
        mail.send(server(sink, user="u", password=Secret("canary")), LETTER, reach=HERE)
    assert len(sink.got) == 1


def test_a_server_that_nobody_trusts_gets_nothing(sinks, monkeypatch):  # K02
    for at_once in (True, False):
        sink = sinks(at_once=at_once)
        monkeypatch.delenv("SSL_CERT_FILE")
        with pytest.raises(TlsRefused):
            mail.send(server(sink, safe=at_once, user="u", password=Secret("canary")), LETTER, reach=HERE)
        assert sink.got == []


def test_a_server_that_is_not_there_is_unreachable(sinks):
    sink = sinks()
    gone = server(sink)
    sink.shutdown()  # else its loop goes on listening until the next poll
    sink.server_close()
    with pytest.raises(Unreachable):
        mail.send(gone, LETTER, reach=HERE)


@pytest.mark.parametrize(("bad", "error"), [("drip", TimedOut), ("hang", TimedOut), ("flood", ReadError)])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_server_that_behaves_badly_costs_its_seconds(sinks, bad, error, at_once):  # K06, K09
    sink = sinks(bad=bad, at_once=at_once)
    began = time.monotonic()
    with pytest.raises(error) as caught:
        mail.send(server(sink, safe=at_once), LETTER, reach=HERE, seconds=1.0)
    assert (time.monotonic() - began < AT_ONCE, "canary" in str(caught.value)) == (True, False)


@pytest.mark.parametrize("answer", ["169.254.169.254", "127.0.0.1", "::ffff:169.254.169.254"])
def test_the_server_is_judged_like_every_other_address(sinks, answer):  # K05, T03
    sink = sinks()
    there = server(sink, host="mail.example")
    with pytest.raises(AddressRefused):
        mail.send(there, LETTER, reach=OutboundPolicy(), resolver=lambda _host, _port: [answer])
    assert sink.got == []


def test_a_domain_of_other_letters_is_written_in_ascii(sinks):
    sink = sinks()
    mail.send(server(sink), dataclasses.replace(LETTER, to=("ops@b\u00fccher.example",)), reach=HERE)
    assert [to for to, _, _, _ in sink.got] == [["ops@xn--bcher-kva.example"]]


@pytest.mark.parametrize(
    "changed",
    [
        {"subject": "news\r\nBcc: canary@example.com"},
        {"subject": "news\nBcc: canary@example.com"},
        {"to": ("ops@example.com\r\nBcc: canary@example.com",)},
        {"to": ("a@example.com", "ops@example.com>\r\nRCPT TO:<canary@example.com")},
        {"id": "abc>\r\nBcc: canary@example.com"},
    ],
)
def test_no_line_of_a_header_is_smuggled_in(sinks, changed):
    sink = sinks()
    with pytest.raises(InvalidInput) as refused:
        mail.send(server(sink), dataclasses.replace(LETTER, **changed), reach=HERE)
    assert (refused.value.code, "canary" in str(refused.value), sink.got) == ("bad_mail", False, [])


def test_a_dot_in_the_text_does_not_end_the_mail(sinks):
    sink = sinks()
    mail.send(server(sink), dataclasses.replace(LETTER, text="one\n.\nRCPT TO:<canary@example.com>\n"), reach=HERE)
    ((to, text, _, _),) = sink.got
    assert (to, "\n..\r\nRCPT TO:<canary@example.com>" in text) == (["ops@example.com"], True)


def test_refused_addresses_are_told_without_the_servers_words(sinks):
    sink = sinks(refuse=["ops@example.com"])
    with pytest.raises(ServerFailed) as caught:
        mail.send(server(sink), LETTER, reach=HERE)
    assert (caught.value.code, "canary" in str(caught.value), sink.got) == ("mail_refused", False, [])
    two = dataclasses.replace(LETTER, to=("ops@example.com", "b@example.com"))
    with pytest.raises(ServerFailed) as caught:
        mail.send(server(sink), two, reach=HERE)
    assert (caught.value.code, len(sink.got)) == ("mail_partly_refused", 1)


def test_what_the_setting_says():
    read = read_mail_server("smtps://us%40er:p%2Fw@mail.example:4650?from=karpdash@example.com")
    assert (read.host, read.port, read.safe, read.user, read.password.reveal(), read.sender) == (
        "mail.example", 4650, True, "us@er", "p/w", "karpdash@example.com",
    )  # fmt: skip
    assert [read_mail_server(f"{way}://m.example?from=a@b.example").port for way in ("smtp", "smtps")] == [587, 465]
    assert "p/w" not in repr(read)


@pytest.mark.parametrize(
    "url",
    ["http://m.example?from=a@b.example", "smtp://m.example", "smtp://?from=a@b.example", "smtp://m.example?from=a",
     "smtp://m.example:x?from=a@b.example", "smtp://u:canary@m.example?from=a@b@c", "smtp://m.example?from=a@b%0d%0aX:y"],
)  # fmt: skip
def test_a_setting_that_is_none_is_refused_without_its_password(url):
    with pytest.raises(InvalidInput) as refused:
        read_mail_server(url)
    assert "canary" not in str(refused.value)
