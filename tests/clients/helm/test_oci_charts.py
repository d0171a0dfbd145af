"""A chart from a registry: anonymous, judged at every address, checked by its digest, under limits (K05, K06, T03)."""

import hashlib
import json
from dataclasses import replace

import pytest

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.helm.charts import LAYER, MANIFEST, pull_chart, read_registry
from migrations_app.clients.kubernetes.connection import Server
from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.errors import InvalidInput, ReadError
from tests.fakes.evilk8s import AUTHORITY, LOOPBACK, OTHER, EvilServer, Request, Wire

CHART = b"packed chart"
DIGEST = "sha256:" + hashlib.sha256(CHART).hexdigest()
HERE = OutboundPolicy(allow_loopback=True)
FAST = ClientLimits(connect_seconds=2, read_seconds=1.0, slow_start_seconds=0.3)
PATIENT = replace(FAST, connect_seconds=60, read_seconds=60, slow_start_seconds=60)


@pytest.fixture(autouse=True)
def trust(tmp_path, monkeypatch):
    """The system's certificates, as an operator of a mirror with a CA of its own sets them."""
    bundle = tmp_path / "ca.pem"
    bundle.write_text(AUTHORITY.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))


class Registry:
    """A registry that asks for a token and keeps one chart; each part of its answers can be changed."""

    def __init__(self, **changes) -> None:
        layer = {"mediaType": LAYER, "digest": DIGEST, "size": len(CHART)} | changes.pop("layer", {})
        self.manifest = {"schemaVersion": 2, "layers": [layer]} | changes.pop("manifest", {})
        self.blob, self.token, self.location = changes.pop("blob", CHART), changes.pop("token", "t0ken"), ""
        self.realm, self.scheme = changes.pop("realm", ""), changes.pop("scheme", "Bearer")
        self.port = 0

    def __call__(self, request: Request, wire: Wire) -> None:
        if request.path == "/token":
            wire.answer(json.dumps({"token": self.token}).encode())
        elif request.path.startswith("/stored"):
            wire.answer(self.blob)
        elif request.headers.get("authorization") != f"Bearer {self.token}":
            realm = self.realm or f"https://{LOOPBACK}:{self.port}/token"
            challenge = f'{self.scheme} realm="{realm}",service="here",scope="x"'
            wire.answer(b"", status="401 Unauthorized", WWW_Authenticate=challenge)
        elif "/manifests/" in request.path:
            self.tell(request, wire)
        elif self.location:
            wire.answer(b"", status="307 Temporary Redirect", Location=self.location)
        else:
            wire.answer(self.blob)

    def tell(self, request: Request, wire: Wire) -> None:
        if request.path.endswith("/1.0.9"):
            wire.answer(json.dumps(self.manifest).encode())
        else:
            wire.answer(b"", status="404 Not Found")


def pull(registry: Registry, *, tag: str = "1.0.9", reach: OutboundPolicy = HERE, location: str = ""):
    with EvilServer(registry) as server:
        registry.port, registry.location = server.port, location.format(port=server.port)
        where = Server(LOOPBACK, server.port, "/karpenter")
        return pull_chart(where, "karpenter", tag=tag, reach=reach, limits=PATIENT), server.requests


def code(registry: Registry, **more) -> str:
    with pytest.raises(ReadError) as caught:
        pull(registry, **more)
    return caught.value.code


def test_a_chart_is_pulled_with_an_anonymous_token():
    found, requests = pull(Registry())
    assert (found.raw, found.digest) == (CHART, DIGEST)
    asked = [(one.path, one.headers.get("authorization")) for one in requests]
    assert asked == [
        ("/v2/karpenter/karpenter/manifests/1.0.9", None), ("/token", None),
        ("/v2/karpenter/karpenter/manifests/1.0.9", "Bearer t0ken"),
        (f"/v2/karpenter/karpenter/blobs/{DIGEST}", "Bearer t0ken"),
    ]  # fmt: skip
    assert requests[1].query == {"service": "here", "scope": "repository:karpenter/karpenter:pull"}
    assert requests[0].headers["accept"] == MANIFEST


def test_a_redirect_of_the_blob_is_followed_to_https():
    found, requests = pull(Registry(), location="https://127.0.0.1:{port}/stored?sig=1")
    assert (found.raw, requests[-1].path, requests[-1].query) == (CHART, "/stored", {"sig": "1"})


def test_the_token_stays_with_the_registry():
    registry = Registry()
    with EvilServer(Registry()) as store:
        _, _ = pull(registry, location=f"https://127.0.0.1:{store.port}/stored")
        assert [one.headers.get("authorization") for one in store.requests] == [None]


@pytest.mark.parametrize(
    ("location", "told"),
    [
        ("http://127.0.0.1:{port}/stored", "not_https"),
        ("https://me:you@127.0.0.1:{port}/stored", "not_https"),
        ("file:///etc/passwd", "not_https"),
        ("https://2130706433:{port}/stored", "bad_address"),
        ("https://[::1/stored", "bad_address"),
        ("https://169.254.169.254/latest", "address_refused"),
        ("https://127.0.0.1:{port}/v2/karpenter/karpenter/blobs/again", "redirected"),
    ],
)
def test_a_redirect_that_leads_astray_is_refused(location, told):  # T03
    assert code(Registry(), location=location) == told


def test_loopback_is_refused_unless_it_is_allowed():  # K05
    assert code(Registry(), reach=OutboundPolicy()) == "address_refused"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"blob": b"packed chorts"[: len(CHART)]}, "digest"),
        ({"blob": CHART + b"x"}, "too_large"),
        ({"blob": CHART[:-1]}, "digest"),
        ({"layer": {"size": 9 * 1024 * 1024}}, "chart_too_large"),
        ({"layer": {"size": 0}}, "chart_too_large"),
        ({"layer": {"digest": "md5:00"}}, "strange_manifest"),
        ({"layer": {"mediaType": "text/plain"}}, "strange_manifest"),
        ({"manifest": {"schemaVersion": 1}}, "strange_manifest"),
        ({"manifest": {"layers": "many"}}, "garbled"),
        ({"token": "bad token"}, "garbled"),
        ({"realm": "http://127.0.0.1/token"}, "not_https"),
        ({"realm": "https://169.254.169.254/token"}, "address_refused"),
        ({"scheme": "Basic"}, "unauthorized"),
    ],
)
def test_an_answer_that_is_not_as_promised_is_refused(changes, told):
    assert code(Registry(**changes)) == told


def test_an_unknown_tag_is_said_to_be_absent():
    with pytest.raises(ReadError, match=r"chart registry|has no karpenter/karpenter:9\.9\.9") as caught:
        pull(Registry(), tag="9.9.9")
    assert caught.value.code == "absent"


def test_a_manifest_that_is_not_its_digest_is_refused():
    def script(_request: Request, wire: Wire) -> None:
        wire.answer(b"{}", Docker_Content_Digest="sha256:" + "0" * 64)

    with EvilServer(script) as server, pytest.raises(ReadError) as caught:
        pull_chart(Server(LOOPBACK, server.port, "/k"), "karpenter", tag="1.0.9", reach=HERE, limits=PATIENT)
    assert caught.value.code == "digest"


def test_a_registry_that_drips_is_given_up():  # K06
    def script(_request: Request, wire: Wire) -> None:
        wire.begin()
        wire.drip(b"5\r\nhello\r\n", every=0.2)

    limits = replace(FAST, bytes_per_second=1000)
    with EvilServer(script) as server, pytest.raises(ReadError) as caught:
        pull_chart(Server(LOOPBACK, server.port, "/k"), "karpenter", tag="1.0.9", reach=HERE, limits=limits)
    assert caught.value.code == "timeout"


def test_a_certificate_of_another_ca_is_refused(tmp_path, monkeypatch):
    (tmp_path / "other.pem").write_text(OTHER.pem)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "other.pem"))
    assert code(Registry()) == "tls_untrusted"


@pytest.mark.parametrize(("chart", "tag"), [("../x", "1"), ("Karpenter", "1"), ("karpenter", "a/b"), ("karpenter", "")])
def test_names_that_lead_elsewhere_are_refused(chart, tag):
    with pytest.raises(InvalidInput, match="is not a chart"):
        pull_chart(Server(LOOPBACK, 1), chart, tag=tag, reach=HERE)


@pytest.mark.parametrize("text", ["", "https://x/y", "oci://", "oci://u:p@h/x", "oci://h/x?y", "oci://h/../x"])
def test_an_address_that_is_no_registry_is_refused(text):
    with pytest.raises(InvalidInput) as caught:
        read_registry(text)
    assert caught.value.code == "bad_registry"


def test_the_address_of_a_registry_is_taken_apart():
    assert read_registry("oci://mirror.example:5000/team/karpenter") == Server(
        "mirror.example", 5000, "/team/karpenter"
    )
