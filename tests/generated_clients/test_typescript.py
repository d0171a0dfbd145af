"""Types that openapi-typescript generates from the published document compile strictly, and do the main jobs."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.generated_clients.conftest import DOCUMENT, Target
from tests.servers.processes import program

HERE = Path(__file__).parent
STRICT = ("--strict", "--target", "es2022", "--module", "nodenext", "--moduleResolution", "nodenext")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """jobs.js, compiled with the generated types."""
    folder = tmp_path_factory.mktemp("typescript")
    for name in ("package.json", "package-lock.json", "jobs.ts"):
        shutil.copy(HERE / name, folder)
    _run(str(program("npm")), "ci", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", folder=folder)
    _run("node_modules/.bin/openapi-typescript", str(DOCUMENT), "--output", "schema.d.ts", folder=folder)
    _run("node_modules/.bin/tsc", *STRICT, "--lib", "es2022,dom", "jobs.ts", folder=folder)
    return folder / "jobs.js"


def _run(*words: str, folder: Path) -> str:
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_main_jobs(compiled: Path, target: Target) -> None:
    node = str(program("node"))
    told = json.loads(
        _run(node, "jobs.js", target.address, target.secret, str(target.cluster.pk), folder=compiled.parent)
    )
    assert (told["names"], told["verdict"], told["states"]) == (["beta"], "ready", ["queued"])
    assert len(told["checks"]) == 3
    assert (told["events"], told["me"]) == (["scan.requested", "scan.done", "scan.requested"], "service:typescript")
    assert told["problem"] == "not_found"
