"""T27: who can write to the broker cannot command the workers."""

import os
import subprocess
import time

import pytest
from celery import Celery

from karpdash.configuration.env import current
from karpdash.processes.queues import worker_command
from tests.servers.redis_server import RedisServer
from tests.servers.waiting import AT_ONCE

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]
FORGED = ("shutdown", "cancel_consumer", "pool_shutdown", "conf")


@pytest.fixture
def broker():
    server = RedisServer()
    yield server
    server.stop()


@pytest.fixture
def worker(broker, tmp_path):
    environment = os.environ | {"KARPDASH_BROKER_URL": broker.url, "KARPDASH_DATA_DIR": str(tmp_path)}
    with subprocess.Popen(worker_command("probe", current(), name="probe"), env=environment) as process:
        yield process
        process.terminate()


def test_commands_in_the_broker_reach_no_worker(broker, worker):
    attacker = Celery(broker=broker.url, set_as_current=False)
    consuming = attacker.connection_for_read()
    deadline = time.monotonic() + 60
    while not consuming.default_channel.client.exists("_kombu.binding.probe"):
        assert worker.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.2)
    time.sleep(AT_ONCE / 10)
    for command in FORGED:
        arguments = {"queue": "probe"} if command == "cancel_consumer" else {}
        assert attacker.control.broadcast(command, arguments=arguments, reply=True, timeout=1) == []
    consuming.close()
    assert worker.poll() is None
