"""T22: secrets at rest."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrations_app.errors import InvalidSetting
from migrations_app.use_cases.runtime.encryption import EncryptionKeys

OLD, NEW = ("old", os.urandom(32)), ("new", os.urandom(32))


@given(st.binary(max_size=200), st.text(max_size=20))
def test_what_was_sealed_opens_again(plain, owner):
    keys = EncryptionKeys((NEW,))
    assert keys.open(keys.seal(plain, owner=owner, field="f"), owner=owner, field="f") == plain


def test_a_canary_is_not_in_the_sealed_bytes():
    assert b"canary-secret" not in EncryptionKeys((NEW,)).seal(b"canary-secret", owner="a", field="f")


@pytest.mark.parametrize(("owner", "field"), [("other", "f"), ("a", "other")])
def test_a_value_moved_to_another_row_does_not_open(owner, field):
    keys = EncryptionKeys((NEW,))
    sealed = keys.seal(b"x", owner="a", field="f")
    with pytest.raises(InvalidSetting, match="cannot be decrypted"):
        keys.open(sealed, owner=owner, field=field)


def test_keys_rotate():
    sealed = EncryptionKeys((OLD,)).seal(b"x", owner="a", field="f")
    assert EncryptionKeys((NEW, OLD)).open(sealed, owner="a", field="f") == b"x"
    with pytest.raises(InvalidSetting, match="'old'"):
        EncryptionKeys((NEW,)).open(sealed, owner="a", field="f")


@pytest.mark.parametrize("at", [0, 10, 30, -1])
def test_one_changed_byte_is_refused(at):
    keys = EncryptionKeys((NEW,))
    sealed = bytearray(keys.seal(b"some text", owner="a", field="f"))
    sealed[at] ^= 1
    with pytest.raises(InvalidSetting):
        keys.open(bytes(sealed), owner="a", field="f")


def test_without_a_key_nothing_is_sealed():
    with pytest.raises(InvalidSetting):
        EncryptionKeys(())
