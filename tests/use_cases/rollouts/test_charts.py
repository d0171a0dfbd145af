"""The chart of a release comes from the registry that is set, from a mirror, or from the data folder."""

import hashlib
import json
from dataclasses import replace

import pytest

from migrations_app.clients.helm.charts import LAYER
from migrations_app.errors import AddressRefused, InvalidInput, InvalidSetting
from migrations_app.use_cases.rollouts.preview import chart_files
from tests.builders.clusters import a_cluster
from tests.clients import archives
from tests.fakes.evilk8s import AUTHORITY, LOOPBACK, EvilServer

ABOUT = b"name: karpenter\nversion: 1.0.14\n"
CHART = archives.of({"karpenter/Chart.yaml": ABOUT, "karpenter/crds/x.yaml": b"kind: X\n"})
DIGEST = "sha256:" + hashlib.sha256(CHART).hexdigest()


def inventory():
    return a_cluster("0.37.8", kubernetes="1.28").build()


@pytest.fixture
def use(settings, tmp_path, monkeypatch):
    (tmp_path / "ca.pem").write_text(AUTHORITY.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))

    def chosen(registry: str, **more):
        more = {"data_dir": tmp_path, "allow_loopback": True} | more
        settings.ENV = replace(settings.ENV, chart_registry=registry, **more)

    return chosen


def mirror(request, wire):
    layer = {"mediaType": LAYER, "digest": DIGEST, "size": len(CHART)}
    is_manifest = request.path == "/v2/team/karpenter/manifests/1.0.14"
    wire.answer(json.dumps({"schemaVersion": 2, "layers": [layer]}).encode() if is_manifest else CHART)


def test_a_mirror_gives_the_chart_of_the_next_hop(use):
    with EvilServer(mirror) as server:
        use(f"oci://{LOOPBACK}:{server.port}/team/")
        found = chart_files(inventory(), {"source": "oci", "release": "1.0.14"})
        origin = f"oci://{LOOPBACK}:{server.port}/team/karpenter:1.0.14 ({DIGEST})"
    assert found == {
        "Chart.yaml": b'{"name":"karpenter","version":"1.0.14"}', "crds/x.yaml": b'[{"kind":"X"}]',
        "origin": origin.encode(),
    }  # fmt: skip


def test_the_data_folder_needs_no_registry(use, tmp_path):
    use("")
    (tmp_path / "charts").mkdir()
    (tmp_path / "charts" / "karpenter-1.0.14.tgz").write_bytes(CHART)
    found = chart_files(inventory(), {"source": "karpenter-1.0.14.tgz"})
    assert (found["origin"], sorted(found)) == (
        b"charts/karpenter-1.0.14.tgz", ["Chart.yaml", "crds/x.yaml", "origin"],
    )  # fmt: skip


def test_a_registry_that_is_switched_off_says_what_to_do(use):
    use("")
    with pytest.raises(InvalidInput, match="name a chart in the data folder") as caught:
        chart_files(inventory(), {})
    assert caught.value.code == "registry_off"


def test_a_release_too_far_away_asks_no_registry(use):
    use("oci://registry.invalid/karpenter")
    with pytest.raises(InvalidInput) as caught:
        chart_files(inventory(), {"release": "1.4.0"})
    assert caught.value.code == "not_next"


def test_loopback_is_no_registry_unless_development_allows_it(use):  # K05
    use(f"oci://{LOOPBACK}:1/x", allow_loopback=False)
    with pytest.raises(AddressRefused):
        chart_files(inventory(), {"release": "1.0.14"})


def test_a_setting_that_is_no_registry_is_refused_by_its_name(use):
    use("https://registry.example/x")
    with pytest.raises(InvalidSetting) as caught:
        chart_files(inventory(), {"release": "1.0.14"})
    assert caught.value.where == "KARPDASH_CHART_REGISTRY"
