"""A worker whose broker is lost while a task runs goes on."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from celery.concurrency.solo import TaskPool
from celery.utils.imports import symbol_by_name
from celery.worker.consumer import Consumer as CeleryConsumer
from kombu import Connection, Exchange, Producer, Queue
from kombu.exceptions import OperationalError
from redis.exceptions import ConnectionError as RedisConnectionError

from karpdash.celery import app
from karpdash.processes.consumer import Consumer
from tests.servers.redis_server import RedisServer

pytestmark = [
    pytest.mark.redis,
    # Celery 6 would end what runs when the broker is lost; a rollout goes on, and its row says how far it is.
    pytest.mark.filterwarnings("ignore::celery.exceptions.CPendingDeprecationWarning"),
]
QUEUE = app.amqp.queues["probe"]


class Way:
    """A way to the broker that becomes silent: nothing comes through any more, and nobody is told."""

    def __init__(self, port: int) -> None:
        self._to, self._ends = port, []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        with suppress(OSError):
            while True:
                near = self._listener.accept()[0]
                far = socket.create_connection(("127.0.0.1", self._to))
                self._ends += [near, far]
                for source, goal in ((near, far), (far, near)):
                    threading.Thread(target=self._carry, args=(source, goal), daemon=True).start()

    def _carry(self, source: socket.socket, goal: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if self._listener.fileno() >= 0:
                    goal.sendall(data)

    def fall_silent(self) -> None:
        """New connections are refused; what is open stays so."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def close(self) -> None:
        for end in self._ends:
            end.close()


@pytest.fixture
def broker():
    server = RedisServer()
    yield server
    server.stop()


def at_work(kind: Callable[..., Any], url: str) -> Any:
    """A consumer of that class that has a message which is not acknowledged, and waits for the next one."""
    taken: list[object] = []
    worker = SimpleNamespace(use_eventloop=False)
    consumer = kind(lambda request: None, app=app, controller=worker, pool=TaskPool(1))
    consumer.connection = connection = app.connection_for_read(url)
    app.amqp.Producer(connection).publish("a task", exchange=QUEUE.exchange, routing_key=QUEUE.name, declare=[QUEUE])
    consumer.task_consumer = app.amqp.TaskConsumer(connection, queues=[QUEUE], on_message=taken.append)
    consumer.task_consumer.consume()
    remote_control = app.amqp.Consumer(connection.channel(), [app.control.mailbox.get_queue("a worker")])
    remote_control.consume()
    while not taken:
        connection.drain_events(timeout=60)
    with suppress(TimeoutError):
        while True:  # until only the reply that brings the next message is still to come
            connection.drain_events(timeout=0.2)
    return consumer


def test_a_worker_uses_ours():
    assert symbol_by_name(app.conf.worker_consumer) is Consumer


def test_a_broker_lost_while_a_task_runs_does_not_end_the_worker(broker):  # R05
    consumer = at_work(Consumer, broker.url)
    broker.kill()
    consumer.on_connection_error_after_connected(ConnectionError())
    assert consumer.connection is None  # what makes it connect again
    assert consumer.task_consumer.channel.closed


@pytest.mark.timeout(60)
def test_a_broker_that_falls_silent_does_not_hold_the_worker(broker):  # R05
    way = Way(broker.port)
    consumer = at_work(Consumer, broker.url.replace(str(broker.port), str(way.port)))
    way.fall_silent()
    consumer.on_connection_error_after_connected(ConnectionError())
    assert consumer.task_consumer.channel.closed
    way.close()


def test_celerys_own_consumer_would_end(broker):
    """Fails once Celery is corrected: then the class of ours can go."""
    consumer = at_work(CeleryConsumer, broker.url)
    broker.kill()
    with pytest.raises(AttributeError, match="hostname"):
        consumer.on_connection_error_after_connected(ConnectionError())
    consumer.task_consumer.channel.do_restore = False  # not at the end of this process either


@pytest.mark.parametrize("end", ["ack", "reject", "requeue"])
def test_a_message_that_cannot_be_acknowledged_takes_no_slot(end: str) -> None:
    """All tasks of a worker end while the broker is away: the worker has to take messages again afterwards."""
    server = RedisServer()
    try:
        with Connection(server.url, transport_options={"socket_connect_timeout": 1}) as connection:
            queue = Queue("scan", Exchange("scan"), routing_key="scan", channel=connection.channel())
            queue.declare()
            queue.channel.basic_qos(0, 1, False)
            Producer(queue.channel).publish({}, exchange=queue.exchange, routing_key="scan")
            message = queue.get()
            assert not queue.channel.qos.can_consume()
            server.kill()
            with pytest.raises(RedisConnectionError):
                message.ack() if end == "ack" else message.reject(requeue=end == "requeue")
            assert queue.channel.qos.can_consume()
    finally:
        server.stop()


def test_sending_to_a_broker_that_is_there_and_does_not_answer_ends(broker):
    """A request that enqueued a scan hung while the broker was frozen; now the row waits for the sweep (R05)."""
    ended: list[type[BaseException]] = []

    def send(connection: Connection) -> None:
        try:
            with connection._reraise_as_library_errors():
                Producer(connection).publish({}, routing_key=QUEUE.name, declare=[QUEUE])
        except OperationalError as error:
            ended.append(type(error))

    with app.connection_for_write(broker.url) as connection:
        connection.ensure_connection()
        connection.default_channel.client.ping()
        broker.child.pause()
        sending = threading.Thread(target=send, args=(connection,), daemon=True)
        sending.start()
        sending.join(30)
        broker.child.resume()
        sending.join(30)
    assert ended == [OperationalError]
