"""The house rules, measured: layers, purity, sizes, names, and what never stands in a tracked file."""

import re
import statistics
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house import measures
from tests.house.measures import ROOT

# Each reads the whole source: one worker reads it for all of them.
pytestmark = pytest.mark.xdist_group("architecture")
PURE = ("errors", "redaction", "manifests", "karpenter", "iam", "conversion", "inventory", "checks",
  "actions", "simulator", "readiness", "access", "journeys", "campaigns")  # fmt: skip
PURE_NEVER = ("django", "rest_framework", "celery", "kubernetes", "boto3", "botocore", "redis", "requests", "urllib3")
ON_CLUSTERS = ("clients", "twin", "collect", "execution", "rehearsals")
LIGHT_COMMANDS = ("migrations_app.cli.convert", "migrations_app.cli.iam")
LIGHT_NEVER = ("django", "celery", "kubernetes", "boto3", "botocore")
BROAD_EXCEPTS_AT = ("migrations_app/checks/runner.py", "migrations_app/tasks.py")
# REST framework and drf-spectacular, by place or by the names that they choose.
CALLED_BY_THE_FRAMEWORK = {"parse", "permission_denied", "select_renderer", "select_parser", "completed"}
TESTS_REACHED = 0.8  # the aim is 1.4; raise this as the tests catch up, never lower it
EMPTY_WORDS = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "handler", "handlers", "data", "info"}
DOMAIN_WORDS = {"Manager"}  # who looks after an object
EMPTY_ENDINGS = ("Util", "Utils", "Helper", "Helpers", "Misc", "Handler", "Data", "Info", "Manager")
TAKEN_WORD = "migrat"  # the word is Django's
BARE_LIMIT = re.compile(r"_?(MOST(_.*)?|LONGEST|SHORTEST|LARGEST|DEEPEST|FEWEST|LEAST|AT_ONCE|SECONDS)")
GIVEN_NAMES = (" migrations_app", " MigrationsAppConfig")  # the folder's, and what Django calls its AppConfig
MODULES_OF_A_FOLDER = 18
FOLDERS_OF_THAT_NAME = ("migrations_app", "migrations")
NAMING_CALLS = {"path", "re_path", "register", "shared_task", "task", "Field"}


def listed(found: list[str]) -> str:
    """The finds, one a line, for the message of a failure."""
    return "\n" + "\n".join(found)


def lines_over(paths: list[str], most: int) -> list[str]:
    return [f"{path}: {size} lines" for path in paths if (size := measures.line_count(path)) > most]


def functions_over(found: list[measures.Function], most: int) -> list[str]:
    return [f"{function.where}: {function.lines} lines" for function in found if function.lines > most]


def in_catalogue(of: str) -> list[str]:
    return [path for path in measures.product() if path.startswith(f"migrations_app/{of}/catalogue/")]


def test_imports_only_go_down() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr


IMPORT_EACH = """
import importlib, sys
never = sys.argv[1].split(",")
for name in sys.argv[2:]:
    importlib.import_module(name)
    loaded = [top for top in never if top in sys.modules]
    if loaded:
        sys.exit(f"import {name} loads {', '.join(loaded)}")
"""


def import_fresh(modules: list[str], never: tuple[str, ...]) -> str:
    """What a fresh interpreter complains of when it imports the modules one by one; empty when nothing."""
    command = [sys.executable, "-c", IMPORT_EACH, ",".join(never), *modules]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stderr


@pytest.mark.parametrize("package", PURE)
def test_the_deciding_half_imports_without_django_and_network(package: str) -> None:
    modules = measures.modules(f"migrations_app.{package}")
    assert import_fresh(["migrations_app", *modules], PURE_NEVER) == ""


@pytest.mark.parametrize("package", ON_CLUSTERS)
def test_what_reaches_clusters_imports_without_django(package: str) -> None:
    modules = measures.modules(f"migrations_app.{package}")
    assert len(modules) > 1
    assert import_fresh(["migrations_app", *modules], ("django", "rest_framework", "celery")) == ""


@pytest.mark.parametrize("command", LIGHT_COMMANDS)
def test_the_light_commands_load_neither_django_nor_an_sdk(command: str) -> None:
    assert import_fresh([command], LIGHT_NEVER) == ""


def test_the_fresh_interpreter_notices() -> None:
    assert "import json loads json" in import_fresh(["json"], ("json",))
    assert "No module named 'no_such'" in import_fresh(["no_such"], ("json",))


def test_no_function_is_over_60_lines() -> None:
    found = functions_over(measures.functions(measures.product()), 60)
    assert found == [], f"say it in smaller steps:{listed(found)}"


def test_half_of_the_functions_have_at_most_10_lines_and_nine_in_ten_30() -> None:
    sizes = [function.lines for function in measures.functions(measures.product())]
    deciles = statistics.quantiles(sizes, n=10, method="inclusive")
    assert (deciles[4] <= 10, deciles[8] <= 30) == (True, True), f"median {deciles[4]}, nine in ten {deciles[8]}"


def test_no_module_is_over_400_lines() -> None:
    found = lines_over(measures.python(*measures.PRODUCT, "tests"), 400)
    assert found == [], f"split these:{listed(found)}"


def test_half_of_the_modules_have_at_most_104_lines() -> None:
    sizes = [size for path in measures.product() if (size := measures.line_count(path)) > 1]
    assert statistics.median(sizes) <= 104


def test_no_check_is_over_80_lines() -> None:
    found = lines_over(in_catalogue("checks"), 80)
    assert found == [], f"a check asks one question; move what it knows to karpenter/ or inventory/:{listed(found)}"


def test_no_action_is_over_150_lines() -> None:
    found = lines_over(in_catalogue("actions"), 150)
    assert found == [], f"an action only lists changes:{listed(found)}"


def test_no_view_or_endpoint_is_over_25_lines() -> None:
    doors = [path for path in measures.product() if path.startswith(("migrations_app/web/", "migrations_app/api/"))]
    views = [function for function in measures.functions(doors) if function.parameters[:1] == ("request",)]
    found = functions_over(views, 25)
    assert found == [], f"what they do belongs to use_cases or queries:{listed(found)}"


def test_more_than_two_parameters_are_given_by_name() -> None:
    ours = [function for function in measures.functions(measures.product()) if not is_overriding(function)]
    # One that begins with an underscore is there because somebody else gives it, by its place.
    found = [f"{f.where}({', '.join(f.parameters)})" for f in ours if sum(p[:1] != "_" for p in f.parameters) > 2]
    assert found == [], f"put a * before the third at the latest:{listed(found)}"


def is_overriding(function: measures.Function) -> bool:
    """Whether the parameters are given by somebody else: @override, a special method, one that a frame calls."""
    name = function.name
    return (
        "override" in function.decorators
        or name in CALLED_BY_THE_FRAMEWORK
        or (name.startswith("__") and name.endswith("__") and name != "__init__")
    )


def test_a_test_has_12_lines_in_the_median() -> None:
    tests = [f for f in measures.functions(measures.python("tests")) if f.name.startswith("test_")]
    assert statistics.median(function.lines for function in tests) <= 12


def test_the_tests_do_not_fall_behind_the_source() -> None:
    source = sum(map(measures.line_count, measures.product()))
    tests = sum(map(measures.line_count, measures.python("tests")))
    reached = tests / source
    assert reached >= TESTS_REACHED, f"{tests} lines of tests for {source} lines of source: {reached:.2f}"


def test_everything_is_caught_only_where_a_crash_is_a_result() -> None:
    found = [line for path in measures.product() for line in measures.broad_excepts(path)]
    elsewhere = [line for line in found if line.split(":")[0] not in BROAD_EXCEPTS_AT]
    assert elsewhere == [], f"name what can be raised:{listed(elsewhere)}"
    assert len(found) <= len(BROAD_EXCEPTS_AT), f"one at each place:{listed(found)}"


def test_a_switched_off_checker_has_its_reason_beside_it() -> None:
    found = [line for path in measures.python(*measures.PRODUCT, "tests") for line in measures.unreasoned(path)]
    assert found == [], f"name the rule, and why it does not hold here:{listed(found)}"


def test_an_ignored_import_has_its_reason_beside_it() -> None:
    block = re.compile(r"^ignore_imports\s*=\s*\[(.*?)^\]", re.DOTALL | re.MULTILINE)
    lines = [line.strip() for found in block.findall(measures.text("pyproject.toml")) for line in found.splitlines()]
    assert [line for line in lines if line and "#" not in line] == []


def test_no_module_is_named_by_an_empty_word() -> None:
    parts = [(path, part) for path in measures.product() for part in path.removesuffix(".py").split("/")]
    found = sorted({path for path, part in parts if part in EMPTY_WORDS})
    assert found == [], f"say what is in it:{listed(found)}"


def test_no_class_is_named_by_an_empty_word() -> None:
    names = [(f"{path}:{line}", name) for path in measures.product() for line, name in measures.defined_names(path)]
    found = [f"{where} {name}" for where, name in names if name.endswith(EMPTY_ENDINGS) and name not in DOMAIN_WORDS]
    assert found == [], f"say what it does:{listed(found)}"


def test_no_limit_is_named_by_a_superlative_alone() -> None:
    names = [(f"{path}:{line}", name) for path in measures.product() for line, name in measures.defined_names(path)]
    found = [f"{where} {name}" for where, name in names if BARE_LIMIT.fullmatch(name)]
    assert found == [], f"say what is limited, and the unit (MAX_NAMES, STOP_SECONDS):{listed(found)}"


def test_no_folder_has_over_18_modules() -> None:
    modules = Counter(path.rpartition("/")[0] for path in measures.product() if not path.endswith("/__init__.py"))
    found = [f"{folder}: {count} modules" for folder, count in modules.items() if count > MODULES_OF_A_FOLDER]
    assert found == [], f"a folder that is read in one look; make rooms by subject:{listed(found)}"
    assert len(modules) > 40


JSON_MAPS = {"Body", "Document", "Spec", "Strings", "Tree"}
"""Aliases of JSON maps beside `manifests.JsonMap`: maps that a module only reads, or a part of an object."""
ANY_MAP = {f"{kind}[str, {value}]" for kind in ("dict", "Mapping") for value in ("Any", "str")}


def test_no_name_of_a_type_has_two_meanings() -> None:
    places: dict[str, list[str]] = {}
    for path in measures.product():
        if path.startswith("migrations_app/"):
            for name, stands_for in measures.top_types(path):
                if name not in JSON_MAPS or stands_for not in ANY_MAP:
                    places.setdefault(name, []).append(path)
    found = [f"{name}: {', '.join(paths)}" for name, paths in places.items() if len(paths) > 1]
    assert found == [], f"one name, one meaning:{listed(found)}"
    assert len(places) > 900


def test_the_layer_flow_is_use_cases() -> None:
    assert [path for path in measures.files() if "flow" in path.split("/")[:-1]] == []
    written = [path for path in measures.files() if path.endswith((".py", ".toml", ".md", ".yaml", ".yml"))]
    assert measures.matches(written, r"\bmigrations_app[./]flo[w]\b") == []


def test_the_word_that_is_djangos_names_nothing_of_ours() -> None:
    paths = [path for path in measures.files() if path.split("/")[0] in (*measures.PRODUCT, "templates", "static")]
    named = [
        path for path in paths if TAKEN_WORD in "/".join(p for p in path.split("/") if p not in FOLDERS_OF_THAT_NAME)
    ]
    for path in measures.product():
        words = [*measures.defined_names(path), *measures.called_with(path, NAMING_CALLS)]
        named += [f"{path}:{line} {word}" for line, word in words if TAKEN_WORD in str(word).lower()]
    ours = [line for line in named if not line.endswith(GIVEN_NAMES)]
    assert ours == [], f"hop, conversion, readiness or rollout:{listed(ours)}"


def test_the_app_keeps_its_label_and_its_schema_folder() -> None:
    assert measures.matches(measures.product(), "MIGRATION_MODULES") == []
    labels = measures.matches(["migrations_app/apps.py"], r"^\s*label\s*=")
    assert [line for line in labels if '"migrations_app"' not in line] == []


def test_tests_are_collected_from_files_named_test() -> None:
    files = {function.path for function in top_level_tests()}
    found = sorted(path for path in files if not Path(path).name.startswith("test_"))
    assert found == [], f"pytest never sees these:{listed(found)}"
    assert [path for path in measures.files() if path.endswith("_test.py")] == []


def top_level_tests() -> list[measures.Function]:
    found = measures.functions(measures.python(*measures.PRODUCT, "tests"))
    return [f for f in found if f.outermost and f.name.startswith("test_")]


def test_no_two_tests_of_a_file_share_a_name() -> None:
    names = Counter(f"{function.path} {function.name}" for function in top_level_tests())
    assert sorted(name for name, count in names.items() if count > 1) == []


def test_every_check_and_action_has_its_own_tests() -> None:
    members = [path for of in ("checks", "actions") for path in in_catalogue(of) if not path.endswith("__init__.py")]
    wanted = [(path.split("/")[1], f"test_{path.rsplit('/', 1)[1]}") for path in members]
    there = {(path.split("/")[1], path.rsplit("/", 1)[1]) for path in measures.files() if path.startswith("tests/")}
    assert sorted(set(wanted) - there) == []


def test_every_module_says_what_it_is_for() -> None:
    silent = [path for path in measures.product() if not measures.docstring(path)]
    assert silent == []


def test_nothing_is_left_for_later() -> None:
    words = "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "NotImplemented" + "Error"))
    found = measures.matches(measures.python(*measures.PRODUCT, "tests"), rf"\b({words})\b")
    assert found == [], f"do it, or file it:{listed(found)}"


def test_no_file_names_a_package_registry() -> None:
    hosts = r"\b(pypi|pythonhosted|npmjs|pkg|debian|ubuntu|golang|crates|docker|quay|ghcr)\.(org|com|dev|net|io)\b"
    found = measures.matches([path for path in measures.files() if path != "LICENSE"], hosts)
    assert found == [], f"machines say where packages come from:{listed(found)}"


def test_no_file_names_a_path_of_the_machine_it_was_written_on() -> None:
    # What lies in deploy/ speaks of the inside of a container.
    files = [path for path in measures.files() if not path.startswith("deploy/")]
    found = measures.matches(files, r"""(^|[\s"'(=`:])/(w[o]rk|t[m]p|r[o]ot|home/\w+)/[\w.]""")
    assert found == []


ABOVE = re.compile(r"\.parents\[(\d+)\](\.parent\b)?|__file__\)(?:\.resolve\(\))?((?:\.parent\b)+)|\bROOT\.(parent)\b")


def looks_above(path: str, line: str) -> bool:
    """Whether a test at that path, in that line, goes to a folder above the checkout."""
    for found in ABOVE.finditer(line):
        index, parent, parents, of_root = found.groups()
        steps = int(index) + bool(parent) if index else parents.count(".parent") - 1 if parents else 0
        if of_root or steps > path.count("/"):
            return True
    return False


def test_no_test_looks_outside_of_the_checkout() -> None:
    lines = [(path, line) for path in measures.python("tests") for line in measures.text(path).splitlines()]
    found = [f"{path}: {line.strip()}" for path, line in lines if looks_above(path, line)]
    assert found == [], f"what a test compares with lies in tests/upstream:{listed(found)}"
    beside = measures.matches(measures.python("tests"), r"""["']sha[r]ed["']\s*/|/\s*["']sha[r]ed["']|\bsha[r]ed/""")
    assert beside == [], f"the folder of that name is in no clone:{listed(beside)}"


def test_no_test_is_skipped_for_want_of_a_file() -> None:
    found = measures.matches(measures.python("tests"), r"skipif\(\s*not .*\.(exists|is_dir|is_file)\(")
    assert found == [], f"let it fail:{listed(found)}"


HERE, UP = "Path(__file__)", "parents"  # apart, or these lines would be finds themselves


@pytest.mark.parametrize(
    ("line", "above"),
    [
        (f"{HERE}.resolve().{UP}[2]", False),
        (f"{HERE}.resolve().{UP}[3]", True),
        (f"{HERE}.{UP}[2].parent", True),
        (f"{HERE}.parent.parent.parent", False),
        (f"{HERE}.resolve().parent.parent.parent.parent", True),
        ("ROOT" + ".parent / name", True),
        ("path.parent", False),
    ],
)
def test_a_look_above_the_checkout_is_noticed(line: str, *, above: bool) -> None:
    assert looks_above("tests/karpenter/test_one.py", line) == above


def templates() -> list[str]:
    return [path for path in measures.files() if path.endswith((".html", ".svg")) and not path.startswith("tests/")]


@pytest.mark.parametrize(
    ("what", "pattern"),
    [
        ("escaping is switched off", r"\|\s*safe(seq)?\b|autoescape\s+off"),
        ("a style attribute, which the content security policy refuses", r"<[^>]*\sstyle\s*="),
        ("an inline script, which the content security policy refuses", r"<script(?![^>]*\ssrc=)[^>]*>"),
        ("an inline style sheet", r"<style\b"),
        ("a script in an attribute", r"<[^>]*\son[a-z]+\s*=|^\s*on[a-z]+\s*=\s*[\"']|javascript:"),
        ("an asset of another machine", r"""(src|href)\s*=\s*["']?(https?:)?//"""),
    ],
)
def test_templates_hold_nothing_that_runs(what: str, pattern: str) -> None:
    found = [line for line in measures.matches(templates(), pattern, re.IGNORECASE) if "xmlns" not in line]
    assert found == [], f"{what}:{listed(found)}"


def test_no_line_of_a_template_is_over_120_characters() -> None:
    pages = [path for path in templates() if path.endswith(".html")]
    assert len(pages) > 100
    assert measures.matches(pages, r"^.{121}") == []


def test_our_scripts_write_no_markup() -> None:
    ours = [path for path in measures.files() if path.startswith("static/") and path.endswith(".js")]
    ours = [path for path in ours if not re.search(r"\d", Path(path).name)]  # third-party files carry their version
    found = measures.matches(ours, r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function")
    assert found == [], f"use textContent and elements:{listed(found)}"


def test_the_locks_hold_what_the_project_asks_for() -> None:
    project = tomllib.loads(measures.text("pyproject.toml"))
    extras = [line for lines in project["project"]["optional-dependencies"].values() for line in lines]
    wanted = {"run": [*project["build-system"]["requires"], *project["project"]["dependencies"], *extras]}
    wanted["dev"] = [*wanted["run"], *project["dependency-groups"]["dev"]]
    for name, requirements in wanted.items():
        pins = dict(re.findall(r"^([\w.-]+)==(\S+)", measures.text(f"locks/{name}.txt"), re.MULTILINE))
        missed = [line for line in requirements if not is_met(Requirement(line), pins)]
        assert missed == [], f"make lock: locks/{name}.txt does not meet{listed(missed)}"


def is_met(requirement: Requirement, pins: dict[str, str]) -> bool:
    pin = pins.get(canonicalize_name(requirement.name))
    return pin is not None and requirement.specifier.contains(pin)
