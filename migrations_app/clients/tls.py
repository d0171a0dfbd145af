"""The TLS side of a connection (K02, K03): the registered CA only, everything from memory, no way around."""

import os
import ssl

from migrations_app.clients.connection import Connection
from migrations_app.clients.pace import PacedSocket
from migrations_app.errors import TlsRefused


def context_for(connection: Connection) -> ssl.SSLContext:
    """A context that trusts the connection's CA and nothing else. Raises TlsRefused with code `tls_material`."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A registered intermediate or leaf is an anchor of its own, as it is for kubectl.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.hostname_checks_common_name = False
    context.sslsocket_class = PacedSocket
    try:
        context.load_verify_locations(cadata=connection.ca_pem)
        if connection.client_cert_pem is not None and connection.client_key_pem is not None:
            _load_pair(context, connection.client_cert_pem + "\n" + connection.client_key_pem.reveal())
    except (ssl.SSLError, OSError, ValueError):
        raise TlsRefused("the CA or the client certificate cannot be used", code="tls_material") from None
    return context


def _load_pair(context: ssl.SSLContext, pem: str) -> None:
    # load_cert_chain takes a path only; a memory file has one and leaves nothing behind, even after kill -9.
    descriptor = os.memfd_create("pair", os.MFD_CLOEXEC)
    try:
        os.write(descriptor, pem.encode())
        # A password prompt on the terminal would hang a worker: an encrypted key gets an empty password.
        context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=lambda: b"")
    finally:
        os.close(descriptor)
