from collections.abc import Callable
from pathlib import Path

from tests.cli.conftest import Karpdash

Bundle = Callable[[str], Path]


def test_the_path_of_an_alpha_cluster_hop_by_hop(karpdash: Karpdash, bundle: Bundle) -> None:
    said = karpdash("plan", "--bundle", bundle("alpha_030"), "--to", "1.0", "--print", "-o", "json")
    assert (said.code, said.json["schema"], said.json["target"]) == (0, "karpdash/plan/v1", "1.0.14")
    assert [(hop["lands"]["hop"], hop["lands"]["release"]) for hop in said.json["hops"]] == [
        ("0.31", "0.31.5"), ("0.32", "0.32.10"), ("0.33+", "0.37.8"), ("1.0", "1.0.14"),
    ]  # fmt: skip
    open_steps = [step["status"] for hop in said.json["hops"] for step in hop["steps"]]
    assert set(open_steps) <= {"fail", "unknown", "manual"}


def test_the_table_and_the_markdown_name_each_landing(karpdash: Karpdash, bundle: Bundle) -> None:
    table = karpdash("plan", "--bundle", bundle("beta_037"), "--to", "1.0").out
    assert "1. Hop 1.0 -> 1.0.14  READY WITH WARNINGS" in table
    markdown = karpdash("plan", "--bundle", bundle("beta_037"), "--to", "1.0", "-o", "markdown").out
    assert "## 1. Hop 1.0: land on 1.0.14\n" in markdown


def test_nothing_to_plan_where_nothing_is_installed(karpdash: Karpdash, bundle: Bundle) -> None:
    said = karpdash("plan", "--bundle", bundle("no_karpenter"))
    assert (said.code, said.err) == (0, "no Karpenter is installed, so there is no path\n")


def test_a_path_that_cannot_be_told_is_not_having_looked(karpdash: Karpdash, tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {}\n")
    said = karpdash("plan", "--bundle", path)
    assert (said.code, said.err.splitlines()[-1][:33]) == (3, "the running release could not be ")
