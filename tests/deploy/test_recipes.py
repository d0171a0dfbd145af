"""Every recipe as it is printed: the action with its installation, the jobs of GitLab and Jenkins, the hook."""

import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from migrations_app import __version__
from migrations_app.samples import fleet
from tests.deploy.packages import Built, build
from tests.deploy.recipes import CompositeAction, packages, shell, surroundings
from tests.house.measures import ROOT

pytestmark = [pytest.mark.timeout(900), pytest.mark.xdist_group("packages")]
PAGE = (ROOT / "docs" / "pipelines.md").read_text()
GOOD = """\
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: a}
spec: {template: {spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: a}, requirements: []}}}
"""
OLD = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner\nmetadata: {name: old}\nspec: {}\n"


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> tuple[Built, Path]:
    """The wheel, and the files of the checkout that it was built from."""
    folder = tmp_path_factory.mktemp("release")
    return build(folder), folder / "source"


@pytest.fixture(scope="module")
def locked(tmp_path_factory) -> Path:
    return packages(tmp_path_factory.mktemp("locked") / "packages", "cli", "setuptools")


@pytest.fixture
def workspace(tmp_path) -> Path:
    story = fleet.find("beta_037")
    assert story is not None
    fleet.write(story, tmp_path / "work" / "dump")
    (tmp_path / "temp").mkdir()
    return tmp_path / "work"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.M | re.S)


def names_of_cases(report: Path) -> set[str]:
    return {case.attrib["name"] for case in ElementTree.parse(report).getroot().iter("testcase")}


@pytest.fixture
def checkout(release, tmp_path) -> Path:
    """The checkout of the action. Its step sets PYTHONPATH to it, so the packages of the lock are to be found there."""
    folder = packages(tmp_path / "checkout", "cli")
    for each in release[1].iterdir():
        (folder / each.name).symlink_to(each)
    return folder


def test_the_action_of_the_page_installs_itself_scans_and_leaves_its_files(checkout, locked, workspace):
    steps = yaml.safe_load(blocks("yaml")[0])["steps"]
    (step,) = (one for one in steps if str(one["uses"]).startswith("karpdash/karpdash@"))
    assert step["uses"].partition("@")[2] == f"v{__version__}"
    told = yaml.safe_load((checkout / "action.yml").read_text())
    action = CompositeAction(told, checkout=checkout, env=surroundings(locked))
    code, outputs, printed = action.run(workspace, workspace.parent / "temp", **step["with"])
    assert (code, outputs) == (0, {"exit-code": "0"}), printed
    assert "Cluster     dump" in printed
    assert (workspace.parent / "temp" / "summary").read_text() == (workspace / "karpdash.md").read_text()
    uploaded = next(one["with"]["sarif_file"] for one in steps if "upload-sarif" in one["uses"])
    assert (workspace / uploaded).is_file()
    assert names_of_cases(workspace / "karpdash.xml") != set()
    code, outputs, printed = action.run(workspace, workspace.parent / "temp", bundle="gone")
    assert (code, outputs) == (2, {"exit-code": "2"}), printed


def test_the_job_of_gitlab(release, locked, workspace):
    job = yaml.safe_load((release[1] / "deploy" / "ci" / "gitlab.yml").read_text())["karpdash"]
    env = surroundings(locked, **{name: str(value) for name, value in job["variables"].items()})
    env |= {"SCAN_WHEEL": str(release[0].wheel)}
    assert subprocess.run(["python3", "-m", "venv", "image"], cwd=workspace, env=env, check=False).returncode == 0
    env["PATH"] = f"{workspace}/image/bin:{env['PATH']}"
    done = shell("\n".join((*job["before_script"], *job["script"])), at=workspace, env=env)
    assert done.returncode == 0, done.stdout + done.stderr
    assert names_of_cases(workspace / job["artifacts"]["reports"]["junit"]) != set()
    assert [path for path in job["artifacts"]["paths"] if not (workspace / path).is_file()] == []


def test_the_pipeline_of_jenkins(release, locked, workspace):
    text = (release[1] / "deploy" / "ci" / "Jenkinsfile").read_text()
    given = dict(re.findall(r"string\(name: '(\w+)', defaultValue: '([^']*)'", text)) | {"WHEEL": str(release[0].wheel)}
    lines = re.findall(r"^ +sh '(.*)'$", text, re.M)
    assert len(lines) == 2
    for line in lines:
        done = shell(line, at=workspace, env=surroundings(locked, **given))
        assert done.returncode == 0, done.stdout + done.stderr
    assert names_of_cases(workspace / re.findall(r"testResults: '([^']+)'", text)[0]) != set()
    assert (workspace / re.findall(r"pattern: '([^']+)'", text)[0]).is_file()


def git(*words: str, at: Path) -> str:
    mail = ("-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "commit.gpgsign=false")
    command = ["git", *mail, *words]
    return subprocess.run(command, cwd=at, capture_output=True, text=True, check=True).stdout.strip()


def commit(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git("add", "--all", at=folder)
    git("commit", "--quiet", "--no-verify", "--message", "x", at=folder)


def test_the_hook_lints_what_a_commit_changes(release, locked, workspace, tmp_path):
    config = yaml.safe_load(next(text for text in blocks("yaml") if "karpdash-lint" in text))
    (ours,) = config["repos"]
    assert ours["rev"] == f"v{__version__}"
    if not (release[1] / ".git").exists():
        git("init", "--quiet", at=release[1])
        commit(release[1], {})
    ours |= {"repo": str(release[1]), "rev": git("rev-parse", "HEAD", at=release[1])}
    git("init", "--quiet", at=workspace)
    commit(
        workspace, {".pre-commit-config.yaml": yaml.safe_dump(config), "infra/nodepool.yaml": GOOD, "x/old.yaml": OLD}
    )
    env = surroundings(locked, PRE_COMMIT_HOME=str(tmp_path / "kept"), PIP_NO_BUILD_ISOLATION="0")
    pre_commit = [sys.executable, "-m", "pre_commit", "run", "--all-files"]
    done = subprocess.run(pre_commit, cwd=workspace, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, "Passed" in done.stdout) == (0, True), done.stdout + done.stderr
    (workspace / "infra" / "karpenter.yaml").write_text(OLD)
    git("add", "--all", at=workspace)
    done = subprocess.run(pre_commit[:-1], cwd=workspace, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, "infra/karpenter.yaml" in done.stdout) == (1, True), done.stdout + done.stderr
