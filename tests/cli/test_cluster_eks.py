"""EKS clusters in the terminal: the first step prints, the second proves and stores."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from pytest_django import Settings

from migrations_app.models.cluster import Cluster
from tests.cli.conftest import Karpdash, Said
from tests.fakes.aws_server import ARN, OWN_ARN, ROLE, AwsServer
from tests.fakes.evilk8s import EvilServer
from tests.use_cases.clusters import eks
from tests.use_cases.clusters.test_eks_registration import speaking

pytestmark = pytest.mark.django_db
First = Callable[..., Path]


@pytest.fixture
def aws(settings: Settings) -> Iterator[AwsServer]:
    with eks.running() as server:
        eks.at(settings, server)
        yield server


@pytest.fixture
def first(karpdash: Karpdash, aws: AwsServer, tmp_path: Path) -> First:
    """Runs the first step and makes the role; the file with what it printed."""

    def run(*words: str) -> Path:
        said = karpdash(*(words or ("cluster", "add", "shop", "--eks", ARN)))
        assert said.code == 0, said.err
        aws.roles[ROLE] = said.json["external_id"]
        path = tmp_path / "draft.json"
        path.write_text(said.out)
        return path

    return run


def second(karpdash: Karpdash, path: Path | str, *more: str, named: str = ARN) -> Said:
    return karpdash("cluster", "add", "shop", "--eks", named, "--role-arn", ROLE, "--draft", path, *more)


@pytest.mark.usefixtures("aws")
def test_the_first_step_prints_id_and_policies_and_stores_nothing(karpdash: Karpdash) -> None:
    said = karpdash("cluster", "add", "shop", "--eks", ARN)
    told = said.json
    (statement,) = told["trust_policy"]["Statement"]
    assert (statement["Principal"], statement["Condition"]) == (
        {"AWS": OWN_ARN}, {"StringEquals": {"sts:ExternalId": told["external_id"]}},
    )  # fmt: skip
    assert "eks:DescribeCluster" in json.dumps(told["permissions_policy"])
    assert f"3. karpdash cluster add shop --eks {ARN} --role-arn ARN --draft FILE\n" in said.err
    assert Cluster.objects.count() == 0


def test_the_second_step_proves_and_stores(karpdash: Karpdash, first: First, aws: AwsServer) -> None:
    path = first()
    with EvilServer(speaking) as server:
        aws.cluster(server.url, eks.CA)
        said = second(karpdash, path)
    row = Cluster.objects.get()
    assert (said.code, said.out, row.source, row.eks_arn, row.role_arn) == (0, f"{row.pk}\n", "eks", ARN, ROLE)
    assert (row.external_id, row.created_by) == (json.loads(path.read_text())["external_id"], "terminal")
    assert f"the role is guarded by its external id, and AWS describes {ARN}" in said.err
    assert "answers, Kubernetes v1.30.4-eks" in said.err


def test_by_name_and_region(karpdash: Karpdash, first: First) -> None:
    path = first("cluster", "add", "shop", "--eks", "shop", "--region", "eu-west-1")
    assert second(karpdash, path, "--no-test", named="shop").code == 0
    assert Cluster.objects.get().eks_arn == ARN


def test_a_server_that_does_not_answer_is_added_only_on_request(karpdash: Karpdash, first: First) -> None:
    path = first()
    said = second(karpdash, path)
    assert (said.code, "--no-test adds it anyway" in said.err, Cluster.objects.count()) == (3, True, 0)
    assert second(karpdash, path, "--no-test").code == 0


def test_an_unguarded_role_is_refused(karpdash: Karpdash, first: First, aws: AwsServer) -> None:  # T20
    path = first()
    aws.roles[ROLE] = ""
    said = second(karpdash, path)
    assert (said.code, Cluster.objects.count()) == (2, 0)
    assert said.err.startswith("karpdash cluster: --role-arn: the role can be assumed without the external id")


def test_the_draft_may_come_from_stdin(karpdash: Karpdash, first: First, monkeypatch: pytest.MonkeyPatch) -> None:
    text = first().read_bytes()
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    assert second(karpdash, "-", "--no-test").code == 0


@pytest.mark.parametrize("content", ["", "[]", "{}", "{"])
def test_a_file_that_is_no_draft(karpdash: Karpdash, aws: AwsServer, tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    said = second(karpdash, path)
    assert (said.code, said.err) == (2, f"karpdash cluster: {path}: not what the first step printed\n")
    assert aws.asked == []


def test_a_draft_of_another_cluster(karpdash: Karpdash, first: First) -> None:
    said = second(karpdash, first(), named=ARN.replace("shop", "other"))
    assert (said.code, said.err) == (2, "karpdash cluster: --draft: was made for shop in eu-west-1\n")


@pytest.mark.usefixtures("aws")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("add", "x", "--eks", "shop"), "--region: a region such as eu-west-1 is needed"),
        (("add", "x", "--eks", "arn:x"), "--eks: not the ARN of an EKS cluster"),
        (("add", "x", "--eks", ARN, "--role-arn", ROLE), "--role-arn: goes together with --draft"),
        (("add", "x", "--eks", ARN, "--role-arn", ROLE, "--draft", "/none"), "/none: cannot be read"),
        (("add", "x", "--in-cluster", "--region", "eu-west-1"), "--region: goes with --eks only"),
        (("add", "x", "--in-cluster", "--role-arn", ROLE), "--role-arn: goes with --eks only"),
        (("aws", "none"), "no cluster named 'none'"),
    ],
)
def test_what_cannot_be(karpdash: Karpdash, words: tuple[str, ...], told: str) -> None:
    said = karpdash("cluster", *words)
    assert (said.code, said.out, Cluster.objects.count()) == (2, "", 0)
    assert said.err.startswith(f"karpdash cluster: {told}")


def test_a_registered_cluster_gets_a_way_in_and_loses_it(karpdash: Karpdash, first: First) -> None:
    row = Cluster.objects.create(name="blue", source="in_cluster")
    assert "no way into an AWS account" in karpdash("cluster", "aws", "blue").err
    path = first("cluster", "aws", "blue", "--eks", ARN)
    said = karpdash("cluster", "aws", "blue", "--eks", ARN, "--role-arn", ROLE, "--draft", path)
    row.refresh_from_db()
    assert (said.code, said.err) == (0, "the role is guarded and kept; scans of blue read its AWS account\n")
    assert karpdash("cluster", "aws", "blue").out.splitlines() == [
        f"cluster      {ARN}",
        f"role         {ROLE}",
        f"external id  {row.external_id}",
    ]
    assert karpdash("cluster", "aws", "blue", "--forget").err == "forgot the role of blue\n"
    row.refresh_from_db()
    assert row.eks_arn == ""


def test_a_refused_way_in_changes_nothing(karpdash: Karpdash, first: First, aws: AwsServer) -> None:  # T20
    Cluster.objects.create(name="blue", source="in_cluster")
    path = first("cluster", "aws", "blue", "--eks", ARN)
    aws.roles[ROLE] = ""
    said = karpdash("cluster", "aws", "blue", "--eks", ARN, "--role-arn", ROLE, "--draft", path)
    assert (said.code, Cluster.objects.get().eks_arn) == (2, "")
