"""A fifth of a fleet hangs, and every cluster that is well is scanned in every interval all the same (R20)."""

import pytest

from tests.bench.fleet_scene import Size, scene, wait_until_all_were_scanned

SIZE = Size(clusters=20, hanging=4, interval=30)
FAILED = """
    SELECT DISTINCT c.name LIKE 'hang%', s.error_code FROM migrations_app_scan s
    JOIN migrations_app_cluster c ON c.id = s.cluster_id WHERE s.state = 'failed'
"""
DOUBLED = """
    SELECT count(*) FROM (SELECT cluster_id, due_at FROM migrations_app_scan GROUP BY 1, 2 HAVING count(*) > 1) doubled
"""
DOWN = "SELECT count(*) FROM migrations_app_cluster WHERE name LIKE 'hang%' AND failures > 0 AND latest_id IS NULL"


@pytest.mark.postgres
@pytest.mark.redis
@pytest.mark.timeout(2400)
def test_twenty_clusters_of_which_four_hang() -> None:
    with scene(SIZE) as made:
        wait_until_all_were_scanned(made, times=2, seconds=120)
        assert made.rows(FAILED) == [(True, "timeout")]
        assert made.one(DOWN) == SIZE.hanging
        assert made.one(DOUBLED) == 0
