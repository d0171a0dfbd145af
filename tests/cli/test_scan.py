import json
import tarfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import jsonschema
import pytest

from migrations_app.readiness.outputs.json_schema import scan_schema
from migrations_app.samples import fleet
from tests.builders.newest import NEWEST_MINOR
from tests.cli.conftest import Karpdash
from tests.samples.expected import EXPECTED

Bundle = Callable[[str], Path]


def without_aws(verdicts):
    """What a bundle alone tells: with AWS not looked at, no hop ahead is plainly ready."""
    return {hop: "ready_with_warnings" if told == "ready" else told for hop, told in verdicts.items()}


@pytest.mark.parametrize("story", [story.name for story in fleet.stories()])
def test_every_story_gives_json_of_the_published_schema(karpdash: Karpdash, bundle: Bundle, story: str) -> None:
    said = karpdash("scan", "--bundle", bundle(story), "-o", "json")
    jsonschema.validate(said.json, scan_schema())
    assert {hop["hop"]: hop["verdict"] for hop in said.json["hops"]} == without_aws(EXPECTED[story].verdicts)
    assert said.err == ""


@pytest.mark.parametrize(
    ("story", "words", "code"),
    [
        ("v1_newest", (), 0),
        ("no_karpenter", (), 0),
        ("alpha_030", (), 1),
        ("alpha_030", ("--fail-on", "never"), 0),
        ("alpha_030", ("--to", "0.31"), 0),
        ("alpha_030", ("--to", "0.31", "--fail-on", "warning"), 1),
        ("v1_13", ("--fail-on", "warning"), 1),
        ("forbidden", ("--to", "1.0"), 3),
        ("forbidden", ("--to", "1.0", "--fail-on", "never"), 3),
        ("beta_037", ("--to", "1.0"), 0),
        ("beta_037", ("--to", "1.0", "--strict"), 3),
    ],
)
def test_the_exit_code(karpdash: Karpdash, bundle: Bundle, story: str, words: tuple[str, ...], code: int) -> None:
    assert karpdash("scan", "--bundle", bundle(story), *words).code == code


def test_without_a_terminal_there_is_neither_colour_nor_progress(karpdash: Karpdash, bundle: Bundle) -> None:
    said = karpdash("scan", "--bundle", bundle("alpha_030"))
    assert said.out.splitlines()[0] == "Cluster     alpha_030"
    assert ("\x1b" in said.out, said.err) == (False, "")


def test_junit_is_xml_with_a_suite_a_hop(karpdash: Karpdash, bundle: Bundle) -> None:
    root = ET.fromstring(karpdash("scan", "--bundle", bundle("beta_037"), "-o", "junit").out)
    assert [suite.attrib["name"] for suite in root] == [
        "beta_037 0.33+", "beta_037 1.0", "beta_037 1.1+", f"beta_037 {NEWEST_MINOR}",
    ]  # fmt: skip


def test_sarif_carries_the_version(karpdash: Karpdash, bundle: Bundle) -> None:
    driver = karpdash("scan", "--bundle", bundle("beta_037"), "-o", "sarif").json["runs"][0]["tool"]["driver"]
    assert (driver["name"], "semanticVersion" in driver) == ("karpdash", True)


def test_sarif_points_at_the_file_and_the_line_of_the_object(
    karpdash: Karpdash, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = fleet.find("beta_037")
    assert story is not None
    fleet.write(story, tmp_path / "dump")
    monkeypatch.chdir(tmp_path)
    lines = Path("dump/objects.json").read_text().splitlines()
    results = karpdash("scan", "--bundle", "dump", "--to", "1.0", "-o", "sarif").json["runs"][0]["results"]
    for result in results:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == "dump/objects.json"
    named = next(result for result in results if result["ruleId"] == "protected_pods_off_rolled_nodes")
    start = named["locations"][0]["physicalLocation"]["region"]["startLine"]
    assert '"name": "settlement"' in "\n".join(lines[start - 40 : start + 40])


def test_an_archive_is_pointed_at_as_a_whole(karpdash: Karpdash, bundle: Bundle, tmp_path: Path) -> None:
    packed = tmp_path / "look.tar.gz"
    with tarfile.open(packed, "w:gz") as archive:
        archive.add(bundle("beta_037"), arcname="look")
    results = karpdash("scan", "--bundle", packed, "--to", "1.0", "-o", "sarif").json["runs"][0]["results"]
    places = [result["locations"][0]["physicalLocation"] for result in results]
    assert {(each["artifactLocation"]["uri"], each["region"]["startLine"]) for each in places} == {
        (f"{tmp_path.name}/look.tar.gz", 1)
    }


def test_one_look_is_written_in_several_forms(karpdash: Karpdash, bundle: Bundle, tmp_path: Path) -> None:
    also = [word for form in ("json", "junit", "sarif") for word in ("--also", f"{form}={tmp_path / form}")]
    said = karpdash("scan", "--bundle", bundle("beta_037"), "--to", "1.0", *also)
    assert (said.code, said.out.startswith("Cluster     beta_037")) == (0, True)
    assert json.loads((tmp_path / "json").read_text())["cluster"]["name"] == "beta_037"
    assert json.loads((tmp_path / "sarif").read_text())["version"] == "2.1.0"
    assert (tmp_path / "junit").read_text().startswith("<?xml")


@pytest.mark.parametrize("also", ["sarif", "pdf=x", "sarif=", "junit=no/such/folder/x"])
def test_a_form_that_cannot_be_written_is_wrong_usage(karpdash: Karpdash, bundle: Bundle, also: str) -> None:
    assert karpdash("scan", "--bundle", bundle("beta_037"), "--also", also).code == 2


def test_a_form_on_a_full_disk_has_its_own_exit_code(karpdash: Karpdash, bundle: Bundle) -> None:
    said = karpdash("scan", "--bundle", bundle("beta_037"), "--also", "sarif=/dev/full")
    told = "karpdash scan: /dev/full: the result cannot be written: No space left on device\n"
    assert (said.code, said.out, said.err) == (74, "", told)


def test_a_bundle_comes_from_standard_input(
    karpdash: Karpdash, bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (bundle("beta_037") / "objects.json").open() as objects:
        monkeypatch.setattr("sys.stdin", objects)
        said = karpdash("scan", "--bundle", "-", "--to", "1.0", "-o", "json")
    assert (said.json["cluster"]["name"], said.json["cluster"]["karpenter_version"]) == ("stdin", "0.37.8")


def test_markdown_begins_with_the_cluster(karpdash: Karpdash, bundle: Bundle) -> None:
    assert karpdash("scan", "--bundle", bundle("beta_037"), "-o", "markdown").out.startswith(
        "# Karpenter readiness of beta\\_037\n"
    )


@pytest.mark.parametrize("target", ["9.9", "0.28", "0.33", "soon"])
def test_a_wrong_target_names_the_option(karpdash: Karpdash, bundle: Bundle, target: str) -> None:
    said = karpdash("scan", "--bundle", bundle("v1_13"), "--to", target)
    assert (said.code, said.out, said.err.startswith("karpdash scan: --to: ")) == (2, "", True)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read: No such file or directory"),
        (b"", "no Kubernetes objects found"),
        (b"a: [1\n", "line"),
        (b'{"a": ', ""),
    ],
)
def test_a_bundle_that_cannot_be_read_is_named(
    karpdash: Karpdash, tmp_path: Path, content: bytes | None, told: str
) -> None:
    path = tmp_path / "dump.yaml"
    if content is not None:
        path.write_bytes(content)
    said = karpdash("scan", "--bundle", path)
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith(f"karpdash scan: {path}")
    assert (said.err.count(str(path)), told in said.err) == (1, True)


def test_a_file_within_a_folder_is_named_with_it(karpdash: Karpdash, tmp_path: Path) -> None:
    (tmp_path / "objects.json").write_text('{"items": [')
    said = karpdash("scan", "--bundle", tmp_path)
    assert (said.code, said.err.startswith(f"karpdash scan: {tmp_path}: objects.json: ")) == (2, True)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("clusters: [", "kubeconfig.yaml"),
        (json.dumps({"apiVersion": "v1", "kind": "Config", "users": [{"name": "u", "user": {"exec": {}}}]}), "exec"),
        ("x" * 2_000_000, "kubeconfig.yaml"),
    ],
)
def test_a_bad_kubeconfig_names_file_and_field(karpdash: Karpdash, tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "kubeconfig.yaml"
    path.write_text(text)
    said = karpdash("scan", "--kubeconfig", path)
    assert (said.code, said.out, str(path) in said.err, told in said.err) == (2, "", True, True)


def test_a_kubeconfig_that_is_not_there(karpdash: Karpdash, tmp_path: Path) -> None:
    path = tmp_path / "none"
    said = karpdash("scan", "--kubeconfig", path)
    assert (said.code, said.err) == (2, f"karpdash scan: {path}: cannot be read: No such file or directory\n")


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--bundle", "a", "--kubeconfig", "b"),
        ("--bundle", "a", "-o", "xml"),
        ("--bundle", "a", "--fail-on", "info"),
        ("--bundle", "a", "--context", "c"),
    ],
)
def test_wrong_usage(karpdash: Karpdash, words: tuple[str, ...]) -> None:
    said = karpdash("scan", *words)
    assert (said.code, said.out, said.err != "") == (2, "", True)


def test_a_hostile_name_of_a_bundle_stays_text(karpdash: Karpdash, bundle: Bundle, tmp_path: Path) -> None:
    hostile = tmp_path / "a\x1b[31m\udce4b"
    bundle("v1_newest").rename(hostile)
    said = karpdash("scan", "--bundle", hostile)
    assert (said.code, said.out.splitlines()[0]) == (0, r"Cluster     a\x1b[31m?b")


@pytest.mark.parametrize("option", ["--bundle", "--cluster", "--kubeconfig", "--to"])
def test_of_two_sources_none_is_passed_over(karpdash: Karpdash, bundle: Bundle, option: str) -> None:
    twice = [option, "1.0", option, "1.0"]
    said = karpdash("scan", *(["--bundle", bundle("beta_037")] if option == "--to" else []), *twice)
    assert (said.code, said.out, f"argument {option}: given more than once" in said.err) == (2, "", True)


def test_a_dash_is_no_file_to_write(karpdash: Karpdash, bundle: Bundle) -> None:
    scanned = karpdash("scan", "--bundle", bundle("beta_037"), "--also", "json=-")
    for said in (scanned, karpdash("bundle", "--kubeconfig", "x", "-o", "-")):
        assert (said.code, said.out, "- is standard output, and a file is wanted here" in said.err) == (2, "", True)
