"""The result as a table of the docs."""

from collections.abc import Sequence
from datetime import datetime

from tests.trust.parts import MAX_TOLD, PartResult

HEAD = (
    "| part | rules | asked | done | did not hold | slowest | grown | seconds |\n"
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
)


def page(results: Sequence[PartResult], *, seed: int, scale: float, at: datetime, machine: str) -> str:
    """Markdown: when and where, one line a part, and what did not hold with the command that tries it again."""
    held = sum(result.held for result in results)
    lines = [
        f"{at:%Y-%m-%d %H:%M} UTC, seed {seed}, scale {scale:g}, {machine}: {held} of {len(results)} parts held.",
        "",
        HEAD,
        *map(_line, results),
        "",
        *(line for result in results for line in _told(result, seed=seed)),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _line(result: PartResult) -> str:
    part = result.part
    once = part.trial is not None and result.done
    slowest = f"{1000 * result.slowest:,.0f} ms" if once else ""
    grown = f"{result.grown_mib:,.0f} MiB" if once else ""
    cells = (
        part.name, part.rules, f"{result.asked:,}", f"{result.done:,}", f"{len(result.failures):,}", slowest, grown,
        f"{result.seconds:,.0f}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _told(result: PartResult, *, seed: int) -> list[str]:
    name = result.part.name
    if result.why:
        return [f"- {name} was not tried: {result.why}"]
    told = [f"- {name} {number}: {' '.join(why.split())[:200]}" for number, why in result.failures[:MAX_TOLD]]
    more = len(result.failures) - MAX_TOLD
    told += [f"- {name}: and {more} more"] if more > 0 else []
    again = f'`python -m tests.trust --part "{name}" --seed {seed} --case {result.failures[0][0]}`' if told else ""
    return [*told, f"- again: {again}"] if told and result.part.trial is not None else told
