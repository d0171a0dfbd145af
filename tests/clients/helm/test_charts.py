"""The CRDs of a chart are read from a packed file or a folder; templates, links and bombs are not (T04, T05)."""

import json

import pytest

from migrations_app.clients.helm import charts
from migrations_app.clients.helm.charts import from_archive, from_folder
from migrations_app.errors import InvalidInput
from tests.clients import archives

ABOUT = b"name: karpenter\nversion: 1.0.9\nappVersion: 1.0.9\n"
CRD = b"---\nkind: CustomResourceDefinition\nmetadata:\n  name: x\n---\n"
READ = {
    "Chart.yaml": {"name": "karpenter", "version": "1.0.9", "appVersion": "1.0.9"},
    "crds/x.yaml": [{"kind": "CustomResourceDefinition", "metadata": {"name": "x"}}],
}
WHOLE = {"Chart.yaml": ABOUT, "crds/x.yaml": CRD, "templates/deployment.yaml": b"a: {{ .x }}", "values.yaml": b"a: &a"}


def packed(files, top="karpenter/"):
    return archives.of({top + name: body for name, body in files.items()})


def folder(place, files):
    for name, body in files.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(body)


def read(found):
    return {name: json.loads(body) for name, body in found.items()}


def code(what, *args) -> str:
    with pytest.raises(InvalidInput) as caught:
        what(*args)
    return caught.value.code


def test_only_the_chart_and_its_crds_are_read():
    assert read(from_archive(packed(WHOLE))) == READ


def test_a_folder_and_a_packed_file_say_the_same(tmp_path):
    folder(tmp_path / "unpacked", WHOLE)
    (tmp_path / "karpenter-1.0.9.tgz").write_bytes(packed(WHOLE))
    assert read(from_folder(tmp_path, "unpacked")) == read(from_folder(tmp_path, "karpenter-1.0.9.tgz")) == READ


def test_a_chart_of_templates_says_which_chart_to_take():
    with pytest.raises(InvalidInput, match="use the chart karpenter") as caught:
        from_archive(packed({"Chart.yaml": ABOUT, "templates/x.yaml": b"{{ }}"}))
    assert caught.value.code == "chart_without_crds"


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({"crds/x.yaml": CRD}, "strange_chart"),
        ({"Chart.yaml": ABOUT}, "chart_without_crds"),
        ({"Chart.yaml": ABOUT, "crds/x.yaml": b"a: &x 1"}, "yaml_anchor"),
        ({"Chart.yaml": ABOUT, "crds/x.yaml": b"a: [" * 200}, "yaml_depth"),
        ({"Chart.yaml": ABOUT, "../crds/x.yaml": CRD}, "archive_name"),
    ],
)
def test_a_chart_that_cannot_be_used_is_refused(files, told):
    assert code(from_archive, packed(files)) == told


def test_a_link_in_the_archive_is_refused():
    raw = archives.packed(archives.member("karpenter/crds/x.yaml", kind=b"2", link="/etc/passwd"))
    assert code(from_archive, raw) == "archive_link"


def test_a_file_that_is_too_large_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(charts, "MAX_BYTES", 10)
    (tmp_path / "a.tgz").write_bytes(b"x" * 11)
    assert (code(from_archive, b"x" * 11), code(from_folder, tmp_path, "a.tgz")) == ("chart_too_large",) * 2


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/etc", "a..b", ".hidden", "x" * 129, "a\n"])
def test_names_that_lead_out_of_the_folder_are_refused(tmp_path, name):  # T05
    assert code(from_folder, tmp_path, name) == "bad_name"


def test_links_are_never_followed(tmp_path):
    folder(tmp_path / "outside", WHOLE)
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts" / "linked").symlink_to(tmp_path / "outside")
    folder(tmp_path / "charts" / "half", {"Chart.yaml": ABOUT, "crds/real.yaml": CRD})
    (tmp_path / "charts" / "half" / "crds" / "x.yaml").symlink_to(tmp_path / "outside" / "crds" / "x.yaml")
    assert code(from_folder, tmp_path / "charts", "linked") == "no_chart"
    assert sorted(from_folder(tmp_path / "charts", "half")) == ["Chart.yaml", "crds/real.yaml"]


def test_a_chart_that_is_not_there_is_named(tmp_path):
    assert code(from_folder, tmp_path, "karpenter-9") == "no_chart"
