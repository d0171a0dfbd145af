"""Short-lived certificate authorities for servers and their users, all in memory."""

import datetime
import ipaddress
from collections.abc import Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LOOPBACK_NAMES = ("localhost", "kubernetes.default.svc")
SLACK = datetime.timedelta(hours=1)  # tests that move the clock a little still meet valid certificates
LIFETIME = datetime.timedelta(days=30)


def key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    """Returns the private key as an unencrypted PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    ).decode()


def public_pem(key: ec.EllipticCurvePrivateKey) -> str:
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        .decode()
    )


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


class Authority:
    """A certificate authority; `pem` is its certificate."""

    def __init__(self, name: str) -> None:
        self._key = new_key()
        self._name = _subject(name, ())
        self.pem = _pem(
            _draft(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .add_extension(_key_usage(signs_certificates=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def server(
        self, names: Sequence[str] = LOOPBACK_NAMES, addresses: Sequence[str] = ("127.0.0.1",)
    ) -> tuple[str, str]:
        """Returns (certificate, key) as PEM, for a server with these names and addresses."""
        alternative_names = [
            *map(x509.DNSName, names),
            *(x509.IPAddress(ipaddress.ip_address(address)) for address in addresses),
        ]
        return self._issue(
            _subject("server", ()),
            usage=ExtendedKeyUsageOID.SERVER_AUTH,
            names=x509.SubjectAlternativeName(alternative_names),
        )

    def client(self, user: str, groups: Sequence[str] = ()) -> tuple[str, str]:
        """Returns (certificate, key) as PEM; to an API server the common name is the user, the organisations are the
        groups.
        """
        return self._issue(_subject(user, groups), usage=ExtendedKeyUsageOID.CLIENT_AUTH, names=None)

    def _issue(
        self, subject: x509.Name, *, usage: x509.ObjectIdentifier, names: x509.SubjectAlternativeName | None
    ) -> tuple[str, str]:
        key = new_key()
        draft = (
            _draft(subject, self._name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .add_extension(_key_usage(signs_certificates=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        )
        if names is not None:
            draft = draft.add_extension(names, critical=False)
        return _pem(draft.sign(self._key, hashes.SHA256())), key_pem(key)


def _subject(name: str, groups: Sequence[str]) -> x509.Name:
    organisations = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    return x509.Name([*organisations, x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _draft(subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - SLACK)
        .not_valid_after(now + LIFETIME)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
