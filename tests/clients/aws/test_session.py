"""One identity a session: nothing of the environment is read, roles are taken and taken again (T20)."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import botocore
import pytest

from migrations_app.clients.aws.cross_account import AwsCredentials, AwsLimits, ClusterAccountAccess, OwnIdentity
from migrations_app.clients.aws.permissions import RIGHTS
from migrations_app.clients.aws.session import AMBIENT, AwsSession, own_keys, session_of
from migrations_app.clients.secret import Secret
from migrations_app.errors import Forbidden, ReadError, Unauthorized

ROLE = "arn:aws:iam::111122223333:role/karpdash"
FOREIGN = "arn:aws:iam::999900001111:role/karpdash"
OWN = AwsCredentials(access_key_id="AKIAOWN", secret=Secret("own"))
FAST = AwsLimits(tries=1, connect_seconds=2, read_seconds=2)


def session(stub, now=None, **changed):
    facts = {"region": "eu-west-1", "role_arn": ROLE, "external_id": "karpdash-1", "user": "ada"}
    own = OwnIdentity(keys=OWN, endpoint=stub.url)
    clock = {"now": now} if now else {}
    return AwsSession(ClusterAccountAccess(**facts | changed), own, limits=FAST, **clock)


@pytest.fixture
def hostile(monkeypatch, tmp_path):
    """Surroundings that would lead astray: other keys, a profile that runs a program, proxies, endpoints, roots."""
    config = tmp_path / "config"
    config.write_text(f"[default]\ncredential_process = touch {tmp_path}/ran\nregion = ap-south-1\n")
    for name, value in {
        "AWS_ACCESS_KEY_ID": "AKIAAMBIENT", "AWS_SECRET_ACCESS_KEY": "ambient", "AWS_PROFILE": "nobody",
        "AWS_CONFIG_FILE": str(config), "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_CA_BUNDLE": "/nowhere",
        "AWS_DEFAULT_REGION": "ap-south-1", "HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    return tmp_path


def test_the_role_is_taken_with_its_external_id_under_a_speaking_name(sts):
    stub = sts({ROLE: "karpdash-1"})
    keys = session(stub).keys()
    (asked,) = stub.asked
    assert (keys.access_key_id, keys.secret.reveal(), keys.token.reveal()) == ("ASIA1", "taken", "session")
    assert {
        name: asked[name] for name in ("Action", "RoleArn", "ExternalId", "RoleSessionName", "DurationSeconds")
    } == {
        "Action": "AssumeRole",
        "RoleArn": ROLE,
        "ExternalId": "karpdash-1",
        "RoleSessionName": "karpdash-scan-ada",
        "DurationSeconds": "3600",
    }
    assert "karpdash/scan" in asked["agent"]
    assert "Credential=AKIAOWN/" in asked["signed"]


def test_a_foreign_role_is_refused(sts):  # T20
    stub = sts({ROLE: "karpdash-1", FOREIGN: "of-somebody-else"})
    with pytest.raises(Forbidden) as caught:
        session(stub, role_arn=FOREIGN).keys()
    told = "AssumeRole denied: by the role's trust policy, its external ID, or the policy of karpdash"
    assert caught.value.message == told


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("ExpiredToken", ("expired_credentials", Unauthorized)),
        ("InvalidClientTokenId", ("unauthorized", Unauthorized)),
        ("Throttling", ("throttled", ReadError)),
        ("RegionDisabledException", ("region_off", Unauthorized)),
    ],
)
def test_why_a_role_could_not_be_taken(sts, code, told):
    with pytest.raises(told[1]) as caught:
        session(sts({}, code=code)).keys()
    assert caught.value.code == told[0]


def test_the_surroundings_are_not_read(sts, hostile):  # T20
    stub = sts({ROLE: "karpdash-1"})
    made = session(stub)
    clients = {service: made.client(service) for service in {right.client or right.service for right in RIGHTS}}
    assert "Credential=AKIAOWN/" in stub.asked[0]["signed"]
    assert {client.meta.endpoint_url for client in clients.values()} == {stub.url}
    assert {client.meta.region_name for client in clients.values()} <= {"eu-west-1", "aws-global"}
    assert not (hostile / "ran").exists()


def test_endpoints_follow_region_and_partition(hostile):
    entry = ClusterAccountAccess(region="cn-north-1", keys=OWN)
    made = AwsSession(entry, OwnIdentity())
    assert {service: made.client(service).meta.endpoint_url for service in ("iam", "eks", "sts")} == {
        "iam": "https://iam.cn-north-1.amazonaws.com.cn",
        "eks": "https://eks.cn-north-1.amazonaws.com.cn",
        "sts": "https://sts.cn-north-1.amazonaws.com.cn",
    }


def test_every_call_has_timeouts_and_few_tries():
    config = AwsSession(ClusterAccountAccess(region="eu-west-1", keys=OWN), OwnIdentity()).config
    assert (config.connect_timeout, config.read_timeout, config.retries["total_max_attempts"]) == (5.0, 20.0, 3)
    assert config.proxies == {}


def test_without_leave_the_surroundings_give_no_identity(hostile):  # T20
    config = AwsSession(ClusterAccountAccess(region="eu-west-1", keys=OWN), OwnIdentity()).config
    with pytest.raises(Unauthorized) as caught:
        own_keys(OwnIdentity(), region="eu-west-1", config=config)
    assert caught.value.code == "no_identity"


def test_with_leave_the_environment_is_an_identity(monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAAMBIENT")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "ambient")
    config = AwsSession(ClusterAccountAccess(region="eu-west-1", keys=OWN), OwnIdentity()).config
    assert own_keys(OwnIdentity(ambient=True), region="eu-west-1", config=config).access_key_id == "AKIAAMBIENT"


def test_even_with_leave_no_program_no_file_and_no_instance_metadata(monkeypatch, hostile):  # T20
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name)
    config = AwsSession(ClusterAccountAccess(region="eu-west-1", keys=OWN), OwnIdentity()).config
    with pytest.raises(Unauthorized):  # the audit hook of the tests would fail a call to 169.254.169.254
        own_keys(OwnIdentity(ambient=True), region="eu-west-1", config=config)
    assert not (hostile / "ran").exists()
    assert {"iam-role", "custom-process", "shared-credentials-file"}.isdisjoint(AMBIENT)


def test_a_role_is_taken_again_before_it_ends(sts):
    stub = sts({ROLE: "karpdash-1"}, seconds=3600)
    moment = [datetime.now(UTC)]
    made = session(stub, now=lambda: moment[0])
    first = made.keys()
    moment[0] += timedelta(minutes=39)
    assert made.keys() is first
    moment[0] += timedelta(minutes=2)
    assert (made.keys().access_key_id, len(stub.asked)) == ("ASIA2", 2)


def test_a_closed_session_has_forgotten(sts):
    stub = sts({ROLE: "karpdash-1"})
    made = session(stub)
    made.keys()
    made.close()
    made.keys()
    assert len(stub.asked) == 2


def test_the_account_is_that_of_the_role(sts):
    stub = sts({})
    assert session(stub).account == "111122223333"
    assert AwsSession(ClusterAccountAccess(region="eu-west-1", keys=OWN), OwnIdentity()).account == ""


def test_all_sessions_share_one_reading_of_the_service_descriptions():
    made = [session_of(OWN, region) for region in ("eu-west-1", "us-east-1")]
    first, second = (each._session.get_component("data_loader") for each in made)
    assert first is second
    assert [path for path in first.search_paths if not path.startswith(str(Path(botocore.__file__).parent))] == []
    assert first.load_service_model("sts", "service-2") is second.load_service_model("sts", "service-2")
