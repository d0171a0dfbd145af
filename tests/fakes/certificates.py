"""Issues certificates for tests: valid, of another CA, expired, for another name."""

import datetime
import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = datetime.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Pair:
    """A certificate and its key, both as PEM."""

    certificate: str
    key: str


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey, *, password: bytes = b"") -> str:
    locked = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, locked).decode()


class Authority:
    """A certificate authority in memory; `pem` is what a client trusts."""

    def __init__(self, name: str = "tests") -> None:
        self._key = new_key()
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        basic = x509.BasicConstraints(ca=True, path_length=None)
        draft = self._draft(self._name, self._key).add_extension(basic, critical=True)
        self.pem = _pem(draft.sign(self._key, hashes.SHA256()))

    def issue(
        self, *, names: Sequence[str] = (), addresses: Sequence[str] = ("127.0.0.1",), since: int = -1, until: int = 1
    ) -> Pair:
        """Issues a certificate valid from `since` to `until`, in days from now."""
        key = new_key()
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "server")])
        alternative_names: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
        alternative_names += [x509.IPAddress(ipaddress.ip_address(address)) for address in addresses]
        draft = self._draft(subject, key, since=since, until=until)
        signed = draft.add_extension(x509.SubjectAlternativeName(alternative_names), critical=False).sign(
            self._key, hashes.SHA256()
        )
        return Pair(_pem(signed), key_pem(key))

    def _draft(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, since: int = -1, until: int = 1
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + since * DAY)
            .not_valid_after(now + until * DAY)
        )


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()
