"""Settings of the identity provider: all of them, or none."""

import pytest

from karpdash.configuration.env import read
from migrations_app.errors import InvalidSetting

WHOLE = {
    "KARPDASH_OIDC_ISSUER": "https://id.example/realm",
    "KARPDASH_OIDC_CLIENT_ID": "karpdash",
    "KARPDASH_OIDC_CLIENT_SECRET": "hidden-secret",
}


def test_without_an_issuer_it_is_off(tmp_path):
    assert read({"KARPDASH_DATA_DIR": str(tmp_path)}).oidc is None


def test_the_settings_are_read(tmp_path):
    found = read(WHOLE | {"KARPDASH_DATA_DIR": str(tmp_path)}).oidc
    assert found is not None
    assert (found.issuer, found.client_id, found.username_claim, found.groups_claim, found.groups_prefix) == (
        "https://id.example/realm", "karpdash", "preferred_username", "groups", "",
    )  # fmt: skip
    assert "hidden-secret" not in repr(found)


@pytest.mark.parametrize("issuer", ["http://127.0.0.1:8080", "http://localhost/x", "http://[::1]:1"])
def test_plain_http_is_taken_inside_this_machine(tmp_path, issuer):
    found = read(WHOLE | {"KARPDASH_DATA_DIR": str(tmp_path), "KARPDASH_OIDC_ISSUER": issuer}).oidc
    assert found is not None
    assert found.issuer == issuer


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        *(({"OIDC_ISSUER": url}, "OIDC_ISSUER") for url in (
            "", "id.example", "http://id.example", "ftp://id.example", "https://u:p@id.example", "https://id.example?x=1",
            "https://id.example#x", "https://id.example:0", "https://id.example:x", "https://id .example",
        )),
        ({"OIDC_CLIENT_ID": ""}, "OIDC_CLIENT_ID"),
        ({"OIDC_CLIENT_SECRET": ""}, "OIDC_CLIENT_SECRET"),
        ({"OIDC_USERNAME_CLAIM": ""}, "OIDC_USERNAME_CLAIM"),
        ({"OIDC_GROUPS_CLAIM": ""}, "OIDC_GROUPS_CLAIM"),
        ({"OIDC_SCOPES": "profile"}, "OIDC_SCOPES"),
    ],
)  # fmt: skip
def test_bad_settings_stop_the_start(tmp_path, changed, where):
    given = WHOLE | {f"KARPDASH_{name}": value for name, value in changed.items()}
    with pytest.raises(InvalidSetting) as caught:
        read(given | {"KARPDASH_DATA_DIR": str(tmp_path)})
    assert caught.value.where == f"KARPDASH_{where}"
    assert "hidden-secret" not in str(caught.value)
