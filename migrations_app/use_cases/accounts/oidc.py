"""OpenID Connect sign-in: exchanges the code, verifies the ID token, and finds or creates the account with its teams.

Any doubt about a token is a refusal. An account is linked only by the provider's issuer and subject: an existing
account is never taken over because of a matching name or e-mail address.
"""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jwt
from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction

from migrations_app.clients.identity_provider import OidcClient, Provider, discover, keys_of, tokens_for
from migrations_app.errors import PermissionDenied, ReadError
from migrations_app.models.account import Identity
from migrations_app.use_cases.accounts.directory_people import RESERVED, is_directory_name, unclaimed_account
from migrations_app.use_cases.accounts.directory_teams import directory_teams
from migrations_app.use_cases.audit.log import record_audit_event
from migrations_app.use_cases.runtime.connections import network_policy

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Asymmetric signatures only: `none` and HMAC are refused."""
CLAIMS = ("iss", "sub", "aud", "exp", "iat", "nonce")
LEEWAY = 60
MAX_TEAMS = 200
LONGEST_NAME = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcState:
    """Values that the session stored before the redirect to the provider, and the code from the callback."""

    code: str
    nonce: str
    verifier: str
    back: str


def client() -> OidcClient:
    """The OIDC settings. Raises PermissionDenied when there are none."""
    oidc_client: OidcClient | None = settings.ENV.oidc
    if oidc_client is None:
        raise _refused("no identity provider is set")
    return oidc_client


def provider() -> Provider:
    """The discovered endpoints of the configured provider. Raises ReadError."""
    return discover(client().issuer, reach=network_policy())


def claims_for(ticket: OidcState) -> dict[str, Any]:
    """Exchanges the code for an ID token and returns its verified claims. Raises PermissionDenied, ReadError."""
    idp = provider()
    form = {
        "grant_type": "authorization_code",
        "client_id": client().client_id,
        "client_secret": client().client_secret.reveal(),
        "code": ticket.code,
        "redirect_uri": ticket.back,
        "code_verifier": ticket.verifier,
    }
    try:
        token = tokens_for(idp, form, reach=network_policy()).get("id_token")
    except ReadError as wrong:
        raise _refused(wrong.message) from None
    if not isinstance(token, str):
        raise _refused("the identity provider sent no ID token")
    return _verified(token, idp, nonce=ticket.nonce)


def _verified(token: str, idp: Provider, *, nonce: str) -> dict[str, Any]:
    """The claims of the ID token, if it is signed by the provider, for this client, in time, and for this nonce."""
    try:
        key = _key_of(token, idp)
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=[key.algorithm_name],
            audience=client().client_id,
            issuer=idp.issuer,
            leeway=LEEWAY,
            options={"require": list(CLAIMS)},
        )
    except (jwt.PyJWTError, KeyError, TypeError, ValueError) as wrong:
        raise _refused(f"the ID token is not valid ({type(wrong).__name__})") from None
    if not secrets.compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
        raise _refused("the ID token's nonce does not match this sign-in")
    parties = claims["aud"]
    if isinstance(parties, list) and len(parties) > 1 and claims.get("azp") != client().client_id:
        raise _refused("the ID token was issued for another client")
    return claims


def _key_of(token: str, idp: Provider) -> jwt.PyJWK:
    """The key that the token's header names. Raises PermissionDenied unless there is exactly one."""
    header = jwt.get_unverified_header(token)
    kid, algorithm = header.get("kid"), header.get("alg")
    if algorithm not in ALGORITHMS:
        raise _refused("the ID token is signed with an algorithm that is not accepted")
    if not isinstance(kid, str) or not kid:
        raise _refused("the ID token names no signing key")
    fitting = [key for key in keys_of(idp, reach=network_policy()) if key.get("kid") == kid and _can_sign(key)]
    if len(fitting) != 1:
        raise _refused("the ID token names a key that the identity provider does not publish")
    return jwt.PyJWK(fitting[0], algorithm=algorithm)


def account_of(claims: Mapping[str, Any]) -> User:
    """The account for these claims, created if needed, with its teams synchronized. Raises PermissionDenied."""
    name, teams = _name(claims), _teams(claims)
    issuer, subject = str(claims["iss"]), str(claims["sub"])
    if not 0 < len(subject) <= 255:
        raise _refused("the identity provider's subject of the person is too long or not printable")
    with transaction.atomic():
        known = Identity.objects.select_related("user").filter(issuer=issuer, subject=subject).first()
        user = known.user if known else _create_account(name, issuer=issuer, subject=subject)
        if not user.is_active:
            raise _refused("the account is closed")
        _synchronize_teams(user, teams)
    return user


def provider_of(user_id: int) -> OidcClient | None:
    """The configured provider if the account signs in there; None for a local account."""
    oidc_client: OidcClient | None = settings.ENV.oidc
    tied = oidc_client is not None and Identity.objects.filter(user_id=user_id, issuer=oidc_client.issuer).exists()
    return oidc_client if tied else None


def require_authentication_since(claims: Mapping[str, Any], *, user_id: int, since: int) -> None:
    """Returns if the claims belong to that account and the provider authenticated it after `since` (Unix seconds).

    Raises PermissionDenied otherwise, also when the token has no `auth_time`.
    """
    tied = Identity.objects.filter(user_id=user_id, issuer=str(claims["iss"]), subject=str(claims["sub"]))
    if not tied.exists():
        raise _refused("another person signed in at the identity provider")
    auth_time = claims.get("auth_time")
    if (
        not isinstance(auth_time, int)
        or isinstance(auth_time, bool)
        or not since - LEEWAY <= auth_time <= time.time() + LEEWAY
    ):
        raise _refused("the identity provider did not confirm a new sign-in of the person")


def _create_account(name: str, *, issuer: str, subject: str) -> User:
    if name.casefold().startswith(RESERVED):
        raise _refused("the name belongs to a service account")
    if waiting := unclaimed_account(name):
        return _link_account(waiting, issuer=issuer, subject=subject)
    # Also a name of an account in the directory: a person whose account was closed could otherwise get a new one.
    if is_directory_name(name) or User.objects.filter(username__iexact=name).exists():
        raise _refused("an account of that name exists already and does not belong to this identity provider")
    try:
        with transaction.atomic():
            user = User.objects.create_user(username=name)
            Identity.objects.create(user=user, issuer=issuer, subject=subject)
    except IntegrityError:
        raise _refused("the account was created meanwhile; sign in again") from None
    record_audit_event("account.made", name, rights="those of its teams", by=issuer)
    return user


def _link_account(user: User, *, issuer: str, subject: str) -> User:
    """Links the account that a directory created for the person to the person's identity. The account had no identity
    yet.
    """
    try:
        with transaction.atomic():
            Identity.objects.create(user=user, issuer=issuer, subject=subject)
    except IntegrityError:
        raise _refused("the account was linked to the identity provider meanwhile; sign in again") from None
    record_audit_event("account.tied", user.username, by=issuer)
    return user


def _synchronize_teams(user: User, teams: frozenset[str]) -> None:
    """Makes the account's teams equal to those of the token: missing ones are added, others removed.

    Teams of a directory (SCIM) are left alone: the directory knows who left, the token only who was a member.
    """
    current = frozenset(user.groups.values_list("name", flat=True))
    directory = directory_teams(current | teams)
    current, teams = current - directory, teams - directory
    if current == teams:
        return
    for name in teams - current:
        user.groups.add(Group.objects.get_or_create(name=name)[0])
    user.groups.remove(*user.groups.filter(name__in=current - teams))
    record_audit_event("account.teams", user.username, joined=sorted(teams - current), left=sorted(current - teams))


def _name(claims: Mapping[str, Any]) -> str:
    name = claims.get(client().username_claim)
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name.strip()) <= LONGEST_NAME:
        raise _refused("the ID token has no usable name")
    return name.strip()


def _teams(claims: Mapping[str, Any]) -> frozenset[str]:
    """The usable groups of the token, without their prefix; may be empty. Raises PermissionDenied."""
    groups = claims.get(client().groups_claim) or []
    if (
        not isinstance(groups, list)
        or not all(isinstance(group, str) for group in groups)
        or len(groups) > 10 * MAX_TEAMS
    ):
        raise _refused("the groups of the ID token cannot be read")
    prefix = client().groups_prefix
    names = {group.removeprefix(prefix) for group in groups if group.startswith(prefix)}
    usable = frozenset(name for name in names if name.strip() == name and name.isprintable() and 0 < len(name) <= 150)
    if len(usable) > MAX_TEAMS:
        raise _refused(f"more than {MAX_TEAMS} groups apply: narrow them by a prefix")
    return usable


def _can_sign(key: Mapping[str, Any]) -> bool:
    return key.get("kty") in ("RSA", "EC", "OKP") and key.get("use", "sig") == "sig"


def _refused(words: str) -> PermissionDenied:
    return PermissionDenied(words, code="sign_in_refused")
