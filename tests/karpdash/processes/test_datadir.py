"""The data folder: keys are made once, and what cannot work is said in one line."""

import socket
from pathlib import Path

import pytest

from karpdash import files
from karpdash.configuration.env import read
from karpdash.files import data_folder, platform_folder
from karpdash.processes import datadir
from migrations_app.errors import InvalidSetting
from tests.house.measures import ROOT


def test_keys_are_made_once_and_only_for_their_owner(tmp_path):
    folder = datadir.prepare(tmp_path / "var")
    first = {name: (folder / name).read_text() for name in ("secret.key", "encryption.keys", "audit.key")}
    assert {(folder / name).stat().st_mode & 0o777 for name in first} == {0o600}
    datadir.prepare(tmp_path / "var")
    assert {name: (folder / name).read_text() for name in first} == first
    assert len(first["secret.key"]) >= 48


def test_a_file_in_the_way_is_said(tmp_path):
    (tmp_path / "var").write_text("not a folder")
    with pytest.raises(InvalidSetting, match="cannot use the data folder"):
        datadir.prepare(tmp_path / "var")


def test_a_place_where_nobody_may_write_is_said():
    with pytest.raises(InvalidSetting, match="cannot use the data folder"):
        datadir.prepare(Path("/proc/karpdash"))


def test_a_path_too_long_for_a_socket_is_said(tmp_path):
    with pytest.raises(InvalidSetting, match="too long"):
        datadir.prepare(tmp_path / ("x" * 100))


def test_a_taken_port_is_said():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InvalidSetting, match="cannot serve on"):
            datadir.check_port("127.0.0.1", taken.getsockname()[1])


@pytest.mark.parametrize("port", [0, -1, 65_536])
def test_what_is_no_port_is_said(port):
    with pytest.raises(InvalidSetting, match="not a port"):
        datadir.check_port("127.0.0.1", port)


def test_a_folder_is_held_by_one_at_a_time(tmp_path):  # R34
    with datadir.lock(tmp_path), pytest.raises(InvalidSetting, match="another karpdash up is using"):
        datadir.lock(tmp_path)
    datadir.lock(tmp_path).close()


@pytest.mark.parametrize(
    ("platform", "environ", "wanted"),
    [
        ("linux", {"HOME": "/people/ada"}, "/people/ada/.local/share/karpdash"),
        ("linux", {"HOME": "/people/ada", "XDG_DATA_HOME": "/data"}, "/data/karpdash"),
        ("linux", {"HOME": "/people/ada", "XDG_DATA_HOME": "data"}, "/people/ada/.local/share/karpdash"),
        ("linux", {}, ".local/share/karpdash"),
        ("darwin", {"HOME": "/people/ada"}, "/people/ada/Library/Application Support/karpdash"),
        ("win32", {"LOCALAPPDATA": "C:/people/ada/AppData/Local"}, "C:/people/ada/AppData/Local/karpdash"),
        ("win32", {"USERPROFILE": "C:/people/ada"}, "C:/people/ada/AppData/Local/karpdash"),
    ],
)
def test_each_platform_has_a_folder_for_data(platform, environ, wanted):
    assert platform_folder(environ, platform=platform) == Path(wanted)


def test_a_checkout_keeps_its_data_beside_the_code_wherever_one_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (data_folder({"HOME": "/people/ada"}), read({}).data_dir) == (ROOT / "var", ROOT / "var")
    assert read({"KARPDASH_DATA_DIR": ""}).data_dir == ROOT / "var"


def test_an_installed_karpdash_keeps_its_data_where_the_platform_says(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "SHIPPED", tmp_path)
    assert data_folder({"HOME": "/people/ada"}, platform="linux") == Path("/people/ada/.local/share/karpdash")
    assert files.folder("templates") == tmp_path / "templates"


def test_every_file_that_is_told_is_there(capsys):
    assert files.run([]) == 0
    told = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert (set(told), [path for path in told.values() if not Path(path).exists()]) == (set(files.SHOWN_PATHS), [])
    files.run(["cli"])
    assert capsys.readouterr().out.strip() == told["cli"]
