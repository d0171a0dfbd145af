"""A connection counts from its acceptance until its request has its answer and the client is gone."""

import socket
import threading
from urllib.parse import urlsplit

import pytest

from tests.servers.waiting import eventually
from tests.session import in_flight


@pytest.fixture
def transactional_db(transactional_db):
    """As pytest-django's, which empties the tables next: no connection is open by then."""
    yield
    assert in_flight.connections() == 0


def test_a_connection_counts_until_the_client_is_gone(live_server):
    in_flight.wait()
    address = urlsplit(live_server.url)
    with socket.create_connection((address.hostname, address.port)) as client:
        eventually(lambda: in_flight.connections() == 1, what="the server to accept it")
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert client.recv(12) == b"HTTP/1.1 200"
        assert in_flight.connections() == 1
    in_flight.wait()
    assert in_flight.connections() == 0


def test_the_tables_are_emptied_after_the_last_connection(live_server):
    address = urlsplit(live_server.url)
    client = socket.create_connection((address.hostname, address.port))
    eventually(lambda: in_flight.connections() == 1, what="the server to accept it")
    threading.Timer(0.3, client.close).start()  # the test is over before
