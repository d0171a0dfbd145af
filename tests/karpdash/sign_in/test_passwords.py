"""Which long passwords are refused: what somebody tries first, and nothing for its kinds of characters."""

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from karpdash.sign_in.passwords import WORDS, is_variant

GUESSED = (
    "password1234", "Karpdash2026!!", "karpenter-karpdash", "qwertyqwerty", "admin_admin_admin", "dragon!!!!!!!!",
    "2026Kubernetes", "KarpKarpKarp", "iloveyou-karpenter", "Monkey99Monkey99", "123456123456",
)  # fmt: skip
GOOD = (
    "correct horse battery staple", "another quiet river 7", "4f8291736450", "7391 8264 0173",
    "xkcd\u00e9-\u4e2d\u6587-ampere", "no upper no digit", "AAB-LIFT-VELUM-09", "b" * 11 + "velumquay",
)  # fmt: skip


@pytest.mark.parametrize("password", GUESSED)
def test_a_common_word_with_something_around_it_is_refused(password: str) -> None:
    assert is_variant(password)


@pytest.mark.parametrize("password", GOOD)
def test_whatever_characters_a_password_is_made_of(password: str) -> None:
    assert not is_variant(password)


@pytest.mark.parametrize("word", sorted(WORDS))
def test_each_word_of_this_place_is_refused_where_passwords_are_chosen(word: str) -> None:
    with pytest.raises(ValidationError) as refused:
        validate_password(f"{word}-19283746501")
    assert "password_variant" in [one.code for one in refused.value.error_list]


@pytest.mark.parametrize("password", ["short", "1qaz2wsx3edc", "ada.lovelace.", "Ada.Lovelace1"])
def test_short_breached_and_own_names_are_refused(password: str) -> None:
    with pytest.raises(ValidationError):
        validate_password(password, User(username="ada.lovelace"))


@pytest.mark.parametrize("password", ["x" * 20 + " velum quay " + "y" * 180, "velum QUAY ampere ", "öäü quay velum"])
def test_long_and_odd_ones_are_taken(password: str) -> None:
    validate_password(password, User(username="ada.lovelace"))
