import json
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # its stubs are not among the locked packages

from migrations_app.readiness.outputs.json_schema import typed_plan_schema
from tests.cli.conftest import Karpdash

VALIDATOR = jsonschema.Draft202012Validator
Bundle = Callable[[str], Path]


def test_the_path_of_an_alpha_cluster_hop_by_hop(karpdash: Karpdash, bundle: Bundle) -> None:
    said = karpdash("plan", "--bundle", bundle("alpha_030"), "--to", "1.0", "--print", "-o", "json")
    assert (said.code, said.json["schema"], said.json["target"]) == (0, "karpdash/plan/v2", "1.0.14")
    assert [(hop["lands"]["hop"], hop["lands"]["release"]) for hop in said.json["hops"]] == [
        ("0.31", "0.31.5"), ("0.32", "0.32.10"), ("0.33+", "0.37.8"), ("1.0", "1.0.14"),
    ]  # fmt: skip
    open_steps = [step["status"] for hop in said.json["hops"] for step in hop["steps"]]
    assert set(open_steps) <= {"fail", "unknown", "manual"}


def test_the_table_and_the_markdown_name_each_landing(karpdash: Karpdash, bundle: Bundle) -> None:
    table = karpdash("plan", "--bundle", bundle("beta_037"), "--to", "1.0").out
    assert "1. Hop 1.0 -> 1.0.14  READY WITH WARNINGS" in table
    markdown = karpdash("plan", "--bundle", bundle("beta_037"), "--to", "1.0", "-o", "markdown").out
    assert "## 1. Hop 1.0: upgrade to 1.0.14\n" in markdown


def test_nothing_to_plan_where_nothing_is_installed(karpdash: Karpdash, bundle: Bundle) -> None:
    said = karpdash("plan", "--bundle", bundle("no_karpenter"))
    assert (said.code, said.err) == (0, "no Karpenter is installed, so there is no path\n")


def test_a_path_that_cannot_be_told_is_not_having_looked(karpdash: Karpdash, tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {}\n")
    said = karpdash("plan", "--bundle", path)
    assert (said.code, said.err.splitlines()[-1][:33]) == (3, "the running release could not be ")


def test_a_folder_takes_the_plan_and_its_long_commands(karpdash: Karpdash, bundle: Bundle, tmp_path: Path) -> None:
    out = tmp_path / "runbook"
    said = karpdash("plan", "--bundle", bundle("alpha_030"), "-o", f"{out}/")
    assert (said.code, said.out) == (0, "")
    plan = (out / "plan.md").read_text()
    files = {one.name for one in out.iterdir()} - {"plan.md"}
    assert files
    assert all(f"`{name}`" in plan for name in files)
    again = karpdash("plan", "--bundle", bundle("alpha_030"), "-o", f"{out}/")
    assert (again.code, "cannot be written" in again.err, (out / "plan.md").read_text()) == (2, True, plan)


def test_a_format_that_is_none_is_wrong_usage(karpdash: Karpdash, bundle: Bundle) -> None:
    said = karpdash("plan", "--bundle", bundle("beta_037"), "-o", "yaml")
    assert (said.code, "no folder such as yaml/" in said.err) == (2, True)


def test_a_usual_hop_is_read_in_ten_minutes(karpdash: Karpdash, bundle: Bundle) -> None:
    """At most 120 lines a hop, and 15 for a step; what is longer stands below the hops."""
    sizes = []
    for name in ("alpha_030", "beta_037", "halfway_032", "old_settings", "v1_13"):
        body = karpdash("plan", "--bundle", bundle(name)).out.split("\nFile ")[0]
        hops = body.split("\n\n")[1:]
        sizes += [len(hop.splitlines()) for hop in hops]
        things = [thing for hop in hops for thing in re.split(r"\n   \d+\.\d+ ", hop)[1:]]
        assert [thing for thing in things if len(thing.splitlines()) > 15] == []
    assert max(sizes) <= 120


def test_the_json_has_typed_changes_and_version_1_on_request(karpdash: Karpdash, bundle: Bundle) -> None:
    VALIDATOR.check_schema(typed_plan_schema())
    changes = set()
    for name in ("alpha_030", "halfway_032", "old_settings", "v1_beta_stored"):
        plan = karpdash("plan", "--bundle", bundle(name), "-o", "json").json
        VALIDATOR(typed_plan_schema()).validate(plan)
        fixes = [fix for hop in plan["hops"] for step in hop["steps"] for fix in step["remedies"]]
        changes |= {fix["change"]["type"] for fix in fixes if "change" in fix}
        old = karpdash("plan", "--bundle", bundle(name), "-o", "json", "--schema", "1").json
        assert (old["schema"], "change" in str(old["hops"][0]["steps"][0]["remedies"])) == ("karpdash/plan/v1", False)
        assert [hop["lands"] for hop in old["hops"]] == [hop["lands"] for hop in plan["hops"]]
    assert changes >= {"group", "helm"}


def test_the_published_schema_is_that_of_the_code() -> None:
    published = Path(__file__).parents[2] / "docs/schema/plan-v2.json"
    assert published.read_text() == json.dumps(typed_plan_schema(), indent=2) + "\n"
