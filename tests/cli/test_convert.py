"""`karpdash convert`: files, folders, messages, and a start without Django."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from migrations_app.cli import convert
from migrations_app.cli.convert import finding_line
from migrations_app.conversion.findings import ConversionFinding
from migrations_app.conversion.reports.report import LocatedFinding
from migrations_app.manifests.reader import MAX_BYTES

PROVISIONER = """\
# owned by web
apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {{name: {name}}}
spec: {{providerRef: {{name: z}}, ttlSecondsAfterEmpty: 30}}
"""
WRITTEN = """\
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata:
  name: web
spec:
  template:
    spec:
      nodeClassRef:
        apiVersion: karpenter.k8s.aws/v1beta1
        kind: EC2NodeClass
        name: z
      requirements: []
  disruption:
    consolidationPolicy: WhenEmpty
    consolidateAfter: "30s"
    expireAfter: Never
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("b.yaml", "a.yml", "c.json", "sub/d.yaml", "notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(PROVISIONER.format(name=path.stem), encoding="utf-8")
    (tmp_path / "c.json").write_text(
        json.dumps(
            {
                "apiVersion": "karpenter.sh/v1alpha5",
                "kind": "Provisioner",
                "metadata": {"name": "c"},
                "spec": {"providerRef": {"name": "z"}},
            }
        ),
        encoding="utf-8",
    )
    return tmp_path


def names(out: str) -> list[str]:
    return [line.removeprefix("  name: ") for line in out.splitlines() if line.startswith("  name: ")]


def run(*args: str | Path) -> int:
    return convert.run([str(arg) for arg in args])


def test_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "web.yaml"
    path.write_text(PROVISIONER.format(name="web"), encoding="utf-8")
    assert run("-f", path, "--ignore-defaults") == 0
    printed = capsys.readouterr()
    assert printed.out == f"# owned by web\n{WRITTEN}"
    assert [line.split(" ")[:3] for line in printed.err.splitlines()] == [["info", "later-defaults", "Provisioner/web"]]


def test_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-f", folder) == 0
    assert names(capsys.readouterr().out) == ["a", "b", "c"]


def test_a_folder_and_what_is_below(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-R", "-f", folder) == 0
    assert names(capsys.readouterr().out) == ["a", "b", "c", "d"]


def test_each_file_is_read_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-f", folder / "b.yaml", "-f", folder, "-f", folder / "sub" / ".." / "b.yaml") == 0
    assert names(capsys.readouterr().out) == ["b", "a", "c"]


def test_any_named_file_is_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--filename", folder / "notes.txt") == 0
    assert names(capsys.readouterr().out) == ["notes"]


def test_json_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-f", folder, "-o", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert [item["metadata"]["name"] for item in found["items"]] == ["a", "b", "c"]


def test_a_file_that_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-f", folder / "gone.yaml") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err == f"error file-unreadable - -: No such file or directory ({folder}/gone.yaml)\n"


def test_others_are_converted_beside_a_missing_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-f", folder / "gone.yaml", "-f", folder / "b.yaml") == 1
    assert names(capsys.readouterr().out) == ["b"]


def test_a_folder_without_manifests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("-f", tmp_path) == 2
    assert "holds no file that ends in .yaml .yml .json" in capsys.readouterr().err


def test_a_file_of_ten_megabytes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    big = folder / "big.yaml"
    big.write_bytes(b"a: 1\n" * 2_000_000)
    assert run("-f", big) == 2
    assert (
        capsys.readouterr().err
        == f"error too-large - -: the input is larger than {MAX_BYTES // 1024**2} MiB; split it ({big})\n"
    )
    assert run("-f", big, "-f", folder / "b.yaml") == 1
    assert names(capsys.readouterr().out) == ["b"]


def test_a_bad_object_names_file_document_and_field(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "b.yaml"
    bad = PROVISIONER.format(name="bad").replace("30", "soon")
    path.write_text(f"{PROVISIONER.format(name='good')}---\n{bad}", encoding="utf-8")
    assert run("-f", path) == 1
    printed = capsys.readouterr()
    assert names(printed.out) == ["good"]
    wanted = (
        'error bad-type Provisioner/bad spec.ttlSecondsAfterEmpty: "soon" is text, a whole number of seconds is wanted'
        f" ({path}, document 2, line 11)"
    )
    assert [line for line in printed.err.splitlines() if line.startswith("error")] == [wanted]


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["-f"],
        ["-f", "x", "--to", "v2"],
        ["-f", "x", "-o", "xml"],
        ["-f", "x", "--node-role", " "],
        ["x"],
        ["-f", "x", "--frob"],
    ],
)
def test_wrong_usage(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert convert.run(args) == 2
    assert capsys.readouterr().out == ""


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert convert.run(["-h"]) == 0
    assert "--ignore-defaults" in capsys.readouterr().out


def test_messages_stay_on_one_line_and_harmless() -> None:
    loss = ConversionFinding("skipped-kind", "Evil\x1b[31m", "a\nerror b", ("spec", "x\ty"), "say\r\u202eno")
    line = finding_line(LocatedFinding(loss, "f\n.yaml", 1, 2))
    assert (
        line
        == "info skipped-kind Evil\\x1b[31m/a\\nerror b spec[x\\ty]: say\\r\\u202eno (f\\n.yaml, document 1, line 2)"
    )


HEAVY = {"django", "rest_framework", "celery", "kubernetes", "boto3", "ruamel", "msgspec", "socket", "ssl", "email"}
START = f"""
import sys
before = set(sys.modules)  # an editable install loads some at the start
from karpdash.command import main
status = main(["convert", *sys.argv[1:]])
print(sorted({HEAVY} & (set(sys.modules) - before)), file=sys.stderr)
sys.exit(status)
"""


def test_the_command_loads_nothing_heavy(tmp_path: Path) -> None:
    path = tmp_path / "web.yaml"
    path.write_text(PROVISIONER.format(name="web"), encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", START, "-f", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, names(done.stdout)) == (0, ["web"])
    assert done.stderr.splitlines()[-1] == "[]"
