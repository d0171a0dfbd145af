"""Two releases on one database, forward and back under load: no request fails, no scan or rollout is lost (R27)."""

import pytest

from tests.upgrades.play import playing
from tests.upgrades.releases import series

pytestmark = pytest.mark.timeout(900)
WROTE = "SELECT DISTINCT {column} FROM migrations_app_scan WHERE {column} <> '' ORDER BY {column}"


def writers(site, column):
    """The releases whose pages asked for scans."""
    return [name for (name,) in site.rows(WROTE.format(column=column))]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # each on both databases: make trust
def test_a_step_that_adds_is_rolled_forward_and_back(site, clean_apiserver, tmp_path):  # R27, R28
    first, second, _ = series(tmp_path)
    with playing(site, first, clean_apiserver) as play:
        site.schema(second)
        play.change(second, beside=False)
        play.until(lambda: writers(site, "new") == ["second"], what="a scan that the new release asked for")
        play.change(first, beside=True)
        assert play.complaints() == []
        assert writers(site, "old") == ["first"]


@pytest.mark.parametrize("database_url", ["postgres"], indirect=True)
def test_a_step_that_takes_away_is_rolled_forward_and_back(site, clean_apiserver, tmp_path):  # R27, R28
    first, second, third = series(tmp_path)
    with playing(site, second, clean_apiserver) as play:
        play.until(lambda: writers(site, "new") == ["second"], what="a scan that the old release asked for")
        site.schema(third)
        play.change(third, beside=True)
        play.until(lambda: writers(site, "new") == ["second", "third"], what="a scan that the new release asked for")
        play.change(second, beside=False)
        assert play.complaints() == []
        assert site.ended(site.start(first, worker=False, wanted=503)) == [0]
