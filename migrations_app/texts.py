"""Marks a text in Python for translation; templates have their own mark (`templatetags/texts.py`)."""

from typing import cast

from django.conf import settings
from django.utils.translation import gettext_lazy


def text(english: str) -> str:
    """The text in the language of the reader; without USE_I18N the text itself."""
    return cast(str, gettext_lazy(english)) if settings.USE_I18N else english
