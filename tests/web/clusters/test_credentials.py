"""The connection page: another kubeconfig in the place of the one that is kept."""

import dataclasses

import pytest

from migrations_app.models.cluster import Cluster
from migrations_app.use_cases.clusters.registration import Details, register_kubeconfig
from migrations_app.use_cases.runtime.connections import unsealed
from tests.builders.rows import a_cluster
from tests.clients.one_cluster import TOKEN, OneCluster, kubeconfig_for
from tests.fakes.evilk8s import EvilServer
from tests.use_cases.clusters.eks import KEYS
from tests.web.pages import text

pytestmark = pytest.mark.django_db
AGAIN = "For security, paste the kubeconfig again."


@pytest.fixture
def there(settings):
    settings.ENV = dataclasses.replace(settings.ENV, encryption_keys=KEYS, allow_loopback=True)
    with EvilServer(OneCluster()) as server:
        yield server


@pytest.fixture
def url(there):
    found = register_kubeconfig(kubeconfig_for(there, token="old").encode(), Details(name="shop", by="ada"))
    return f"/clusters/{found}/connection"


def form(server, **more):
    return {"do": "kubeconfig-save", "kubeconfig": kubeconfig_for(server), "version": "1"} | more


def version() -> int:
    return Cluster.objects.get().version


def test_the_page_offers_it(ada, url):
    words = text(ada.get(url))
    assert "Use another kubeconfig" in words
    assert TOKEN not in words


def test_a_proven_kubeconfig_is_kept(ada, there, url):
    answer = ada.post(url, form(there), follow=True)
    assert "New kubeconfig tested and saved; earlier plans are no longer valid." in text(answer)
    assert TOKEN not in answer.content.decode()
    assert (version(), TOKEN.encode() in unsealed(Cluster.objects.get())) == (2, True)


def test_it_is_only_tested(ada, there, url):
    words = text(ada.post(url, form(there, do="kubeconfig-try")))
    assert "Connected." in words
    assert "Cannot tell whether" not in words
    assert version() == 1


def test_a_test_names_another_cluster(ada, url):
    with EvilServer(OneCluster("uid-2")) as other:
        assert "It connects to another cluster" in text(ada.post(url, form(other, do="kubeconfig-try")))
        answer = ada.post(url, form(other, typed_name="shop"))
    assert (answer.status_code, version()) == (422, 1)
    assert "the namespace kube-system there is not the one that was known" in text(answer)


def test_an_unknown_cluster_asks_for_the_name(ada, url):
    with EvilServer(OneCluster("")) as hidden:
        assert "type the cluster's name to save it" in text(ada.post(url, form(hidden, do="kubeconfig-try")))
        answer = ada.post(url, form(hidden))
        assert (answer.status_code, version()) == (422, 1)
        assert "type the cluster's name to keep it all the same" in text(answer)
        assert TOKEN not in answer.content.decode()  # T23
        ada.post(url, form(hidden, typed_name="shop"))
    assert version() == 2


@pytest.mark.parametrize("do", ["kubeconfig-save", "kubeconfig-try"])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"kubeconfig": ""}, "This field is required."),
        ({"token": "exec: {command: id}"}, "exec"),
        ({"version": "x"}, "Enter a whole number."),
    ],
)
def test_what_is_refused_is_told(ada, there, url, do, given, words):
    sent = form(there, do=do, **given)
    sent["kubeconfig"] = sent["kubeconfig"].replace(f"token: {TOKEN}", given.get("token", f"token: {TOKEN}"))
    assert words in text(ada.post(url, sent))
    assert version() == 1


def test_the_script_keeps_what_was_pasted_and_goes_on_once_it_is_saved(ada, there, url):
    """The browser keeps the field; without the script nothing can, for a secret is never sent back."""
    script = {"HX-Request": "true"}
    refused = ada.post(url, form(there, version="3"), headers=script)
    assert (TOKEN in refused.content.decode(), AGAIN in text(refused)) == (False, False)
    assert AGAIN in text(ada.post(url, form(there, version="3")))
    assert ada.post(url, form(there), headers=script)["HX-Redirect"] == url


def test_a_stale_page_changes_nothing(ada, there, url):
    assert "the cluster was changed meanwhile" in text(ada.post(url, form(there, version="3")))
    assert version() == 1


def test_who_may_not_change_clusters_may_not_do_this(ben, there, url):
    assert ben.post(url, form(there)).status_code in (403, 404)
    assert version() == 1


def test_other_sources_do_not_offer_it(ada):
    assert "Use another kubeconfig" not in text(ada.get(f"/clusters/{a_cluster(source='eks').pk}/connection"))
