"""Runs the recipes for pipelines as their services would: the steps of a composite action, the lines of a job.

Nothing is fetched: the packages of a lock lie in a folder on PYTHONPATH, where pip finds that it has them already.
"""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from tests.house.measures import ROOT
from tests.servers.processes import environment

_EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")


def packages(folder: Path, lock: str, *more: str) -> Path:
    """A folder with the packages of the lock, and more of them, as links to those of this environment."""
    folder.mkdir(exist_ok=True)
    names = re.findall(r"^([\w.-]+)==", (ROOT / "locks" / f"{lock}.txt").read_text(), re.M)
    for name in (*names, *more):
        found = distribution(name)
        for top in {each.parts[0] for each in found.files or () if each.parts[0] not in ("..", "__pycache__")}:
            link = folder / top
            if not link.exists():
                link.symlink_to(str(found.locate_file(top)))
    return folder


def surroundings(on_path: Path, **more: str) -> dict[str, str]:
    """The environment of a job: this interpreter as `python3` and `python`, and no index to install from."""
    plain = {name: value for name, value in environment().items() if not name.startswith(("PIP_", "KARPDASH_"))}
    path = os.pathsep.join((f"{sys.base_prefix}/bin", plain["PATH"]))
    return plain | {"PATH": path, "PYTHONPATH": str(on_path), "PIP_NO_INDEX": "1"} | more


def shell(script: str, *, at: Path, env: Mapping[str, str], words: tuple[str, ...] = ("sh", "-e")) -> Any:
    """The script, run from a file as services do."""
    (at / ".script").write_text(script)
    return subprocess.run([*words, ".script"], cwd=at, env=env, capture_output=True, text=True, check=False)


def _filled(text: str, values: Mapping[str, str]) -> str:
    """The text with its expressions evaluated; an output that no step gave is empty."""
    return _EXPRESSION.sub(lambda found: values.get(found[1], ""), text)


class CompositeAction:
    """A composite action, run step by step; a step that fails ends it."""

    def __init__(self, told: Mapping[str, Any], *, checkout: Path, env: Mapping[str, str]) -> None:
        self.told, self.checkout, self.env = told, checkout, env

    def run(self, workspace: Path, temporary: Path, **given: str) -> tuple[int, dict[str, str], str]:
        """The exit code of the last step that ran, the outputs of the action, and what was printed."""
        unknown = set(given) - set(self.told["inputs"])
        assert not unknown, f"the action has no input {unknown}"
        values = {f"inputs.{name}": str(each.get("default", "")) for name, each in self.told["inputs"].items()}
        values |= {f"inputs.{name}": value for name, value in given.items()}
        printed, code = "", 0
        for number, step in enumerate(self.told["runs"]["steps"]):
            output = temporary / f"output-{number}"
            output.touch()
            own = {name: _filled(text, values) for name, text in step.get("env", {}).items()}
            service = {
                "RUNNER_TEMP": str(temporary), "GITHUB_ACTION_PATH": str(self.checkout), "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(temporary / "summary"),
            }  # fmt: skip
            words = {"bash": ("bash", "--noprofile", "--norc", "-eo", "pipefail")}[step["shell"]]
            done = shell(step["run"], at=workspace, env={**self.env, **own, **service}, words=words)
            printed, code = printed + done.stdout + done.stderr, done.returncode
            pairs = (line.partition("=") for line in output.read_text().splitlines())
            values |= {f"steps.{step.get('id')}.outputs.{name}": value for name, _, value in pairs}
            if code:
                break
        named = {name: each["value"] for name, each in self.told.get("outputs", {}).items()}
        return (
            code,
            {name: _filled(each, values) for name, each in named.items()},
            printed,
        )
