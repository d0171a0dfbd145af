"""Prints size and structure of the code base as the table of docs/architecture.md: `make figures`."""

import statistics
import sys
from collections import Counter
from pathlib import PurePosixPath

from tests.house import measures
from tests.house.measures import Function

LONGEST_TEMPLATE_LINE = 120
NOT_MODULES = ("__init__.py",)


def sources() -> list[str]:
    """Returns every Python file that is no test, with Django's schema steps."""
    return [path for path in measures.files() if path.endswith(".py") and not path.startswith("tests/")]


def lines(paths: list[str]) -> int:
    return sum(map(measures.line_count, paths))


def largest_folder(paths: list[str]) -> tuple[str, int]:
    """Returns the folder with the most modules, and their number; `__init__.py` is not counted."""
    folders = Counter(str(PurePosixPath(path).parent) for path in paths if not path.endswith(NOT_MODULES))
    return folders.most_common(1)[0]


def repeated_classes(paths: list[str]) -> list[str]:
    """Returns names of public classes that more than one module defines."""
    names = Counter(
        name for path in paths for name, alias_of in measures.top_types(path) if not alias_of and name[0] != "_"
    )
    return sorted(name for name, times in names.items() if times > 1)


def long_template_lines(most: int = LONGEST_TEMPLATE_LINE) -> int:
    """Returns the number of lines of templates that are longer than that."""
    templates = [path for path in measures.files() if path.startswith("templates/") and path.endswith(".html")]
    return sum(len(line) > most for path in templates for line in measures.text(path).splitlines())


def sizes(functions: list[Function]) -> tuple[float, float, int]:
    """Returns the lines of a function: median, ninth decile, largest."""
    found = [function.lines for function in functions]
    return statistics.median(found), statistics.quantiles(found, n=10, method="inclusive")[8], max(found)


def rows() -> list[tuple[str, str]]:
    """Returns the figures with their names, in the order of the page."""
    product = measures.product()
    folder, modules = largest_folder(product)
    median, ninth, largest = sizes(measures.functions(product))
    ratio = lines(measures.python("tests")) / lines(product)
    return [
        ("lines of Python without tests", f"{lines(sources()):,}"),
        ("modules", f"{len(sources()):,}"),
        ("largest folder", f"{modules} (`{folder}`)"),
        ("class names with two meanings", str(len(repeated_classes(product)))),
        ("template lines above 120 characters", str(long_template_lines())),
        ("lines of a function: median / p90 / max", f"{median:g} / {ninth:g} / {largest}"),
        ("lines of tests to one of source", f"{ratio:.2f}"),
    ]


def table() -> str:
    return "\n".join(["| figure | value |", "| --- | ---: |", *(f"| {name} | {value} |" for name, value in rows())])


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
