"""Where a request ends: the web server refuses every message that a proxy in front could read otherwise."""

import pytest
from gunicorn.config import Config
from gunicorn.http.errors import ParseException
from gunicorn.http.parser import RequestParser

HEAD = b"POST /login HTTP/1.1\r\nHost: karpdash\r\n"


def read(headers: bytes, body: bytes) -> bytes:
    """The body of the first request of a connection. Raises ParseException."""
    request = next(RequestParser(Config(), [HEAD + headers + b"\r\n" + body], ("127.0.0.1", 1)))
    found: bytes = request.body.read()
    return found


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n",
        b"Content-Length: 4\r\nContent-Length: 5\r\n",
        b"Content-Length: +4\r\n",
        b"Transfer-Encoding: chunked, identity\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    ],
)
def test_two_readings_of_one_message_are_refused(headers: bytes) -> None:
    with pytest.raises(ParseException):
        read(headers, b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n")


def test_plain_messages_are_read() -> None:
    assert read(b"Content-Length: 4\r\n", b"abcdGET") == b"abcd"
    assert read(b"Transfer-Encoding: chunked\r\n", b"4\r\nabcd\r\n0\r\n\r\n") == b"abcd"
