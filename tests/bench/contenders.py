"""The contenders, one a process: `python -m tests.bench.contenders NAME FOLDER`. Imports stay inside each of them.

FOLDER holds `server.json` (url, CA, token), `kubeconfig`, and the data folder of the scan.
"""

import json
import re
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from tests.bench.measure import FailedError, Figures, measured, memory, tell

STILL_FAILS = "legacy_provisioners_gone"
PAGE = 500
LISTS = (
    "/api/v1/pods",
    "/api/v1/nodes",
    "/apis/karpenter.sh/v1alpha5/machines",
    "/apis/apps/v1/deployments",
)
"""What a scan moves, but for lists of a few objects."""
_CONTINUE = re.compile(rb'"continue":"([^"]+)"')
_HEAD = 4096
"""The token stands at the head of a page."""


def plain(folder: Path) -> Figures:
    """The same bytes by plain GETs over one connection that is kept, unpacked as our transport asks on loopback."""
    import urllib3

    server = json.loads((folder / "server.json").read_text())
    context = ssl.create_default_context(cadata=server["ca_pem"])
    address = urlsplit(server["url"])
    headers = {
        "Authorization": f"Bearer {server['token']}",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
    }
    pool = urllib3.HTTPSConnectionPool(str(address.hostname), address.port, ssl_context=context, headers=headers)

    def move(path: str) -> int:
        moved, token = 0, b""
        while True:
            more = f"&continue={quote(token.decode(), safe='')}" if token else ""
            answer = pool.request("GET", f"{path}?limit={PAGE}{more}", retries=False)
            if answer.status != 200:
                raise FailedError(f"{path} answered {answer.status}")
            moved += len(answer.data)
            found = _CONTINUE.search(answer.data[:_HEAD])
            if found is None:
                return moved
            token = found[1]

    return measured(lambda: (sum(map(move, LISTS)), 0))


def typed(folder: Path) -> Figures:
    """The official client's typed listing of the pods, page by page, all of them kept as it gives them."""
    from kubernetes import client

    server = json.loads((folder / "server.json").read_text())
    configuration = client.Configuration()
    configuration.host, configuration.ssl_ca_cert = server["url"], str(folder / "ca.pem")
    configuration.api_key = {"authorization": server["token"]}
    configuration.api_key_prefix = {"authorization": "Bearer"}
    core = client.CoreV1Api(client.ApiClient(configuration))

    def listed() -> tuple[int, int]:
        found: list[Any] = []
        token: str | None = None
        while True:
            page = core.list_pod_for_all_namespaces(limit=PAGE, _continue=token)
            found += page.items
            token = page.metadata._continue if page.metadata else None
            if not token:
                return 0, len(found)

    return measured(listed)


def prepare(_folder: Path) -> Figures:
    """The schema of the data folder; not measured."""
    _django()
    from django.core.management import call_command

    call_command("migrate", interactive=False, verbosity=0)
    return Figures(seconds=0, cpu=0, peak=0)


def idle(_folder: Path) -> Figures:
    """What a worker's process weighs before its first scan."""
    _worker()
    return Figures(seconds=0, cpu=0, peak=memory("VmRSS"))


def scan(folder: Path) -> Figures:
    """A registered cluster, scanned by the worker's own task: connect, collect, check, store the snapshot."""
    return _scanned(folder, before=0)


def rescan(folder: Path) -> Figures:
    """The second scan of a cluster, in which nothing has changed since the first one."""
    return _scanned(folder, before=1)


def check_again(folder: Path) -> Figures:
    """One check that is asked alone after a scan, and still fails: what "Done, check again" costs."""
    _worker()
    cluster = _registered(folder)
    _asked(cluster)

    def alone() -> tuple[int, int]:
        row = _asked(cluster, only_check=STILL_FAILS)
        if row.snapshot is not None or row.check_answer["status"] != "fail":
            raise FailedError(f"{STILL_FAILS} is not open any more: {row.check_answer}")
        return 0, row.check_answer["parts"]

    return measured(alone)


def _scanned(folder: Path, *, before: int) -> Figures:
    """The figures of a scan, after so many others of the same cluster."""
    _worker()
    cluster = _registered(folder)

    def scanned() -> tuple[int, int]:
        return 0, len(_taken(_asked(cluster)))

    for _ in range(before):
        scanned()
    figures = measured(scanned)
    if bool(figures.objects) != bool(before):
        raise FailedError(f"{figures.objects} lists were taken from an earlier scan")
    return figures


def _registered(folder: Path) -> Any:
    """The key of a new registration of the cluster."""
    from migrations_app.models.scan import Scan
    from migrations_app.use_cases.clusters import registration

    name = f"bench-{Scan.objects.count()}"
    kubeconfig = (folder / "kubeconfig").read_bytes()
    return registration.register_kubeconfig(kubeconfig, registration.Details(name=name))


def _asked(cluster: Any, *, only_check: str = "") -> Any:
    """The row of a scan that the worker's own task has done."""
    from migrations_app import tasks
    from migrations_app.models.scan import Scan
    from migrations_app.use_cases.scans import queue

    asked = queue.request_scan(cluster, only_check=only_check).scan_id
    tasks.scan_cluster(str(asked))
    return Scan.objects.select_related("snapshot").get(pk=asked)


def _taken(row: Any) -> dict[str, str]:
    """The parts that a scan took from an earlier one. Raises FailedError if it is not complete."""
    if row.snapshot is None or not row.snapshot.complete:
        raise FailedError(f"the scan is {row.state} {row.error_code}: {row.error_detail}")
    return row.snapshot.unchanged or {}


def _django() -> None:
    import os

    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "karpdash.settings"
    django.setup()


def _worker() -> None:
    """What `karpdash worker` has loaded before its first task."""
    import os

    os.environ["CELERY_SKIP_CHECKS"] = "1"
    _django()
    from karpdash.celery import app

    app.loader.import_default_modules()


CONTENDERS: dict[str, Callable[[Path], Figures]] = {
    "plain": plain,
    "typed": typed,
    "prepare": prepare,
    "idle": idle,
    "scan": scan,
    "rescan": rescan,
    "check_again": check_again,
}

if __name__ == "__main__":
    tell(CONTENDERS[sys.argv[1]](Path(sys.argv[2])))
