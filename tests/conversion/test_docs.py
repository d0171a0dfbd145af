"""The page about conversion lists exactly the findings and options that there are."""

import re
from pathlib import Path

from migrations_app.cli.convert import make_parser
from migrations_app.conversion import findings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "convert.md"


def test_the_table_of_findings_is_current() -> None:
    text = PAGE.read_text(encoding="utf-8")
    match = re.search(r"<!-- findings: [^\n]* -->\n(.*)<!-- end of findings -->", text, re.DOTALL)
    assert match is not None
    assert match[1] == findings.markdown()


def test_every_option_is_on_the_page() -> None:
    usage = PAGE.read_text(encoding="utf-8").split("| old | new |")[0]
    options = {word for action in make_parser()._actions for word in action.option_strings if word.startswith("--")}
    assert {
        word for word in options - {"--help", "--filename", "--recursive", "--output"} if word not in usage
    } == set()
