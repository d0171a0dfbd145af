"""`karpdash completion`: what a shell offers is what the parsers know."""

import shutil
import subprocess
from pathlib import Path

import pytest

from karpdash.command import main
from karpdash.completion import SHELLS
from migrations_app.cli import COMMANDS


@pytest.fixture
def script(capsys):
    def made(shell):
        assert main(["completion", shell]) == 0
        return capsys.readouterr().out

    return made


def offered(script: str, folder: Path, *words: str) -> set[str]:
    """What bash offers behind the words, the last of which is unfinished."""
    (folder / "karpdash.bash").write_text(script)
    function = next(line.split()[-2] for line in script.splitlines() if line.startswith("complete "))
    line = " ".join(f"'{word}'" for word in words)
    asked = (
        f"source {folder}/karpdash.bash; COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; "
        f"{function} karpdash '{words[-1]}' '{words[-2]}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    )
    told = subprocess.run(
        [str(shutil.which("bash")), "-c", asked], capture_output=True, text=True, timeout=20, check=True
    )
    return {word.strip() for word in told.stdout.split("\n")} - {""}


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_in_the_script(script, shell):
    text = script(shell)
    assert [name for name in COMMANDS if name not in text] == []


def test_bash_offers_commands_options_and_choices(script, tmp_path):
    bash = script("bash")
    assert set(COMMANDS) <= offered(bash, tmp_path, "karpdash", "")
    assert offered(bash, tmp_path, "karpdash", "scan", "--fail") == {"--fail-on"}
    assert offered(bash, tmp_path, "karpdash", "scan", "--fail-on", "") >= {"blocker", "warning", "never"}
    assert offered(bash, tmp_path, "karpdash", "cluster", "") >= {"add", "list", "aws", "rm"}


def test_a_shell_that_is_not_known(capsys):
    with pytest.raises(SystemExit) as left:
        main(["completion", "csh"])
    assert left.value.code == 2
    assert "bash" in capsys.readouterr().err
