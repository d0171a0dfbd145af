"""Refuses passwords that are easy to guess although they are long: a common word, or a word about this product, with
digits or signs around it.

Length and Django's list of common passwords are checked by other validators; no kinds of characters are required.
"""

import re
from functools import cache

from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError

WORDS = frozenset({
    "admin", "administrator", "amazon", "approver", "argocd", "aws", "claim", "cluster", "compose", "dashboard", "dash",
    "docker", "eks", "helm", "karp", "karpdash", "karpenter", "kube", "kubernetes", "machine", "node",
    "nodeclaim", "nodeclass", "nodepool", "operator", "password", "pool", "provisioner", "readiness", "root", "upgrade",
    "viewer", "welcome",
})  # fmt: skip
"""Words that an attacker who knows karpdash tries first."""
MAX_PARTS = 2
"""A phrase of more different words than this is not a variant of one."""

FEWEST_LETTERS = 3
"""A shorter run of letters is not a word: digits with a few letters are as good a password as their length."""


class VariantValidator:
    """Refuses one or two common words with digits and signs around them, or repeated."""

    def validate(self, password: str, user: AbstractBaseUser | None = None) -> None:  # noqa: ARG002 - Django's signature
        """Raises ValidationError."""
        if is_variant(password):
            raise ValidationError("This password is a common word with something around it.", code="password_variant")

    def get_help_text(self) -> str:
        """Returns the rule as a text for forms."""
        return "Three or more words of your own are good; one common word with digits around it is not."


def is_variant(password: str) -> bool:
    """Whether nothing is left of the password without common words, words of this product, digits and signs."""
    parts = {_unit(part) for part in re.findall(r"[^\W\d_]+", password.casefold())} or {_unit(password.casefold())}
    return len(parts) <= MAX_PARTS and all(_is_known(part) for part in parts)


def _unit(text: str) -> str:
    """Returns the part that the text repeats; the text itself if it repeats nothing."""
    return text[: (text + text).find(text, 1)]


def _is_known(part: str) -> bool:
    return len(part) >= FEWEST_LETTERS and (part in WORDS or part in _common())


@cache
def _common() -> frozenset[str]:
    return frozenset(CommonPasswordValidator().passwords)
