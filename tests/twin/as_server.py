"""A twin in the place of the real API server of tests: the same client, whose bytes go to the twin."""

import json
import ssl
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

import msgspec

from migrations_app.twin.server import Twin
from tests.servers import crds
from tests.servers.api_client import Answer, Client, Document


class TwinClient(Client):
    """The tests' client of API servers, as admin of a twin."""

    def __init__(self, twin: Twin) -> None:
        super().__init__("https://twin", tls=ssl.create_default_context())
        self._twin = twin

    def _exchange(self, method: str, target: str, data: bytes | None, headers: Mapping[str, str]) -> Answer:
        parts = urlsplit(target)
        answer = self._twin.request(
            method,
            parts.path,
            query=dict(parse_qsl(parts.query)),
            body=None if data is None else json.loads(data),
            content_type=headers.get("Content-Type", ""),
        )
        return Answer(answer.status, {}, msgspec.json.encode(answer.document))


class TwinAsServer:
    """What tests of actions ask of an API server: its admin, and CRDs."""

    def __init__(self, twin: Twin) -> None:
        self.twin, self.admin = twin, TwinClient(twin)

    def load_crds(self, set_name: str) -> list[Document]:
        return [self.admin.create(one) for one in crds.documents(set_name)]
