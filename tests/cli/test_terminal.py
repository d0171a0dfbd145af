import io
import sys

import pytest

from migrations_app.cli.terminal import Progress, colour_wanted, print_error


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_colour_is_for_terminals() -> None:
    assert (colour_wanted(Terminal()), colour_wanted(io.StringIO())) == (True, False)


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_is_not_for_those_who_decline(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    assert colour_wanted(Terminal()) is False


def test_an_empty_no_color_declines_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    assert colour_wanted(Terminal()) is True


@pytest.mark.parametrize(("stream", "wanted"), [(Terminal(), True), (io.StringIO(), False)])
def test_progress_is_for_terminals(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, wanted: bool) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    with Progress() as progress:
        progress.part("pods", 3)
    assert ("read 3 of " in stream.getvalue(), stream.getvalue().endswith("\x1b[K")) == (wanted, wanted)


def test_a_complaint_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("karpdash", "bad \x1b[2J file")
    assert capsys.readouterr().err == "karpdash: bad \\x1b[2J file\n"
