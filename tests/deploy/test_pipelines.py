"""The recipes for pipelines: what they run is run here, as their services would."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from migrations_app.cli import main
from migrations_app.samples import fleet
from tests.house import measures
from tests.servers.processes import environment

ROOT = measures.ROOT
ACTION = yaml.safe_load((ROOT / "action.yml").read_text())
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}


@pytest.fixture
def dump(tmp_path, monkeypatch) -> Path:
    story = fleet.find("beta_037")
    assert story is not None
    fleet.write(story, tmp_path / "dump")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scanned(folder: Path, **inputs: str):
    """The step Scan of the action, run as the service runs it."""
    (folder / "karpdash" / "bin").mkdir(parents=True)
    (folder / "karpdash" / "bin" / "python").symlink_to(sys.executable)
    given = {name: each.get("default", "") for name, each in ACTION["inputs"].items()} | inputs
    env = {
        key: given[re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", value)[1]]
        for key, value in STEPS["Scan"]["env"].items()
    }
    ours = {"RUNNER_TEMP": folder, "GITHUB_ACTION_PATH": ROOT, "GITHUB_OUTPUT": folder / "output"}
    env |= {name: str(path) for name, path in ours.items()} | {"GITHUB_STEP_SUMMARY": str(folder / "summary")}
    # A link to the interpreter alone does not know its packages.
    script = STEPS["Scan"]["run"].replace(
        'PYTHONPATH="$GITHUB_ACTION_PATH"', 'PYTHONPATH="$GITHUB_ACTION_PATH:$PACKAGES"'
    )
    assert script != STEPS["Scan"]["run"]
    packages = os.pathsep.join(path for path in sys.path if path.endswith("site-packages"))
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    surroundings = environment() | env | {"PACKAGES": packages}
    return subprocess.run(command, cwd=folder, env=surroundings, capture_output=True, text=True, check=False)


def test_the_action_scans_and_leaves_its_files(dump):
    done = scanned(dump, bundle="dump", to="1.0")
    assert (done.returncode, done.stdout.startswith("Cluster     dump")) == (0, True), done.stderr
    assert (dump / "output").read_text() == "exit-code=0\n"
    assert (dump / "summary").read_text() == (dump / "karpdash.md").read_text()
    assert json.loads((dump / "karpdash.sarif").read_text())["runs"][0]["results"] != []
    assert (dump / "karpdash.xml").read_text().startswith("<?xml")


def test_the_action_fails_with_the_exit_code_and_runs_nothing_of_its_inputs(dump):
    done = scanned(dump, bundle="$(touch ran); `touch ran` dump", to="'; touch ran; '")
    assert (done.returncode, (dump / "output").read_text(), (dump / "ran").exists()) == (2, "exit-code=2\n", False)


def test_no_step_of_the_action_puts_an_input_into_its_script():
    assert [name for name, step in STEPS.items() if "${{" in step["run"]] == []
    assert "--require-hashes --no-deps" in STEPS["Install"]["run"].replace("\\\n", "")


def test_the_commands_of_page_and_recipes_work(dump, monkeypatch, capsys):
    values = {"SCAN_BUNDLE": "dump", "SCAN_TO": "1.0", "BUNDLE": "dump", "TO": "1.0"}
    texts = [
        (ROOT / name).read_text() for name in ("docs/pipelines.md", "deploy/ci/gitlab.yml", "deploy/ci/Jenkinsfile")
    ]
    lines = [found for text in texts for found in re.findall(r"(?:^|[- '/])karpdash (scan .+?)(?:'?$)", text, re.M)]
    assert len(lines) == 3
    for line in lines:
        words = [values.get(word.strip('"$'), word) for word in line.split()]
        assert main(words) == 0, line
        capsys.readouterr()


def test_the_hook_runs_a_command_that_is_there():
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    entry = hook["entry"].split()
    assert (entry[0], main([*entry[1:], "--help"]), hook["language"]) == ("karpdash", 0, "python")
    names = ("infra/karpenter/nodepools.yaml", "values.yaml", "charts/Karpenter/values-prod.yml", "readme.yaml")
    assert [name for name in names if re.search(hook["files"], name)] == list(names[:3])
