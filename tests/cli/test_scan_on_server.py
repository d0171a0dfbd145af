"""The command against a real API server."""

from pathlib import Path

import pytest

from tests.cli.conftest import Karpdash
from tests.servers.apiserver import ApiServer


@pytest.fixture
def kubeconfig(clean_apiserver: ApiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KARPDASH_ALLOW_LOOPBACK", "1")
    path = tmp_path / "kubeconfig"
    path.write_text(clean_apiserver.kubeconfig(clean_apiserver.admin_token, context="blue"))
    return path


def test_an_empty_cluster_has_no_karpenter(karpdash: Karpdash, kubeconfig: Path) -> None:
    said = karpdash("scan", "--kubeconfig", kubeconfig, "-o", "json")
    assert (said.code, said.json["cluster"]["name"], said.json["cluster"]["stage"]) == (0, "blue", "no_karpenter")
    assert [part["name"] for part in said.json["parts"] if not part["seen"]] == []


def test_a_bundle_of_a_live_cluster_is_judged_like_the_cluster(
    karpdash: Karpdash, kubeconfig: Path, clean_apiserver: ApiServer, tmp_path: Path
) -> None:
    clean_apiserver.load_crds("beta")
    pool = {"apiVersion": "karpenter.sh/v1beta1", "kind": "NodePool", "metadata": {"name": "general"}, "spec": {}}
    clean_apiserver.admin.create(pool)
    out = tmp_path / "blue.tar.gz"
    written = karpdash("bundle", "--kubeconfig", kubeconfig, "-o", out)
    assert (written.code, written.out, written.err.startswith(f"wrote {out}: ")) == (0, "", True)
    assert out.stat().st_mode & 0o777 == 0o600
    live = karpdash("scan", "--kubeconfig", kubeconfig, "-o", "json").json
    offline = karpdash("scan", "--bundle", out, "-o", "json").json
    assert offline["checks"] == live["checks"]
    assert (offline["legacy"], offline["hops"], offline["cluster"]) == (live["legacy"], live["hops"], live["cluster"])


def test_a_token_without_rights_is_an_incomplete_look(
    karpdash: Karpdash, kubeconfig: Path, clean_apiserver: ApiServer
) -> None:
    kubeconfig.write_text(clean_apiserver.kubeconfig(clean_apiserver.make_user("nobody")))
    said = karpdash("scan", "--kubeconfig", kubeconfig)
    assert (said.code, "crds: forbidden" in said.out) == (3, True)


def test_loopback_needs_the_setting(karpdash: Karpdash, kubeconfig: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KARPDASH_ALLOW_LOOPBACK")
    said = karpdash("scan", "--kubeconfig", kubeconfig)
    assert (said.code, said.out, "KARPDASH_ALLOW_LOOPBACK=1" in said.err) == (3, "", True)


def test_a_server_that_is_gone_could_not_be_looked_at(
    karpdash: Karpdash, kubeconfig: Path, clean_apiserver: ApiServer, tmp_path: Path
) -> None:
    kubeconfig.write_text(kubeconfig.read_text().replace(clean_apiserver.url, "https://127.0.0.1:9"))
    said = karpdash("bundle", "--kubeconfig", kubeconfig, "-o", tmp_path / "out.tar.gz")
    assert (said.code, said.out, list(tmp_path.glob("*.tar.gz"))) == (3, "", [])


def test_a_folder_that_is_not_there_is_named(karpdash: Karpdash, kubeconfig: Path, tmp_path: Path) -> None:
    out = tmp_path / "none" / "out.tar.gz"
    said = karpdash("bundle", "--kubeconfig", kubeconfig, "-o", out)
    assert (said.code, said.err) == (2, f"karpdash bundle: {out}: its folder does not exist\n")
