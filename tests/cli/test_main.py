import os
import subprocess
import sys
from pathlib import Path

import pytest

from karpdash.command import PROJECT_COMMANDS
from karpdash.command import main as program
from migrations_app.cli import COMMANDS, terminal, usage
from migrations_app.errors import InvalidInput
from tests.cli.conftest import Karpdash

LIGHT = ("scan", "plan", "bundle", "convert", "iam", "cluster", "token", "scim")


def test_help_goes_to_stdout_and_names_every_command(karpdash: Karpdash) -> None:
    said = karpdash("--help")
    assert (said.code, said.err, said.out) == (0, "", usage() + "\n")
    assert [line.split()[0] for line in said.out.splitlines()[2:-3]] == list(COMMANDS)


def test_the_version_is_told(karpdash: Karpdash) -> None:
    assert karpdash("--version").out.startswith("karpdash ")


@pytest.mark.parametrize(("words", "told"), [(["scna"], "no such command: scna"), ([], "which command?")])
def test_a_wrong_command_is_wrong_usage(karpdash: Karpdash, words: list[str], told: str) -> None:
    said = karpdash(*words)
    assert (said.code, said.out, said.err.splitlines()[0]) == (2, "", f"karpdash: {told}")


@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in PROJECT_COMMANDS])
def test_every_command_explains_itself(karpdash: Karpdash, command: str) -> None:
    said = karpdash(command, "--help")
    assert (said.code, said.err, said.out.startswith(f"usage: karpdash {command}")) == (0, "", True)


@pytest.mark.parametrize("command", PROJECT_COMMANDS)
def test_every_command_of_the_wiring_explains_itself(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["karpdash", command, "--help"])
    with pytest.raises(SystemExit) as stop:
        sys.exit(program())
    told = capsys.readouterr()
    assert (stop.value.code, told.err, told.out.startswith(f"usage: karpdash {command}")) == (0, "", True)


@pytest.mark.parametrize("command", LIGHT)
def test_no_command_loads_django_before_it_must(command: str) -> None:
    load = f"importlib.import_module('migrations_app.cli.{command}')"
    code = f"import sys, importlib; {load}; print('django' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "False\n"


@pytest.mark.parametrize("command", ["scan", "plan"])
def test_help_of_a_slow_command_loads_nothing_that_only_reading_needs(command: str) -> None:
    heavy = (
        "('msgspec', 'boto3', 'urllib3', 'cryptography', 'yaml', 'migrations_app.checks', 'migrations_app.karpenter')"
    )
    load = f"from migrations_app.cli import main; main(['{command}', '--help'])"
    code = f"import sys; {load}; print([name for name in {heavy} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_a_reader_that_goes_away_is_no_crash() -> None:
    command = [sys.executable, "-m", "karpdash.command", "--help"]
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (141, "")


def test_a_file_on_a_full_disk_is_no_wrong_usage(tmp_path: Path) -> None:
    full, nowhere = Path("/dev/full"), tmp_path / "no" / "file"
    with pytest.raises(OSError, match="No space left on device") as wrong, terminal.writing(full):
        full.write_text("x")
    assert wrong.value.filename == "/dev/full"
    with pytest.raises(InvalidInput, match="cannot be written: No such file"), terminal.writing(nowhere):
        nowhere.write_text("x")


@pytest.mark.parametrize("words", [("--help",), ("--version",)])
def test_a_full_disk_has_an_exit_code_of_its_own(words: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "karpdash.command", *words]
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (74, "karpdash: the result cannot be written: No space left on device\n")


def without_stream(descriptor: int, *words: str) -> tuple[int, str, str]:
    """Exit code and output of a program whose standard stream of that number the caller closed."""
    shell = f'exec "$0" "$@" {descriptor}{"<" if descriptor == 0 else ">"}&-'
    command = ["/bin/sh", "-c", shell, sys.executable, "-m", "karpdash.command", *words]
    ran = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout, ran.stderr


def test_a_closed_output_is_no_finding() -> None:
    wanted = (74, "", "karpdash: the result cannot be written: standard output is closed\n")
    assert without_stream(1, "--version") == wanted


def test_a_closed_input_is_an_empty_one() -> None:
    code, out, err = without_stream(0, "scan", "--bundle", "-")
    assert (code, out, err) == (2, "", "karpdash scan: -: no Kubernetes objects found\n")


def test_an_error_stays_off_the_output_where_its_own_stream_is_closed() -> None:
    assert without_stream(2, "scna") == (2, "", "")


def test_a_crash_is_no_finding(monkeypatch: pytest.MonkeyPatch, karpdash: Karpdash) -> None:
    def fail(_argv: list[str]) -> int:
        raise ZeroDivisionError("of a test")

    monkeypatch.setattr("migrations_app.cli.lint.run", fail)
    with pytest.raises(SystemExit) as stop:
        karpdash("lint", "--to", "1.0", "x")
    assert stop.value.code == 70


def test_what_crashed_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit), terminal.CrashCode("karpdash scan"):
        raise ZeroDivisionError("of a test")
    lines = capsys.readouterr().err.splitlines()
    assert lines[-2:] == [
        "ZeroDivisionError: of a test",
        "karpdash scan: karpdash itself failed: report the lines above; nothing is known of the result",
    ]
