"""A real OpenID Connect provider on loopback, as a process of its own: discovery, keys, codes with PKCE, RS256
tokens.

`POST /next` sets who signs in next and, for tests of attacks, how the next token is wrong.
"""

import base64
import hashlib
import hmac
import json
import secrets
import subprocess
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import Request, urlopen

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

CLIENT, SECRET = "karpdash", "a-secret-of-the-client"


class IdentityProvider:
    """The running process; `issuer` is its URL."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.servers.identity_provider"], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.issuer = self.process.stdout.readline().strip()

    def next(self, **overrides: Any) -> None:
        """Sets the next token: `claims` override its claims, null removes one; `header` and `signing` likewise."""
        body = json.dumps(overrides).encode()
        with urlopen(Request(f"{self.issuer}/next", data=body, method="POST"), timeout=10) as answer:
            assert answer.status == 200

    def authorize(self, address: str) -> str:
        """Returns the URL that the provider redirects that request to; without `stay` the browser follows it."""
        with urlopen(Request(f"{address}&stay=1"), timeout=10) as answer:
            return str(json.load(answer)["to"])

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(10)
        assert self.process.stdout is not None
        self.process.stdout.close()


def _b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


class _ProviderState:
    """Keys, codes that were given out, and the settings of the next token."""

    def __init__(self) -> None:
        self.key, self.other = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
        self.issuer = ""
        self.codes: dict[str, dict[str, str]] = {}
        self.overrides: dict[str, Any] = {}

    def jwks(self) -> dict[str, Any]:
        numbers = self.key.public_key().public_numbers()
        e, n = (_b64(each.to_bytes((each.bit_length() + 7) // 8, "big")) for each in (numbers.e, numbers.n))
        return {"keys": [{"kty": "RSA", "use": "sig", "kid": "one", "alg": "RS256", "e": e, "n": n}]}

    def token(self, request: dict[str, str]) -> str:
        """Returns the token, with the time of the sign-in if the request limits its age, as the standard says."""
        now = int(time.time())
        proven = {"auth_time": now} if "max_age" in request else {}
        claims = {
            "iss": self.issuer, "aud": CLIENT, "sub": "u-1", "iat": now, "exp": now + 300, "nonce": request["nonce"],
            "preferred_username": "olga", "email": "olga@example.org", "groups": ["kd-night", "wine"],
        } | proven | self.overrides.get("claims", {})  # fmt: skip
        header = {"alg": "RS256", "kid": "one", "typ": "JWT"} | self.overrides.get("header", {})
        parts = [{key: value for key, value in part.items() if value is not None} for part in (header, claims)]
        signed = ".".join(_b64(json.dumps(part).encode()) for part in parts)
        return f"{signed}.{_b64(self.signature(signed.encode()))}"

    def signature(self, signed: bytes) -> bytes:
        how = self.overrides.get("signing", "rs256")
        if how == "none":
            return b""
        if how == "hs256_public":
            pem = self.key.public_key().public_bytes(
                serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
            )
            return hmac.new(pem, signed, hashlib.sha256).digest()
        if how == "hs256_secret":
            return hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()
        key = self.other if how == "other_key" else self.key
        return key.sign(signed, padding.PKCS1v15(), hashes.SHA256())


STATE = _ProviderState()


class _ProviderHandler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        if parts.path == "/.well-known/openid-configuration":
            endpoints = {name: f"{STATE.issuer}/{path}" for name, path in ADDRESSES.items()}
            self._send_json(
                endpoints
                | {"issuer": STATE.overrides.get("issuer", STATE.issuer)}
                | STATE.overrides.get("discovery", {})
            )
        elif parts.path == "/jwks":
            self._send_json(STATE.jwks())
        elif parts.path == "/authorize":
            self._authorize({name: values[0] for name, values in parse_qs(parts.query).items()})
        else:
            self._send_json({}, status=404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        if self.path == "/next":
            STATE.overrides = json.loads(body)
            self._send_json({})
        elif self.path == "/token":
            self._redeem({name: values[0] for name, values in parse_qs(body.decode()).items()})

    def _authorize(self, query: dict[str, str]) -> None:
        good = query.get("client_id") == CLIENT and query.get("response_type") == "code"
        if not good or query.get("code_challenge_method") != "S256" or "openid" not in query.get("scope", ""):
            self._send_json({"error": "invalid_request"}, status=400)
            return
        code = secrets.token_urlsafe(24)
        STATE.codes[code] = query
        to = f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"
        if "stay" in query:
            self._send_json({"to": to})
            return
        self.send_response(302)
        self.send_header("Location", to)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _redeem(self, form: dict[str, str]) -> None:
        request = STATE.codes.pop(form.get("code", ""), None)
        challenge = _b64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        good = request and (challenge, form.get("redirect_uri"), form.get("client_secret")) == (
            request["code_challenge"], request["redirect_uri"], SECRET,
        )  # fmt: skip
        if not request or not good:
            self._send_json({"error": "invalid_grant"}, status=400)
            return
        self._send_json({"access_token": "x", "token_type": "Bearer", "id_token": STATE.token(request)})

    def _send_json(self, document: dict[str, Any], *, status: int = 200) -> None:
        body = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_said: object) -> None:
        """Says nothing."""


ADDRESSES = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "jwks"}


def _serve() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _ProviderHandler)
    STATE.issuer = f"http://127.0.0.1:{server.server_address[1]}"
    sys.stdout.write(f"{STATE.issuer}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    _serve()
