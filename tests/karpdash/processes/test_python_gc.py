"""A start looks through what it loads a few times, and a process that serves collects as Python does."""

import base64
import subprocess
import sys
import uuid

import pytest

from tests.house.measures import ROOT
from tests.installations.running import bare_environment

COUNTED = """
import atexit, gc, runpy, sys
found = []
atexit.register(lambda: print("", gc.get_freeze_count() > 100_000))
gc.callbacks.append(lambda phase, about: found.append(phase == "start"))
{load}
print(sum(found), gc.get_threshold(), gc.get_freeze_count() > 100_000, end="")
"""
MANAGE = "sys.argv = ['manage.py', 'migrate', '-v0']; runpy.run_path('manage.py', run_name='__main__')"


@pytest.mark.parametrize(
    ("load", "after"),
    [(MANAGE, "(50000, 20, 10) False True"), ("import karpdash.wsgi", "(700, 10, 10) True True")],
    ids=["command", "server"],
)
def test_what_is_loaded_stays_and_is_not_looked_through(tmp_path, load, after):
    code = [sys.executable, "-c", COUNTED.format(load=load)]
    keys = {"secret_key": uuid.uuid4().hex, "encryption_keys": f"k1:{base64.b64encode(bytes(range(32))).decode()}"}
    given = bare_environment(data_dir=str(tmp_path), **keys)
    ran = subprocess.run(code, cwd=ROOT, env=given, capture_output=True, text=True, check=True)
    collections, left = ran.stdout.strip().split(" ", 1)
    assert (int(collections) < 200, left) == (True, after)
