"""A worker whose broker is lost while a task runs goes on."""

from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from celery.concurrency.solo import TaskPool
from celery.utils.imports import symbol_by_name
from celery.worker.consumer import Consumer as CeleryConsumer

from karpdash.celery import Consumer, app
from tests.servers.redis_server import RedisServer

pytestmark = [
    pytest.mark.redis,
    # Celery 6 would end what runs when the broker is lost; a rollout goes on, and its row says how far it is.
    pytest.mark.filterwarnings("ignore::celery.exceptions.CPendingDeprecationWarning"),
]
QUEUE = app.amqp.queues["probe"]


@pytest.fixture
def broker():
    server = RedisServer()
    yield server
    server.stop()


def at_work(kind: Callable[..., Any], broker: RedisServer) -> Any:
    """A consumer of that class: it has a message that is not acknowledged, and its broker was killed since."""
    taken: list[object] = []
    worker = SimpleNamespace(use_eventloop=False)
    consumer = kind(lambda request: None, app=app, controller=worker, pool=TaskPool(1))
    consumer.connection = connection = app.connection_for_read(broker.url)
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
    broker.kill()
    return consumer


def test_a_worker_uses_ours():
    assert symbol_by_name(app.conf.worker_consumer) is Consumer


def test_a_broker_lost_while_a_task_runs_does_not_end_the_worker(broker):  # R05
    consumer = at_work(Consumer, broker)
    consumer.on_connection_error_after_connected(ConnectionError())
    assert consumer.connection is None  # what makes it connect again
    assert consumer.task_consumer.channel.closed


def test_celerys_own_consumer_would_end(broker):
    """Fails once Celery is corrected: then the class of ours can go."""
    consumer = at_work(CeleryConsumer, broker)
    with pytest.raises(AttributeError, match="hostname"):
        consumer.on_connection_error_after_connected(ConnectionError())
    consumer.task_consumer.channel.do_restore = False  # not at the end of this process either
