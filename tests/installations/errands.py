"""Runs commands of a test in a process with the installation's settings: one JSON line in, one out.

Run as `python -m tests.installations.errands`; each line is [command, argument, ...], each answer a JSON value.
"""

import json
import sys
import time
import uuid
from collections.abc import Callable
from typing import Any

import django


def prepare() -> None:
    """Creates the tables and closes the connection: PostgreSQL copies no database that has a connection."""
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", interactive=False, verbosity=0)
    connection.close()


def reconnect() -> None:
    """Closes the connections to a database that was restarted."""
    from django.db import connections

    connections.close_all()


def samples() -> list[str]:
    """Returns the ids of the sample clusters; loads them if there are none."""
    from migrations_app.models.cluster import Cluster
    from migrations_app.use_cases.samples.load import load_samples

    load_samples()
    return [str(cluster.pk) for cluster in Cluster.objects.filter(source=Cluster.Source.SAMPLE)]


def register(kubeconfig: str, name: str) -> str:
    """Registers a cluster and returns its id."""
    from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig

    return str(register_kubeconfig(kubeconfig.encode(), Details(name=name)))


def request(cluster: str) -> str:
    """Requests a scan and returns its id; no message is sent."""
    from migrations_app.use_cases.scans.queue import request_scan

    return str(request_scan(uuid.UUID(cluster)).scan_id)


def enqueue_scan(scan: str) -> dict[str, Any]:
    """Sends the message of the scan. Returns whether it was sent, and how long that took."""
    from migrations_app import tasks

    started = time.monotonic()
    sent = tasks.enqueue_scan(uuid.UUID(scan))
    return {"sent": sent, "seconds": time.monotonic() - started}


def person(name: str, password: str, *rights: str) -> int:
    """Creates an account with these rights over every cluster and returns its id."""
    from django.contrib.auth.models import User

    from tests.builders.rollouts import entitled

    return int(entitled(User.objects.create_user(name, password=password), *rights).pk)


def waive(cluster: str, *checks: str) -> int:
    """Waives these checks for the cluster for a day; returns their number."""
    from tests.use_cases.journeys import worker_process

    worker_process.waive(cluster, *checks)
    return len(checks)


def chain() -> bool:
    """Whether the numbers of the audit log have no gap and each event refers to the one before."""
    from tests.use_cases.rollouts import worker_process

    return worker_process.chain()


def rehearse(cluster: str) -> str:
    """Requests the rehearsal of a previewed plan of that cluster, sends its message, and returns its id."""
    import msgspec
    from django.contrib.auth.models import User

    from migrations_app import tasks
    from migrations_app.access import Person
    from migrations_app.models.cluster import Cluster
    from migrations_app.use_cases.audit.log import Actor
    from migrations_app.use_cases.rehearsal_runs import queue
    from tests.builders.rollouts import IDENTITY, a_plan, a_rollout, entitled
    from tests.installations.slow_cluster import UID

    ada = entitled(User.objects.create_user("ada"), "operate_rollout")
    row = Cluster.objects.get(pk=cluster)
    identity = msgspec.structs.replace(IDENTITY, kube_system_uid=UID)
    made = a_rollout(row, plan_value=a_plan(row, identity=identity))
    person = Person(id=ada.pk, name="ada", rights={"operate"})
    asked = queue.request_rehearsal(made.pk, person, by=Actor(name="ada", id=ada.pk))
    tasks.enqueue_rehearsal(asked)
    return str(asked)


def halves() -> list[str]:
    """Returns the ids of incomplete snapshots: their findings differ from the report, or parts are missing."""
    from migrations_app.inventory.inventory import PART_NAMES
    from migrations_app.models.scan import Snapshot

    found = []
    for snapshot in Snapshot.objects.select_related("content"):
        report = snapshot.report()
        rows = snapshot.content.findings.values_list("check_id", "hop", "status")
        wanted = sorted((check.id, check.hop, check.status) for check in report.checks)
        parts = tuple(line.name for line in report.parts if not line.name.startswith("aws."))  # a sample has an account
        if sorted(rows) != wanted or parts != PART_NAMES or len(snapshot.nodes()) != report.nodes.total:
            found.append(str(snapshot.pk))
    return found


_COMMANDS = (prepare, reconnect, samples, register, request, enqueue_scan, person, waive, chain, rehearse, halves)
COMMANDS: dict[str, Callable[..., Any]] = {word.__name__: word for word in _COMMANDS}

if __name__ == "__main__":
    import os

    os.environ["DJANGO_SETTINGS_MODULE"] = "karpdash.settings"
    django.setup()
    for line in sys.stdin:
        word, *arguments = json.loads(line)
        sys.stdout.write(json.dumps(COMMANDS[word](*arguments)) + "\n")
        sys.stdout.flush()
