"""A part of the programme: how many cases it has at full size, and how one of them is tried."""

import random
import resource
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.trust.watching import watched

Trial = Callable[[random.Random], str]
"""One case of that dice: empty where all held, else what did not. Any exception is a failure."""
Series = Callable[[int, random.Random], Sequence[str]]
"""That many cases at once, such as kills of workers that share a server: one answer for each."""
MAX_TOLD = 5
MAX_SECONDS = 20
"""Of processor time for one case; what takes longer has not held."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """`full` is how many cases are asked at scale 1; `rules` are the ids of docs/rules.md that are tried."""

    name: str
    full: int
    rules: str
    trial: Trial | None = None
    series: Series | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartResult:
    """`failures` are (number of the case, what did not hold). `why` says why the part was not tried at all."""

    part: Part
    asked: int
    done: int = 0
    failures: tuple[tuple[int, str], ...] = ()
    seconds: float = 0.0
    slowest: float = 0.0
    grown_mib: float = 0.0
    why: str = ""

    @property
    def held(self) -> bool:
        return self.done == self.asked and not self.failures


def dice_of(part: Part, *, seed: int, number: int) -> random.Random:
    """The same case for the same seed and number, however many are tried."""
    return random.Random(f"{seed}/{part.name}/{number}")


def asked_of(part: Part, scale: float) -> int:
    return max(1, round(part.full * scale))


def tried(part: Part, *, seed: int, scale: float) -> PartResult:
    """Every case of the part at that scale."""
    asked, began = asked_of(part, scale), time.monotonic()
    if part.series is not None:
        answers = part.series(asked, dice_of(part, seed=seed, number=0))
        failures = tuple((number, why) for number, why in enumerate(answers) if why)
        return PartResult(
            part=part, asked=asked, done=len(answers), failures=failures, seconds=time.monotonic() - began
        )
    case(part, seed=seed, number=0)  # opens what is read once
    failures, slowest, before = [], 0.0, _peak_mib()
    for number in range(asked):
        started = time.process_time()
        why = case(part, seed=seed, number=number)
        slowest = max(slowest, time.process_time() - started)
        failures += [(number, why)] if why else []
    return PartResult(
        part=part, asked=asked, done=asked, failures=tuple(failures),
        seconds=time.monotonic() - began, slowest=slowest, grown_mib=_peak_mib() - before,
    )  # fmt: skip


def case(part: Part, *, seed: int, number: int) -> str:
    """One case under the interpreter's own eyes: what is started, opened or connected to is a failure."""
    assert part.trial is not None
    signal.signal(signal.SIGVTALRM, _too_slow)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
    try:
        with watched() as seen:
            why = part.trial(dice_of(part, seed=seed, number=number))
    except Exception as wrong:  # noqa: BLE001 - whatever is raised is the finding
        return f"{type(wrong).__name__}: {str(wrong)[:200]}"
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return why or (f"touched {seen[:3]}" if seen else "")


def _too_slow(_number: int, _frame: object) -> None:
    raise TimeoutError(f"more than {MAX_SECONDS} seconds of processor time")


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
