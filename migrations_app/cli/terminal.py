"""Output streams of the commands: results on stdout, everything else on stderr, colour and progress only on
terminals.
"""

import argparse
import errno
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from io import TextIOBase
from pathlib import Path
from types import TracebackType
from typing import TextIO, TypeVar

from migrations_app.errors import InvalidInput
from migrations_app.readiness.outputs.plain import plain, plain_lines

T = TypeVar("T")

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""Error numbers of a write when no space is left."""


class Exit(IntEnum):
    READY = 0
    FINDINGS = 1
    USAGE = 2
    COULD_NOT_LOOK = 3
    CRASHED = 70
    """EX_SOFTWARE of sysexits.h: an error that nothing expects. Python would end with 1, which says findings."""
    CANNOT_WRITE = 74
    """EX_IOERR of sysexits.h: the result could not be written completely."""
    INTERRUPTED = 130
    READER_GONE = 141


def prepare() -> None:
    """Makes a character that the terminal cannot show print as an escape instead of raising an error, and opens the
    standard streams that the caller closed.
    """
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure:
            reconfigure(errors="backslashreplace")


def _open_closed_streams() -> None:
    """Opens the null device in the place of each closed stream, in the order of their descriptors: no other file gets
    their numbers.
    """
    if sys.stdin is None:
        sys.stdin = open(os.open(os.devnull, os.O_RDONLY), closefd=False)  # noqa: SIM115 - open to the end
    if sys.stdout is None:
        sys.stdout = _ClosedOutput()
    if sys.stderr is None:
        sys.stderr = open(os.open(os.devnull, os.O_WRONLY), "w", closefd=False)  # noqa: SIM115 - as above


class _ClosedOutput(TextIOBase):
    """In the place of a closed standard output: a result is not lost unseen, it fails as on a full disk."""

    def __init__(self) -> None:
        self._descriptor = os.open(os.devnull, os.O_WRONLY)

    def fileno(self) -> int:
        return self._descriptor

    def write(self, _text: str) -> int:
        raise OSError(errno.EIO, "standard output is closed")


class CrashCode:
    """A context that ends the program with CRASHED after an error that nothing expects; its traceback is printed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind and isinstance(error, Exception):
            sys.__excepthook__(kind, error, trace)
            print_error(self._name, "karpdash itself failed: report the lines above; nothing is known of the result")
            raise SystemExit(Exit.CRASHED) from error


class StoreOnce(argparse.Action):
    """Stores the value of an option that may be given once: with the last of two, half of the input is passed over."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            parser.error(f"argument {option_string}: given more than once")
        setattr(namespace, self.dest, values)


def output_file(name: str) -> Path:
    """Returns the path of a file to write. Raises ArgumentTypeError for `-`, which would be a file of that name."""
    if name == "-":
        raise argparse.ArgumentTypeError("- is standard output, and a file is wanted here")
    return Path(name)


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Context in which a file is written. Raises InvalidInput for a path that cannot be written, and OSError of
    NO_ROOM, which ends with CANNOT_WRITE, if the disk is full.
    """
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise InvalidInput(f"cannot be written: {error.strerror}", where=str(path)) from None


def print_error(name: str, message: str) -> None:
    """Prints one line on stderr; control characters from files and clusters are removed."""
    print(f"{name}: {plain_lines(message)}", file=sys.stderr)


def print_note(message: str) -> None:
    """Prints a remark on stderr."""
    print(plain_lines(message), file=sys.stderr)


def show(text: str) -> None:
    """Prints the result unchanged on stdout."""
    sys.stdout.write(text)


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Returns the rows as lines of aligned columns; control characters are escaped."""
    cells = [[plain(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def show_rows(rows: Sequence[T], *, output: str, head: Sequence[str], cells: Callable[[T], Sequence[str]]) -> None:
    """Prints the rows as JSON if `output` is `json`, otherwise as a table under that head."""
    from migrations_app.readiness.outputs import json_schema

    show(json_schema.written(rows) if output == "json" else columns([head, *map(cells, rows)]))


def flush() -> None:
    sys.stdout.flush()


def colour_wanted(stream: TextIO | None = None) -> bool:
    """Whether to use colour: on a terminal that supports it, unless NO_COLOR is set."""
    out = stream or sys.stdout
    return out.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Progress:
    """A context manager that shows one line on stderr with the number of parts read; prints nothing if stderr is not a
    terminal.
    """

    def __init__(self) -> None:
        from migrations_app.inventory.inventory import PART_NAMES  # slow to import, and light commands show no progress

        self._total = len(PART_NAMES)
        self._shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._lock = threading.Lock()

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_why: object) -> None:
        self._write("")

    def part(self, name: str, done: int) -> None:
        """Reports one finished part; called from the reading threads."""
        self._write(f"read {done} of {self._total} parts, last {name}")

    def _write(self, text: str) -> None:
        if self._shown:
            with self._lock:
                print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
