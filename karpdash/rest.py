"""Settings of the REST framework and of its schema."""

from typing import Any

REST_FRAMEWORK: dict[str, Any] = {}
SPECTACULAR_SETTINGS: dict[str, Any] = {}
