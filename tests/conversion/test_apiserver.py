"""A real API server takes what is converted, by Karpenter's own CRDs, and keeps every field of it.

The server is older than CEL rules, so those are taken out of the CRDs (crd_checks.py knows them in Python)."""

from collections.abc import Iterator
from typing import Any

import pytest

from migrations_app.conversion.objects import Options, TargetVersion
from migrations_app.conversion.reports.report import convert_texts
from tests import upstream
from tests.conversion import case_files
from tests.servers.api_client import Document, RefusedError
from tests.servers.apiserver import ApiServer
from tests.servers.crds import without_rules

REAL = [("v0.32.10", "v1beta1"), ("v0.37.8", "v1beta1"), ("v1.0.14", "v1"), ("v1.14.1", "v1")]
OWN = [("alpha_and_beta", "v1beta1"), ("beta", "v1beta1"), ("v1_with_beta", "v1"), ("v1", "v1")]
LEFT_TO_THE_SERVER = {
    # What the newer API fills in: the options that EC2 used for an alpha object without any, and budgets, of which
    # the finding `later-defaults` speaks. Everything else that has a default must have been stated.
    "v0.32.10": {".metadataOptions"},
    "v0.37.8": {".metadataOptions", ".disruption.budgets"},
    "v1.0.14": {".disruption.budgets"},
    "v1.14.1": {".disruption.budgets"},
}
INVALID_FROM_THE_START = {"dates-and-times-stay-text"}  # its label values were never labels


def real_crds(release: str) -> list[Document]:
    """Karpenter's CRDs of that release, without CEL rules and without a webhook that is not here."""
    found = [crd for crd in upstream.crds(release) if crd["spec"]["group"].startswith("karpenter")]
    return [without_rules(crd | {"spec": crd["spec"] | {"conversion": {"strategy": "None"}}}) for crd in found]


def results(to: TargetVersion) -> Iterator[tuple[str, Document]]:
    """(case, object) of everything that came to that generation from an older one and needs no decision first."""
    for case in case_files.own_cases():
        report = convert_texts([("case", case_files.text_of(case))], Options(to=to, node_role="acme-nodes"))
        for one in report.converted:
            older = one.item.generation == "alpha" or (one.item.generation == "beta" and to == "v1")
            decided = not any(loss.severity in ("error", "action") for loss in one.item.losses)
            if older and decided and case["name"] not in INVALID_FROM_THE_START:
                yield from ((case["name"], body) for body in one.objects)


def differences(server: ApiServer, to: TargetVersion) -> list[tuple[str, str, str]]:
    """(case, kind, what is wrong) of each object that a dry run refuses, or does not keep as it was sent."""
    found, sent = [], 0
    for case, body in results(to):
        sent += 1
        answer = server.admin.request("POST", server.admin.collection_of(body), body=body, dryRun="All")
        told = answer.json()
        wrong = [told["message"]] if answer.status >= 400 else lost(body["spec"], told["spec"])
        found += [(case, body["kind"], what) for what in wrong]
    assert sent > 30
    return found


def lost(sent: Any, kept: Any, at: str = "") -> list[str]:
    """Paths whose value the server dropped or changed."""
    if isinstance(sent, dict) and isinstance(kept, dict):
        return [path for key, value in sent.items() for path in lost(value, kept.get(key), f"{at}.{key}")]
    if isinstance(sent, list) and isinstance(kept, list) and len(sent) == len(kept):
        return [path for index, value in enumerate(sent) for path in lost(value, kept[index], f"{at}[{index}]")]
    return [] if sent == kept else [at]


@pytest.mark.parametrize(("release", "to"), REAL)
def test_the_real_crds_take_it_whole(clean_apiserver: ApiServer, release: str, to: TargetVersion) -> None:
    clean_apiserver.load_documents(real_crds(release))
    assert differences(clean_apiserver, to) == []


@pytest.mark.parametrize(("name", "to"), OWN)
def test_every_kind_and_version_is_one_that_is_served(clean_apiserver: ApiServer, name: str, to: TargetVersion) -> None:
    clean_apiserver.load_crds(name)
    assert differences(clean_apiserver, to) == []


@pytest.mark.parametrize(("release", "to"), REAL)
def test_no_default_of_the_server_decides_anew(clean_apiserver: ApiServer, release: str, to: TargetVersion) -> None:
    clean_apiserver.load_documents(real_crds(release))
    added: set[str] = set()
    for _, body in results(to):
        told = clean_apiserver.admin.create(body, dryRun="All")
        added.update(lost(told["spec"], body["spec"]))
    assert added == LEFT_TO_THE_SERVER[release]


def test_the_server_can_refuse(clean_apiserver: ApiServer) -> None:
    clean_apiserver.load_documents(real_crds("v1.0.14"))
    _, body = next(pair for pair in results("v1") if pair[1]["kind"] == "NodePool")
    odd = {**body, "spec": {**body["spec"], "invented": 1}}
    assert lost(odd["spec"], clean_apiserver.admin.create(odd, dryRun="All")["spec"]) == [".invented"]
    with pytest.raises(RefusedError, match="Required value"):
        clean_apiserver.admin.create({**body, "spec": {"template": {"spec": {}}}}, dryRun="All")
