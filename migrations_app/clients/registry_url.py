"""The address of a registry of charts, as Helm spells it."""

from migrations_app.clients.connection import Server
from migrations_app.clients.server_url import parse_server
from migrations_app.errors import BadInput, BadKubeconfig

SCHEME = "oci://"


def read_registry(text: str) -> Server:
    """The registry and the path that its charts lie under, of `oci://host[:port]/path`. Raises BadInput."""
    if not text.startswith(SCHEME):
        raise BadInput("an address such as oci://registry.example/karpenter is wanted", code="bad_registry")
    try:
        return parse_server("https://" + text.removeprefix(SCHEME), where="registry")
    except BadKubeconfig as wrong:
        raise BadInput(wrong.message, code="bad_registry") from None
