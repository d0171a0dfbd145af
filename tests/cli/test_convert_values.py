"""`karpdash convert --values`: what is printed, what is written, and the exit codes."""

import json
from pathlib import Path

import pytest

from migrations_app.cli import convert

OLD = "# mine\nsettings:\n  aws:\n    clusterName: shop\n"
WORDS = ["--from", "0.31.4", "--to", "1.0.14"]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "values.yaml"
    path.write_text(OLD)
    return str(path)


def test_values_go_to_stdout_and_findings_to_stderr(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert.run(["--values", file, *WORDS]) == 0
    out, err = capsys.readouterr()
    assert out == "# mine\nsettings:\n  clusterName: shop\n"
    key = "settings.aws.clusterName"
    assert f"info values-moved Values/karpenter {key}: {key} is settings.clusterName now" in err.splitlines()


def test_side_by_side_for_people_and_for_programs(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert.run(["--values", file, *WORDS, "-o", "table"]) == 0
    head = 'renamed  settings.aws.clusterName -> settings.clusterName\n  old   "shop"\n  new   "shop"\n  why   '
    assert capsys.readouterr().out.startswith(head)
    assert convert.run(["--values", file, *WORDS, "-o", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["values"] == {"settings": {"clusterName": "shop"}}
    assert (told["rows"][0]["kind"], told["rows"][0]["new_key"]) == ("renamed", "settings.clusterName")


def test_further_files_are_laid_over_the_first(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "over.yaml").write_text("settings:\n  aws:\n    clusterName: other\n")
    assert convert.run(["--values", file, "-f", str(tmp_path / "over.yaml"), *WORDS]) == 0
    assert capsys.readouterr().out == "settings:\n  clusterName: other\n"


def test_a_secret_is_written_to_a_file_and_never_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, to = tmp_path / "values.yaml", tmp_path / "new.yaml"
    path.write_text(f"{OLD}podAnnotations:\n  password: hunter2-hunter2\n")
    assert convert.run(["--values", str(path), *WORDS]) == 1
    out, err = capsys.readouterr()
    assert (out, "error values-secret" in err, "hunter2" in err) == ("", True, False)
    assert convert.run(["--values", str(path), *WORDS, "--out", str(to)]) == 0
    assert "hunter2" not in "".join(capsys.readouterr())
    assert (to.read_text(), to.stat().st_mode & 0o777) == (
        "# mine\nsettings:\n  clusterName: shop\npodAnnotations:\n  password: hunter2-hunter2\n", 0o600,
    )  # fmt: skip
    assert convert.run(["--values", str(path), *WORDS, "--out", str(to)]) == 2


def test_nothing_is_half_written(file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad, to = tmp_path / "bad.yaml", tmp_path / "new.yaml"
    bad.write_text("- a\n")
    assert convert.run(["--values", file, "-f", str(bad), *WORDS, "--out", str(to)]) == 2
    assert (capsys.readouterr().out, to.exists()) == ("", False)
    assert convert.run(["--values", str(tmp_path / "none.yaml"), *WORDS]) == 2
    assert "none.yaml: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--values", "a", "--to", "1.0.14"], "--values wants --from RELEASE"),
        (["--values", "a", "--from", "0.31.4", "--to", "v1"], "--values wants --to RELEASE"),
        (["--values", "a", "--from", "0.31.4", "--to", "1.0.14", "--chart", "other"], "invalid choice: 'other'"),
        (["-f", "a", "--to", "1.0.14"], "argument --to: invalid choice: '1.0.14'"),
        (["-f", "a", "-o", "table"], "go with --values"),
        ([], "-f/--filename"),
    ],
)
def test_wrong_words(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert convert.run(words) == 2
    assert why in capsys.readouterr().err
