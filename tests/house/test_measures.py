"""What the architecture is measured with sees what it should: each measure on a few lines of its own."""

from pathlib import Path
from textwrap import dedent

import pytest

from tests.house import measures


@pytest.fixture
def source(tmp_path: Path) -> str:
    """The path of a small module with one of everything."""
    path = tmp_path / "module.py"
    path.write_text(
        dedent(
            '''\
            """Says what it is for."""
            import contextlib
            import builtins

            LIMIT: int = 3  # noqa: N816
            SIZE = 4  # noqa: N816 - the name is theirs
            text = ""  # type: ignore
            count = 0  # type: ignore[misc]  # the stub is wrong

            class Thing:
                def method(self, first, second, *, third):
                    self.kept = first
                    try:
                        return second
                    except (ValueError, Exception):
                        return third

            async def other():
                with contextlib.suppress(BaseException):
                    route("/things/", other, name="things")
                try:
                    pass
                except ValueError:
                    pass
                except builtins.Exception:
                    pass
                except:
                    pass
            '''
        )
    )
    return str(path)


def test_broad_excepts_are_found_in_all_their_forms(source: str) -> None:
    assert sorted(int(line.split(":")[1]) for line in measures.broad_excepts(source)) == [15, 19, 25, 27]


def test_a_switch_needs_a_code_and_a_reason(source: str) -> None:
    assert [line.split(" ", 1)[1] for line in measures.unreasoned(source)] == ["# noqa: N816", "# type: ignore"]


def test_functions_tell_their_size_and_what_is_given_by_position(source: str) -> None:
    seen = [(f.name, f.lines, list(f.parameters)) for f in measures.functions([source])]
    assert sorted(seen) == [("method", 6, ["first", "second"]), ("other", 11, [])]


def test_defined_names_are_ours_and_used_ones_are_not(source: str) -> None:
    names = {name for _, name in measures.defined_names(source)}
    assert names == {
        "LIMIT",
        "SIZE",
        "Thing",
        "count",
        "first",
        "kept",
        "method",
        "other",
        "second",
        "self",
        "text",
        "third",
    }


@pytest.mark.parametrize(
    ("line", "types"),
    [
        ("class Kind(StrEnum): ...", (("Kind", ""),)),
        ('Kind = Literal["pool", "claim"]', (("Kind", "Literal['pool', 'claim']"),)),
        ("Kind: TypeAlias = Pool | Claim", (("Kind", "Pool | Claim"),)),
        ("State = Scan.State", (("State", "Scan.State"),)),
        ('T = TypeVar("T")', ()),
        ("KINDS = {}[name]", ()),
        ("Pool(name).kind = kinds[0]", ()),
    ],
)
def test_types_are_classes_and_aliases(line: str, types: tuple[tuple[str, str], ...], tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(line + "\n")
    assert measures.top_types(str(path)) == types


def test_constants_of_named_calls_are_found(source: str) -> None:
    assert list(measures.called_with(source, {"route"})) == [(20, "/things/"), (20, "things")]


def test_lines_are_matched_and_counted(source: str) -> None:
    assert measures.matches([source], "^LIM") == [f"{source}:5: LIMIT: int = 3  # noqa: N816"]
    assert (measures.line_count(source), measures.docstring(source)) == (28, "Says what it is for.")


def test_modules_of_a_package_start_with_the_package() -> None:
    found = measures.modules("migrations_app.checks")
    assert found[0] == "migrations_app.checks"
    assert "migrations_app.checks.runner" in found
    assert measures.modules("migrations_app.errors") == ["migrations_app.errors"]


def test_files_are_the_projects_own() -> None:
    assert {"pyproject.toml", "tests/house/test_measures.py"} <= set(measures.files())
    assert [path for path in measures.files() if path.startswith((".venv/", "var/"))] == []
