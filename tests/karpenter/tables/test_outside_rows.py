from migrations_app.karpenter.metrics import outside_between, outside_search_text
from migrations_app.karpenter.releases import RELEASES
from migrations_app.karpenter.tables.outside_rows import OUTSIDE_ROWS, OutsideRow
from migrations_app.karpenter.versions import release
from tests.builders.newest import NEWEST_RELEASE, NEXT_MINOR


def test_rows_begin_to_matter_between_two_releases() -> None:
    found = outside_between("sources", release("0.37.8"), target_release=release("1.0.14"))
    assert [row.change for row in found] == ["managed-by-tag-dropped"]
    assert outside_between("sources", release("1.0.6"), target_release=release("1.0.14")) == ()


def test_a_row_of_tomorrow() -> None:
    row = OutsideRow("sources", NEXT_MINOR, "old", "scripts", "new", "of-tomorrow")
    found = outside_between(
        "sources", NEWEST_RELEASE, target_release=release(f"{NEXT_MINOR}.0"), table=(*OUTSIDE_ROWS, row)
    )
    assert [outside_search_text(one) for one in found] == ["old in scripts (now new)"]


def test_the_rows_are_sound() -> None:
    assert {row.release for row in OUTSIDE_ROWS} <= {row.minor for row in RELEASES}
    assert [row for row in OUTSIDE_ROWS if "" in row or "'" in row.search] == []
