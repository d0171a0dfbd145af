"""Threads that decode a struct for the first time at the same moment do not end the process."""

import signal
import subprocess
import sys

import pytest

from karpdash.processes import datadir
from migrations_app.collect import collect
from migrations_app.inventory import struct_types
from tests.house.measures import ROOT
from tests.installations.running import bare_environment

RACE = """
import sys, threading, msgspec
from migrations_app.inventory.struct_types import build_structs
sys.setswitchinterval(1e-6)
for number in range(300):
    leaves = [msgspec.defstruct(f"Leaf{i}", [(f"g{j}", int | None, None) for j in range(5)]) for i in range(20)]
    shared = msgspec.defstruct("Shared", [(f"f{i}", leaf | None, None) for i, leaf in enumerate(leaves)])
    kinds = [msgspec.defstruct(f"Kind{k}", [("items", list[shared])]) for k in range(4)]
    raw = msgspec.json.encode({"items": [{f"f{i}": {"g1": 1} for i in range(20)}]})
    if sys.argv[1] == "built":
        build_structs()
    start = threading.Barrier(len(kinds))
    def decode(kind):
        start.wait()
        msgspec.json.decode(raw, type=kind)
    threads = [threading.Thread(target=decode, args=(kind,)) for kind in kinds]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


@pytest.mark.parametrize(
    ("words", "ends"),
    # Where the second one ends well, msgspec has mended it, and build_structs can go.
    [("built", 0), ("not built", -signal.SIGSEGV)],
)
def test_threads_that_begin_at_once(words, ends):
    env = bare_environment() | {"PYTHONPATH": str(ROOT)}
    told = subprocess.run([sys.executable, "-c", RACE, words], env=env, capture_output=True, text=True, check=False)
    assert told.returncode == ends, told.stderr


LOADED = {
    "web": "import karpdash.wsgi",
    "worker": "from karpdash.celery import app; app.Worker(pool='solo', quiet=True)",
}


@pytest.mark.parametrize("process", LOADED)
def test_processes_with_threads_build_them_at_their_start(process, tmp_path):
    code = f"{LOADED[process]}\nfrom migrations_app.inventory import struct_types\nprint(len(struct_types._built))"
    settings = {"data_dir": str(datadir.prepare(tmp_path / "d")), "broker_url": "redis://127.0.0.1:1/0"}
    env = bare_environment(**settings) | {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "karpdash.settings"}
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert told.returncode == 0, told.stderr
    assert int(told.stdout.split()[-1]) > 200


def test_a_scan_builds_them_before_it_reads_side_by_side(monkeypatch):
    told = []
    monkeypatch.setattr(collect, "build_structs", lambda: told.append("built"))
    with collect.thread_pool() as pool:
        assert (told, pool.submit(lambda: 1).result()) == (["built"], 1)
    assert struct_types.build_structs() > 100
