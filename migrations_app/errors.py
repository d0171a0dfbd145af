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


class InvalidInput(KarpdashError):
    code = "bad_input"


class InvalidKubeconfig(InvalidInput):
    code = "bad_kubeconfig"


class InvalidBundle(InvalidInput):
    code = "bad_bundle"


class InvalidManifest(InvalidInput):
    code = "bad_manifest"


class InvalidPolicy(InvalidInput):
    """An IAM policy document that AWS itself could not read, or one far beyond any size AWS stores."""

    code = "bad_policy"


class ReadError(KarpdashError):
    code = "could_not_look"


class Forbidden(ReadError):
    code = "forbidden"


class Unauthorized(ReadError):
    code = "unauthorized"


class NotServed(ReadError):
    code = "not_served"


class NotCollected(ReadError):
    """The source, a bundle, was never asked for this: neither absent nor present."""

    code = "not_asked"


class TimedOut(ReadError):
    code = "timeout"


class Unreachable(ReadError):
    code = "unreachable"


class TooLarge(ReadError):
    code = "too_large"


class Expired(ReadError):
    """A list could not be finished in one resource version (410 on continue)."""

    code = "expired"


class InvalidResponse(ReadError):
    """The answer is not what the API promises: broken JSON, wrong types, endless continue."""

    code = "garbled"


class ServerFailed(ReadError):
    code = "server_failed"


CONVERSION_FAILED = "conversion_failed"
"""The code of a ServerFailed whose server could not convert objects from the version in which they are stored."""


class AddressRefused(ReadError):
    code = "address_refused"


class TlsRefused(ReadError):
    code = "tls_refused"


class NotFound(KarpdashError):
    code = "not_found"


class Conflict(KarpdashError):
    code = "conflict"


class PermissionDenied(KarpdashError):
    code = "forbidden"


class InvalidSetting(KarpdashError):
    code = "bad_setting"
