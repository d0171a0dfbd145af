"""Certificates and keys from a kubeconfig, checked in memory before anything is connected to."""

import base64
import binascii

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization

from migrations_app.clients.secret import Secret
from migrations_app.errors import BadKubeconfig

MOST_CERTIFICATES = 64


def decoded(text: str, *, where: str) -> str:
    """The PEM text inside base64. Raises BadKubeconfig with code `bad_base64`."""
    try:
        return base64.b64decode("".join(text.split()), validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError, ValueError):
        raise BadKubeconfig("not base64 of a PEM text", code="bad_base64", where=where) from None


def certificates(pem: str, *, where: str) -> list[x509.Certificate]:
    """Every certificate of the text, at least one. Raises BadKubeconfig with code `bad_certificate`."""
    try:
        found = x509.load_pem_x509_certificates(pem.encode())
    except (ValueError, UnsupportedAlgorithm):
        found = []
    if not found or len(found) > MOST_CERTIFICATES:
        raise BadKubeconfig("no certificate could be read", code="bad_certificate", where=where)
    return found


def check_pair(certificate_pem: str, key_pem: Secret, *, where: str) -> None:
    """Returns when the key belongs to the first certificate. Raises BadKubeconfig: `bad_key` or `key_mismatch`."""
    leaf = certificates(certificate_pem, where=f"{where}.client-certificate-data")[0]
    try:
        key = serialization.load_pem_private_key(key_pem.reveal().encode(), password=None)
        same = _public(leaf.public_key()) == _public(key.public_key())
    except (ValueError, TypeError, UnsupportedAlgorithm, AttributeError):
        # A key under a password is a TypeError; a key that cannot sign has no public half to compare.
        raise BadKubeconfig(
            "the private key cannot be read; keys under a password are not accepted",
            code="bad_key",
            where=f"{where}.client-key-data",
        ) from None
    if not same:
        raise BadKubeconfig("the key does not belong to the certificate", code="key_mismatch", where=where)


def _public(key: object) -> bytes:
    found: bytes = key.public_bytes(  # type: ignore[attr-defined]  # every key of cryptography has it, no common type does
        serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return found
