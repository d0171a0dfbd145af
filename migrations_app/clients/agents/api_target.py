"""The API server of an agent: its address and credentials are read again every minute."""

import threading
import time
from collections.abc import Callable
from typing import Final

from migrations_app.clients.addresses import OutboundPolicy
from migrations_app.clients.kubernetes.connection import Connection, digest_of_ca
from migrations_app.clients.kubernetes.limits import ClientLimits
from migrations_app.clients.kubernetes.round_tripper import DirectRoundTripper
from migrations_app.clients.secret import Secret
from migrations_app.errors import OtherCluster

REOPEN_SECONDS: Final = 60.0
"""Seconds. The token of a service account lives an hour and is replaced in its file earlier; addresses change, too."""


class ApiTarget:
    """One API server. `source` reads the connection; only the server and the CA of its first read are accepted."""

    def __init__(self, source: Callable[[], Connection], *, reach: OutboundPolicy, limits: ClientLimits) -> None:
        """Raises InvalidKubeconfig."""
        self._source = source
        self._reach = reach
        self._limits = limits
        self._lock = threading.Lock()
        self._first = source()
        self._opened: tuple[DirectRoundTripper, Secret | None, float] | None = None
        self._changed = False

    @property
    def url(self) -> str:
        return self._first.server.url

    @property
    def ca_digest(self) -> str:
        """SHA-256 of the CA as it was given."""
        return digest_of_ca(self._first)

    def round_tripper(self) -> tuple[DirectRoundTripper, Secret | None]:
        """The connection to the server and the token to send; no token with a client certificate.

        Raises ReadError and InvalidKubeconfig; OtherCluster if another server or CA is named than at the start.
        """
        with self._lock:
            if self._opened is None or time.monotonic() - self._opened[2] > REOPEN_SECONDS:
                self._opened = (*self._open(), time.monotonic())
            return self._opened[0], self._opened[1]

    def require_same(self) -> None:
        """Raises OtherCluster if another server or CA was named than at the start."""
        if self._changed:
            raise OtherCluster("the API server or its CA has changed since the agent started: restart the agent")

    def _open(self) -> tuple[DirectRoundTripper, Secret | None]:
        # The former round tripper is not closed, since calls under way use it; its connections end with them.
        connection = self._source()
        if (connection.server, digest_of_ca(connection)) != (self._first.server, self.ca_digest):
            self._changed = True
            self.require_same()
        return DirectRoundTripper(connection, reach=self._reach, limits=self._limits), connection.token
