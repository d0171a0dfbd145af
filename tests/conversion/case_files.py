"""Conversion cases in YAML: how they are found, run through the command, and compared by meaning.

A case: name, args, in (objects) or text_in, out (objects) or error (a code), findings (codes that must be there),
absent (codes that must not), exit (only where it does not follow from the rest), must_contain_in_output.
Order makes no difference, nor does 1000 for 1k or 720h for 720h0m0s; absent, null and empty are the same, and so are a
default that is written and one that is left out. Those of tests/upstream are cases like these.
"""

import io
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from migrations_app.cli import convert
from migrations_app.conversion import quantities
from migrations_app.conversion.finding_codes import CATALOGUE

OWN = Path(__file__).parent / "cases"

_IMDS = {
    "httpEndpoint": "enabled",
    "httpProtocolIPv6": "disabled",
    "httpPutResponseHopLimit": 2,
    "httpTokens": "required",
}
_QUANTITY_MAPS = ("limits", "kubeReserved", "systemReserved", "requests")
_DURATIONS = ("expireAfter", "consolidateAfter", "duration")


def load(path: Path) -> Iterator[dict[str, Any]]:
    """The cases of one file."""
    yield from yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)["cases"]


def own_cases() -> list[dict[str, Any]]:
    return [case for path in sorted(OWN.glob("*.yaml")) for case in load(path)]


class Ran:
    """What the command printed."""

    def __init__(self, status: int, out: str, err: str) -> None:
        self.status = status
        self.out = out
        self.err = err
        self.objects = [body for body in yaml.safe_load_all(out) if body is not None]
        self.lines = [line.split(" ", 2) for line in err.splitlines()]
        self.codes = {line[1] for line in self.lines}
        self.severities = {line[0] for line in self.lines}


Runner = Callable[..., Ran]


@pytest.fixture
def convert_text(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Runner:
    def run(text: str | bytes, *args: str) -> Ran:
        data = text if isinstance(text, bytes) else text.encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        status = convert.run(["-f", "-", *args])
        printed = capsys.readouterr()
        return Ran(status, printed.out, printed.err)

    return run


def text_of(case: dict[str, Any]) -> str:
    if "text_in" in case:
        return str(case["text_in"])
    # no aliases: the anchors of a case file are not what is tested here
    dumper = type("Plain", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})
    return yaml.dump_all(case["in"], Dumper=dumper, sort_keys=False)


def meaning(body: dict[str, Any]) -> Any:
    """The object with everything removed that makes no difference."""
    return _plain(body, "", v1="/v1beta1" not in body["apiVersion"])


def _plain(value: Any, key: str, *, v1: bool) -> Any:
    if isinstance(value, dict):
        return _plain_map(value, key, v1=v1)
    if isinstance(value, list):
        return sorted((_plain(item, "", v1=v1) for item in value), key=repr)
    if key in _DURATIONS and isinstance(value, str) and value != "Never":
        return ("duration", quantities.nanoseconds(value))
    return value


def _plain_map(value: dict[str, Any], key: str, *, v1: bool) -> dict[str, Any]:
    if key in _QUANTITY_MAPS:
        return {name: ("quantity", quantities.billionths(str(item))) for name, item in value.items()}
    found = {name: _plain(item, name, v1=v1) for name, item in value.items()}
    if "volumeSize" in found:
        found["volumeSize"] = ("quantity", quantities.billionths(str(found["volumeSize"])))
    if key == "evictionSoftGracePeriod":
        found = {name: quantities.nanoseconds(item) for name, item in found.items()}
    if key == "metadataOptions" and found == _IMDS and not v1:
        return {}
    if key == "nodeClassRef" and not v1:
        defaults = {"kind": "EC2NodeClass", "apiVersion": "karpenter.k8s.aws/v1beta1"}
        found = {name: item for name, item in found.items() if defaults.get(name) != item}
    if any("alias" in term for term in found.get("amiSelectorTerms") or () if isinstance(term, dict)):
        found.pop("amiFamily", None)
    return {name: item for name, item in found.items() if item not in (None, {}, [])}


def check(case: dict[str, Any], ran: Ran) -> None:
    """Asserts that the command did what the case says."""
    codes = set(case.get("findings", ()))
    wanted = [] if "error" in case else case.get("out")
    if "error" in case:
        codes.add(case["error"])
    if wanted is not None:
        assert _sorted(ran.objects) == _sorted(wanted), ran.err
    assert codes <= ran.codes, ran.err
    assert not ran.codes & set(case.get("absent", ())), ran.err
    assert ran.status == case.get("exit", 1 if ran.severities & {"error", "action"} else 0), ran.err
    _check_lines(ran)
    for piece in case.get("must_contain_in_output", ()):
        assert piece in ran.out or piece.replace('"', "'") in ran.out


def _sorted(bodies: list[dict[str, Any]]) -> list[Any]:
    return sorted((meaning(body) for body in bodies), key=repr)


def _check_lines(ran: Ran) -> None:
    for severity, code, _ in ran.lines:
        assert CATALOGUE[code].severity == severity
    assert all(re.match(r"\w+ [a-z0-9-]+ \S+ \S+", line) for line in ran.err.splitlines())
