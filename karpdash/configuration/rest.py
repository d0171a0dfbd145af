"""Settings of the REST framework and of its schema. The API itself is in migrations_app/api."""

from typing import Any

from migrations_app.readiness.outputs.json_schema import definitions, plan_definitions, sheet_definitions

REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "migrations_app.api.framework.problems.exception_answer",
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "migrations_app.api.framework.authentication.BearerToken",
        "migrations_app.api.framework.authentication.Session",
    ],
    # Deny by default: an endpoint outside the framework declares no permission and allows no access.
    "DEFAULT_PERMISSION_CLASSES": ["migrations_app.api.framework.permissions.DeclaredPermission"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["migrations_app.api.framework.fields.StrictJsonParser"],
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
    "URL_FIELD_NAME": "url",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
_REFERENCE = "#/components/schemas/{name}"
_SCHEMAS = definitions(_REFERENCE) | sheet_definitions(_REFERENCE) | plan_definitions(_REFERENCE)
SPECTACULAR_SETTINGS: dict[str, Any] = {
    "TITLE": "karpdash",
    "DESCRIPTION": (
        "Readiness of clusters for Karpenter upgrades. Lists are paged by cursor: follow `next`. Errors are "
        "application/problem+json with a stable `code`. X-Request-ID is taken over and sent back."
    ),
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["migrations_app.api.framework.permissions.DeclaredPermission"],
    "SERVE_AUTHENTICATION": None,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "PREPROCESSING_HOOKS": ["migrations_app.api.framework.schema.listed_once"],
    # Enums stay inline: the scan schema has its own, which the hook cannot name.
    "POSTPROCESSING_HOOKS": ["migrations_app.api.framework.openapi_document.completed"],
    "APPEND_COMPONENTS": {"schemas": _SCHEMAS},
    "ENFORCE_NON_BLANK_FIELDS": True,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "persistAuthorization": False},
}
