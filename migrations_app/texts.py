"""The mark of a text for translation in Python; templates have their own (`templatetags/texts.py`)."""

from typing import cast

from django.conf import settings
from django.utils.translation import gettext_lazy


def text(english: str) -> str:
    """The text in the language of whoever reads it; without USE_I18N the text itself."""
    return cast(str, gettext_lazy(english)) if settings.USE_I18N else english
