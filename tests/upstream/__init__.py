"""What Karpenter's own repositories say, and the numbers of OWASP's ASVS, as data for tests to compare our tables with.

README.md says where it is from.

Every function reads files of this folder. A file that is not there raises FileNotFoundError, a row that is not as
rows.py has it raises msgspec.ValidationError: a test then fails, it is never skipped.
"""

import copy
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from tests.upstream import rows

Document = dict[str, Any]
Row = TypeVar("Row")

FOLDER = Path(__file__).parent
CRDS = FOLDER / "crds"
POLICIES = FOLDER / "iam"


@cache
def releases() -> rows.Releases:
    """The releases, a row a minor, oldest first."""
    return _rows("releases.yaml", rows.Releases)


@cache
def crd_sets() -> rows.CrdSets:
    """Which CRDs each set of the releases consists of."""
    return _rows("crd_sets.yaml", rows.CrdSets)


@cache
def changes() -> dict[str, rows.Change]:
    """The changes that an upgrade crosses, by id."""
    return {change.id: change for change in _rows("changes.yaml", rows.Changes).changes}


@cache
def pains() -> tuple[rows.Pain, ...]:
    """What went wrong for people who upgraded."""
    return _rows("pains.yaml", rows.Pains).pains


@cache
def asvs() -> dict[str, int]:
    """The level of each requirement of ASVS 5.0.0 at levels 1 and 2, by its number."""
    by_level = _rows("asvs.yaml", rows.Asvs).levels
    return {number: level for level, numbers in by_level.items() for number in numbers}


@cache
def keys() -> tuple[rows.Key, ...]:
    """Labels, annotations, taints, finalizers and tags."""
    return _rows("labels.yaml", rows.Keys).keys


@cache
def permissions() -> rows.Permissions:
    """What the controller and its nodes ask of AWS."""
    return _rows("iam.yaml", rows.Permissions)


@cache
def finding_codes() -> dict[str, str]:
    """The severity of each code that a conversion reports."""
    by_severity = _rows("conversion_findings.yaml", dict[str, tuple[str, ...]])
    return {code: severity for severity, codes in by_severity.items() for code in codes}


def conversion_cases() -> list[Document]:
    """Objects before and after a conversion; tests/conversion/case_files.py says how a case reads."""
    found: list[Document] = _yaml(FOLDER / "conversion_cases.yaml")["cases"]
    return found


def crd_tags() -> tuple[str, ...]:
    """The tags whose CRDs are here, oldest first."""
    return tuple(sorted((path.name for path in CRDS.iterdir()), key=_order))


def crds(tag: str) -> list[Document]:
    """All CRDs of that tag, by name of their file, for the caller to change."""
    paths = sorted((CRDS / tag).iterdir())
    return [crd(tag, path.stem) for path in paths]


def crd(tag: str, name: str) -> Document:
    """One CRD, `karpenter.sh_nodepools` for instance, for the caller to change."""
    return copy.deepcopy(_crd(tag, name))


def policy_tags() -> tuple[str, ...]:
    """The tags whose official controller policy is here, oldest first."""
    return tuple(sorted((path.name for path in POLICIES.iterdir()), key=_order))


def policy_path(tag: str, name: str = "controller-policy.json") -> Path:
    """The file of an official policy of that tag. Raises FileNotFoundError where it is not here."""
    path = POLICIES / tag / name
    return path.resolve(strict=True)


def policy(tag: str, name: str = "controller-policy.json") -> str:
    """The text of an official policy of that tag, with the template's placeholders."""
    return policy_path(tag, name).read_text(encoding="utf-8")


def _rows(name: str, kind: type[Row]) -> Row:
    return msgspec.convert(_yaml(FOLDER / name), kind)


@cache
def _crd(tag: str, name: str) -> Document:
    found: Document = _yaml(CRDS / tag / f"{name}.yaml")
    return found


def _yaml(path: Path) -> Any:
    return yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def _order(tag: str) -> tuple[int, ...]:
    return tuple(int(part) for part in tag.removeprefix("v").split("."))
