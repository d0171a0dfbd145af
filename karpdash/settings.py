"""Django settings, built from `env`."""

from karpdash.celery import app as celery_app
from karpdash.configuration.cache import caches
from karpdash.configuration.env import current
from karpdash.configuration.rest import REST_FRAMEWORK, SPECTACULAR_SETTINGS
from karpdash.files import folder

__all__ = ["REST_FRAMEWORK", "SPECTACULAR_SETTINGS", "celery_app"]

ENV = current()

DEBUG = False
SECRET_KEY = ENV.secret_key or "not-for-serving"
ALLOWED_HOSTS = list(ENV.allowed_hosts)
CSRF_TRUSTED_ORIGINS = list(ENV.trusted_origins)
ROOT_URLCONF = "karpdash.urls"
WSGI_APPLICATION = "karpdash.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": ENV.database}
CACHES = caches(ENV.broker_url)

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "axes",
    "migrations_app",
]

MIDDLEWARE = [
    "karpdash.middleware.request_ids.RequestIds",
    "karpdash.middleware.client_address.ClientAddress",
    "karpdash.middleware.refusals.Refusals",
    "django.middleware.security.SecurityMiddleware",
    "karpdash.middleware.static_files.CompressedPages",
    "karpdash.middleware.static_files.OtherReleases",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "karpdash.middleware.headers.ContentSecurityPolicy",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "karpdash.middleware.activity.SessionActivity",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "axes.middleware.AxesMiddleware",
    "karpdash.middleware.refusals.WrongMethod",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [folder("templates")],
        "OPTIONS": {
            "builtins": ["migrations_app.templatetags.texts"],
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    ["migrations_app.templatetags.texts.Loader", "django.template.loaders.app_directories.Loader"],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    },
]

AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
    "migrations_app.use_cases.accounts.rights.GrantBackend",
]
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "karpdash.sign_in.passwords.VariantValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "fleet"
LOGOUT_REDIRECT_URL = "login"
AXES_HANDLER = "karpdash.sign_in.throttle.PasswordThrottle"
AXES_FAILURE_LIMIT = 10
AXES_COOLOFF_TIME = 0.25
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_USERNAME_CALLABLE = "migrations_app.use_cases.accounts.sign_in.throttled_name"
AXES_HTTP_RESPONSE_CODE = 429
AXES_VERBOSE = False
AXES_LOCKOUT_TEMPLATE = "sign_in/locked.html"
# The table of django-axes stores posted fields; the password fields of every page are left out.
AXES_SENSITIVE_PARAMETERS = [
    *("username", "ip_address", "password", "old_password", "new_password1", "new_password2", "csrfmiddlewaretoken"),
]

# Browsers accept a cookie with this prefix only over TLS, for this host and path /: no other host sets or reads it.
COOKIE_PREFIX = "__Host-" if ENV.https else ""
SESSION_ENGINE = "karpdash.sign_in.sessions"
SESSION_COOKIE_NAME = f"{COOKIE_PREFIX}sessionid"
SESSION_COOKIE_AGE = 12 * 3600
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = ENV.https
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrftoken"
CSRF_COOKIE_SECURE = ENV.https
# Forms and htmx read their token from the page.
CSRF_COOKIE_HTTPONLY = True
SECURE_SSL_REDIRECT = ENV.https
SECURE_HSTS_SECONDS = 31_536_000 if ENV.https else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = ENV.https
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ENV.behind_proxy else None
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
USE_TZ = True
# English is the only language: marks of texts are taken off when a template is compiled (CONTRIBUTING.md).
USE_I18N = False

STATIC_URL = "static/"
STATICFILES_DIRS = [folder("static")]
GLOSSARY = folder("docs/glossary.md")
OPENAPI = folder("docs/schema/openapi-v1.yaml")
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "karpdash.middleware.static_files.HashedAddresses"},
}
# Files are served from their source folder: there is no collectstatic step and no second copy.
WHITENOISE_USE_FINDERS = True
WHITENOISE_ALLOW_ALL_ORIGINS = False
# The URL of a static file changes with its content.
WHITENOISE_MAX_AGE = 24 * 3600

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"quiet_bodies": {"()": "karpdash.monitoring.logs.NoBodies"}},
    "formatters": {"json": {"()": "karpdash.monitoring.logs.json_formatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json", "filters": ["quiet_bodies"]}},
    "root": {"handlers": ["stderr"], "level": ENV.log_level},
}
