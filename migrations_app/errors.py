"""Every error of the product. Each has a stable `code`; the text may change.

KarpdashError
├── BadInput            what a person or file gave us cannot be used (exit code 2, HTTP 400)
│   ├── BadKubeconfig
│   ├── BadBundle
│   ├── BadManifest
│   └── BadPolicy
├── CouldNotLook        something we wanted to read did not answer (exit code 3, a part is Unseen)
│   ├── Forbidden  Unauthorized  NotServed  NotAsked  TimedOut  Unreachable  TooLarge  Expired  Garbled  ServerFailed
│   └── AddressRefused  TlsRefused
├── NotFound            no such row, or not yours (HTTP 404)
├── Conflict            somebody else was first, or the state moved (HTTP 409)
├── Denied              this person may not do that; the code says why (HTTP 403)
└── BadSetting          our own configuration cannot be used (exit code 2)
"""


class KarpdashError(Exception):
    """Carries `code` for machines and the message for people; `detail` is safe to show."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None, where: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.where = where
        if code is not None:
            self.code = code

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class BadInput(KarpdashError):
    code = "bad_input"


class BadKubeconfig(BadInput):
    code = "bad_kubeconfig"


class BadBundle(BadInput):
    code = "bad_bundle"


class BadManifest(BadInput):
    code = "bad_manifest"


class BadPolicy(BadInput):
    """An IAM policy document that AWS itself could not read, or one far beyond any size AWS stores."""

    code = "bad_policy"


class CouldNotLook(KarpdashError):
    code = "could_not_look"


class Forbidden(CouldNotLook):
    code = "forbidden"


class Unauthorized(CouldNotLook):
    code = "unauthorized"


class NotServed(CouldNotLook):
    code = "not_served"


class NotAsked(CouldNotLook):
    """The source, a bundle, was never asked for this: neither absent nor present."""

    code = "not_asked"


class TimedOut(CouldNotLook):
    code = "timeout"


class Unreachable(CouldNotLook):
    code = "unreachable"


class TooLarge(CouldNotLook):
    code = "too_large"


class Expired(CouldNotLook):
    """A list could not be finished in one resource version (410 on continue)."""

    code = "expired"


class Garbled(CouldNotLook):
    """The answer is not what the API promises: broken JSON, wrong types, endless continue."""

    code = "garbled"


class ServerFailed(CouldNotLook):
    code = "server_failed"


CONVERSION_FAILED = "conversion_failed"
"""The code of a ServerFailed whose server could not convert objects from the version in which they are stored."""


class AddressRefused(CouldNotLook):
    code = "address_refused"


class TlsRefused(CouldNotLook):
    code = "tls_refused"


class NotFound(KarpdashError):
    code = "not_found"


class Conflict(KarpdashError):
    code = "conflict"


class Denied(KarpdashError):
    code = "forbidden"


class BadSetting(KarpdashError):
    code = "bad_setting"
