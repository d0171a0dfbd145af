"""The annotation that keeps Argo CD from deleting CRDs is added to the sync options that a CRD has."""

import subprocess

import pytest

from migrations_app.checks.changes import leaves
from migrations_app.checks.remedies.crd_upgrade import PRUNE, annotate_crds, keep_all_crds, keep_crds
from migrations_app.inventory.objects.base import Metadata
from migrations_app.inventory.objects.karpenter import CRD

KUBECTL = """
kubectl() {
  case "$*" in
    "get crd -o name") printf '%s\\n' crd/a.karpenter.sh crd/b.karpenter.k8s.aws crd/c.cert-manager.io ;;
    "get crd/a.karpenter.sh "*) printf '%s' "$OPTIONS"; return "$FAILS" ;;
    get*) ;;
    *) echo "$@" ;;
  esac
}
"""
LISTS = [
    ("", "Prune=false"),
    ("Prune=false", "Prune=false"),
    ("Replace=true", "Replace=true,Prune=false"),
    ("Prune=confirm, ServerSideApply=true", "ServerSideApply=true,Prune=false"),
    ("A=b,Prune=true,C=d", "A=b,C=d,Prune=false"),
]


def a_crd(options: str) -> CRD:
    return CRD(metadata=Metadata(name="nodepools.karpenter.sh", annotations={PRUNE: options} if options else {}))


@pytest.mark.parametrize(("options", "wanted"), LISTS)
def test_other_options_stay(options: str, wanted: str) -> None:
    (change,) = leaves(keep_crds([a_crd(options)]).change)
    assert change.given == {PRUNE: wanted}
    assert (change.undo.given, change.undo.removed) == (({PRUNE: options}, ()) if options else ({}, (PRUNE,)))
    assert "Write Prune=false in Git too" in keep_crds([a_crd(options)]).text


def test_other_annotations_are_set_as_they_are() -> None:
    (change,) = leaves(annotate_crds([a_crd("A=b")], {"helm.sh/resource-policy": "keep"}))
    assert change.given == {"helm.sh/resource-policy": "keep"}


def run(options: str, *, fails: int = 0) -> list[str]:
    given = {"OPTIONS": options, "FAILS": str(fails), "PATH": "/usr/bin:/bin"}
    line = ["bash", "-c", KUBECTL + keep_all_crds().text]
    return subprocess.run(line, env=given, capture_output=True, text=True, check=True, timeout=20).stdout.splitlines()


@pytest.mark.parametrize(("options", "wanted"), LISTS)
def test_the_shell_keeps_other_options_too(options: str, wanted: str) -> None:
    assert run(options) == [
        f"annotate crd/a.karpenter.sh {PRUNE}={wanted} --overwrite",
        f"annotate crd/b.karpenter.k8s.aws {PRUNE}=Prune=false --overwrite",
    ]


def test_the_shell_writes_nothing_where_it_could_not_read() -> None:
    assert run("A=b", fails=1) == []
