"""Wheel and sdist: what they carry, and that they work where nothing of the checkout is."""

import json
import signal
import subprocess
import tarfile
import urllib.request
import zipfile
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from migrations_app import __version__
from migrations_app.samples import fleet
from tests.deploy.packages import ROOT, Built, Place, build, place
from tests.house import measures
from tests.servers.processes import free_port
from tests.servers.waiting import eventually

pytestmark = [pytest.mark.timeout(900), pytest.mark.xdist_group("packages")]
_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
SHIPPED = ("templates/", "static/", "docs/", "deploy/")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Built:
    return build(tmp_path_factory.mktemp("release"))


@pytest.fixture
def clean() -> Iterator[Place]:
    """In a short path, since the broker's socket lies below the home."""
    with TemporaryDirectory(prefix="karpdash-") as folder:
        yield place(Path(folder))


@pytest.fixture
def dump(tmp_path) -> Path:
    story = fleet.find("beta_037")
    assert story is not None
    fleet.write(story, tmp_path / "dump")
    return tmp_path / "dump"


def metadata(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        name = next(each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode())


def test_the_wheel_carries_every_file_that_is_served_or_shown(built):
    tracked = {name for name in measures.files() if name.startswith(SHIPPED)}
    code = {name for name in measures.files() if name.startswith(("karpdash/", "migrations_app/"))}
    with zipfile.ZipFile(built.wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == code | {f"karpdash/shipped/{name}" for name in tracked}
    assert {"karpdash/py.typed", "migrations_app/py.typed", "karpdash/shipped/docs/cli.md"} <= names


def test_the_sdist_carries_what_the_wheel_is_made_of_and_no_tests(built):
    with tarfile.open(built.sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    wanted = {
        name for name in measures.files() if name.startswith((*SHIPPED, "locks/", "karpdash/", "migrations_app/"))
    }
    assert wanted - names == set()
    assert {"Makefile", "CHANGELOG.md", "LICENSE", "setup.py", "docker-compose.yml"} <= names
    assert [name for name in names if name.startswith("tests/")] == []


def test_the_metadata_names_ranges_extras_links_and_the_one_version(built):
    told = metadata(built.wheel)
    assert told["Version"] == __version__
    assert set(told.get_all("Provides-Extra")) == {"cli", "server", "postgres", "embedded"}
    needed = told.get_all("Requires-Dist")
    assert [line for line in needed if "==" in line.partition(";")[0]] == []
    assert [line for line in needed if "extra ==" not in line and "django" in line.lower()] == []
    links = [line.partition(",")[0] for line in told.get_all("Project-URL")]
    assert links == ["Documentation", "Changelog", "Source", "Issues"]
    assert "Typing :: Typed" in told.get_all("Classifier")


def test_the_chart_names_the_version_of_the_package():
    chart = (ROOT / "deploy/helm/karpdash/Chart.yaml").read_text()
    assert f'appVersion: "{__version__}"' in chart


def test_the_command_line_works_without_the_server(built, clean, dump):
    assert len(clean.add_lock("cli")) <= 40
    clean.install(built.wheel, extras="cli")
    assert clean.run("--version").stdout == f"karpdash {__version__}\n"
    assert (clean.programs / "kubectl-karpdash").is_file()
    scan = clean.run("scan", "--bundle", str(dump), "--to", "1.0", "-o", "json")
    assert (scan.returncode, scan.stderr, json.loads(scan.stdout)["target"]["release"][:2]) == (0, "", "1.")
    assert clean.run("plan", "--bundle", str(dump), "--to", "1.0").returncode == 0
    assert clean.run("convert", "-f", str(dump), "-o", "json").returncode in (0, 1)
    chart = Path(clean.run("files", "chart").stdout.strip())
    assert (chart / "Chart.yaml").is_file()
    assert clean.folder in chart.parents
    up = clean.run("up")
    assert (up.returncode, up.stdout) == (2, "")
    assert up.stderr == (
        "karpdash up: needs packages that are not installed (django, celery): pip install 'karpdash[server,embedded]'\n"
    )


def test_the_server_works_from_any_folder(built, clean):
    clean.add_lock("run")
    clean.install(built.wheel, extras="server,embedded,postgres")
    port = free_port()
    said = clean.home / "said"
    with said.open("wb") as out:
        command = [str(clean.programs / "karpdash"), "up", "--port", str(port)]
        up = subprocess.Popen(command, cwd=clean.home, env=clean.environ(), stdout=out, stderr=subprocess.STDOUT)
    try:
        eventually(lambda: up.poll() is not None or "is serving on" in said.read_text(), what="a page", seconds=240)
        data = clean.home / ".local" / "share" / "karpdash"
        assert f"data and logs in {data})" in said.read_text()
        assert (data / "karpdash.sqlite3").is_file()
        assert "Sign in" in page(port, "/login")
        assert "{" in page(port, style(page(port, "/login")))
    finally:
        up.send_signal(signal.SIGINT)
        code = up.wait(60)
    assert (code, sorted(each.name for each in clean.home.iterdir())) == (0, [".local", "said"])


def page(port: int, path: str) -> str:
    with _DIRECT.open(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        body: bytes = answer.read()
    return body.decode()


def style(text: str) -> str:
    """The path of the page's first style sheet."""
    return text.partition('rel="stylesheet" href="')[2].partition('"')[0]
