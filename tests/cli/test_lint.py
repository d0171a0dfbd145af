"""Manifests and values of a repository against a release."""

from pathlib import Path

import pytest

from tests.cli.conftest import Karpdash

POOLS = """apiVersion: karpenter.sh/v1alpha5
kind: Provisioner
metadata: {name: old}
---
# of today
apiVersion: karpenter.sh/v1beta1
kind: NodePool
metadata:
  name: general
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
"""
VALUES = """replicas: 2
karpenter:
  settings:
    aws:
      clusterName: payments
    clusterName: payments
"""


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.chdir(tmp_path)
    Path("pools.yaml").write_text(POOLS)
    Path("values.yaml").write_text(VALUES)
    return "pools.yaml", "values.yaml"


ALPHA = "pools.yaml:1: other-generation: Provisioner old is karpenter.sh/v1alpha5, which Karpenter {} does not accept"
BETA = "pools.yaml:6: other-generation: NodePool general is karpenter.sh/v1beta1, which Karpenter {} does not accept"
CONVERT = ": karpdash convert makes its successor"
LATER = "values.yaml:6: unread-value: settings.clusterName is not read by the chart of Karpenter {}"
AWS = "values.yaml:5: unread-value: settings.aws.clusterName is not read by the chart of Karpenter {} (read up to 0.32)"


@pytest.mark.parametrize(
    ("release", "wanted"),
    [
        ("0.31.1", [
            f"{BETA.format('0.31.1')} yet",
            f"{LATER.format('0.31.1')} (read from 0.32 on); use settings.aws.clusterName",
        ]),
        ("0.37.3", [ALPHA.format("0.37.3") + CONVERT, f"{AWS.format('0.37.3')}; use settings.clusterName"]),
        ("1.0.2", [ALPHA.format("1.0.2") + CONVERT, f"{AWS.format('1.0.2')}; use settings.clusterName"]),
        ("1.4.0", [
            ALPHA.format("1.4.0") + CONVERT, BETA.format("1.4.0") + CONVERT,
            f"{AWS.format('1.4.0')}; use settings.clusterName",
        ]),
    ],
)  # fmt: skip
def test_each_line_that_the_release_does_not_accept(
    karpdash: Karpdash, repository: tuple[str, str], release: str, wanted: list[str]
) -> None:
    said = karpdash("lint", "--to", release, *repository)
    assert (said.code, said.out.splitlines(), said.err) == (1, wanted, "")


def test_what_is_accepted_is_silent(karpdash: Karpdash, repository: tuple[str, str]) -> None:
    Path("pools.yaml").write_text(POOLS.partition("---")[2])
    said = karpdash("lint", "--to", "1.0", "pools.yaml")
    assert (said.code, said.out, said.err) == (0, "", "")


def test_a_file_that_cannot_be_read_as_yaml_is_a_finding(karpdash: Karpdash, tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text("a: [1\n")
    said = karpdash("lint", "--to", "1.0", tmp_path / "x.yaml")
    assert (said.code, ": not-yaml: " in said.out) == (1, True)


@pytest.mark.parametrize("words", [("--to", "9.9", "pools.yaml"), ("--to", "1.0", "absent.yaml"), ("pools.yaml",)])
def test_wrong_usage(karpdash: Karpdash, repository: tuple[str, str], words: tuple[str, ...]) -> None:
    said = karpdash("lint", *words)
    assert (said.code, said.out) == (2, "")
