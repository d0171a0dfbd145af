"""Encryption of secrets at rest (T22): AES-256-GCM with a fresh data key per record, wrapped by a configured key.

A sealed value is bound to its owner's id and its field: copied to another row, it is refused.
"""

import os
from collections.abc import Mapping

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from migrations_app.errors import InvalidSetting

NONCE = 12


class _Box(msgspec.Struct, frozen=True, array_like=True):
    key_id: str
    wrap_nonce: bytes
    wrapped: bytes
    nonce: bytes
    body: bytes


class EncryptionKeys:
    """The keys of this installation, newest first: the first one encrypts, all of them decrypt."""

    def __init__(self, keys: tuple[tuple[str, bytes], ...]) -> None:
        if not keys:
            raise InvalidSetting("there is no key to seal secrets with", where="KARPDASH_ENCRYPTION_KEYS")
        self.newest = keys[0][0]
        """The id of the key that encrypts."""
        self._keys: Mapping[str, bytes] = dict(keys)

    def seal(self, plain: bytes, *, owner: str, field: str) -> bytes:
        """The encrypted value, bound to the owner's id and the field's name."""
        data_key, bound = AESGCM.generate_key(256), _bound(owner, field)
        wrap_nonce, nonce = os.urandom(NONCE), os.urandom(NONCE)
        wrapped = AESGCM(self._keys[self.newest]).encrypt(wrap_nonce, data_key, bound)
        body = AESGCM(data_key).encrypt(nonce, plain, bound)
        return msgspec.msgpack.encode(_Box(self.newest, wrap_nonce, wrapped, nonce, body))

    def open(self, sealed: bytes, *, owner: str, field: str) -> bytes:
        """The decrypted value. Raises InvalidSetting if the key is missing or the value belongs elsewhere."""
        bound = _bound(owner, field)
        try:
            box = msgspec.msgpack.decode(sealed, type=_Box)
            data_key = AESGCM(self._keys[box.key_id]).decrypt(box.wrap_nonce, box.wrapped, bound)
            return AESGCM(data_key).decrypt(box.nonce, box.body, bound)
        except KeyError as missing:
            raise InvalidSetting(f"the key {missing} that sealed this value is not configured", where=field) from None
        except (InvalidTag, msgspec.DecodeError, ValueError):
            raise InvalidSetting("a sealed value cannot be decrypted with the configured keys", where=field) from None


def _bound(owner: str, field: str) -> bytes:
    return f"karpdash:{owner}:{field}".encode()
