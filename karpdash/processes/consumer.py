"""A Celery consumer that survives the loss of the broker; imported by workers alone."""

from typing import Any

from celery.utils.threads import bound_open_broker_sockets  # type: ignore[attr-defined]  # not in the stubs
from celery.worker.consumer import Consumer as CeleryConsumer
from celery.worker.consumer.consumer import COLLECT_SOCKET_TIMEOUT  # type: ignore[attr-defined]  # as above
from kombu.transport import redis, virtual
from redis.exceptions import RedisError

_CONNECTION_ERRORS = (RedisError, OSError)


class Consumer(CeleryConsumer):
    """Celery's consumer, which goes on when the broker is lost while a task runs.

    Celery 5.7 closes the connection twice. If the first close fails half-way, the second one tries to return the
    unacknowledged messages through a transport that no longer exists: an AttributeError, and the worker ends.
    """

    task_consumer: Any = None

    def on_connection_error_after_connected(self, exc: Exception) -> None:
        """Closes the channel of the tasks while it still has its transport, then does what Celery does."""
        if self.connection is not None and self.task_consumer is not None:
            # Without this, reading from a broker that is connected but silent would never end.
            bound_open_broker_sockets(self.connection, COLLECT_SOCKET_TIMEOUT)
            for _ in range(2):  # the first time may end at the reply that it still waits for
                self.connection.maybe_close_channel(self.task_consumer.channel)
        super().on_connection_error_after_connected(exc)


class AckQoS(redis.QoS):
    """Counts the messages that a worker has taken and not acknowledged; at its prefetch limit it takes no more.

    Celery only logs an acknowledgement that fails, and kombu counts its message for ever: a worker whose tasks all
    ended while the broker was away for a moment would never take another message. Here such a message no longer counts.
    The broker delivers it again after the visibility timeout, and the rows refuse a second run.
    """

    def ack(self, delivery_tag: str) -> None:
        """Acknowledges the message. Raises the error of the connection; the message no longer counts then, too."""
        try:
            super().ack(delivery_tag)
        except _CONNECTION_ERRORS:
            virtual.QoS.ack(self, delivery_tag)
            raise

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        """As `ack`, for a message that is returned or dropped."""
        try:
            super().reject(delivery_tag, requeue=requeue)
        except _CONNECTION_ERRORS:
            virtual.QoS.ack(self, delivery_tag)
            raise


redis.Channel.QoS = AckQoS
