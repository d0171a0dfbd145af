"""Fifty nodes leave alpha in the browser, by each of three ways: one operator, one approver, real processes.

After each way the cluster is the same, so one of them goes on to v1.
"""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.two_people import LONG, SOON, WORD, Desk, PagesInstallation, installation
from tests.servers.apiserver import ApiServer
from tests.simulator.beside import ServerSimulator
from tests.simulator.conversion import conversion_webhook
from tests.simulator.fleet import Size, alpha_fleet
from tests.simulator.story import CRDS, Story, pods, rested

pytestmark = pytest.mark.timeout(1200)
FLEET = Size(nodes=50, slots=4, apps=10, unavailable=2, spec={"kubeletConfiguration": {"maxPods": 42}})
PODS = FLEET.nodes * FLEET.slots
NODE_CLASS = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses/default"
WAYS = {"taint_and_drift": {}, "roll_nodes": {}, "forced_deletion": {"provisioners": "default"}}
TO_V1 = "taint_and_drift"


@pytest.fixture(scope="module")
def staffed(opened: Browser) -> Iterator[PagesInstallation]:
    """An installation with an operator, an approver, and somebody who sets the policies."""
    with installation(opened) as found:
        operator = ("operate_rollout", "add_cluster", "add_scan")
        found.hire(ada=operator, cleo=("approve_rollout",), gil=("administer_policy",))
        boss = found.seated("gil")
        boss.goto("/policy")
        for name, value in {"approvals_destructive": "1", "batch": "5", "per_hour": "100"}.items():
            boss.locator(f"#{name}").fill(value)
        boss.get_by_role("button", name="Change the policy").click()
        found.leave()
        yield found


@pytest.fixture
def simulator(clean_apiserver: ApiServer) -> Iterator[ServerSimulator]:
    made = ServerSimulator(clean_apiserver)
    yield made
    made.close()


@pytest.fixture
def desk(staffed: PagesInstallation, clean_apiserver: ApiServer, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """Nobody's console says anything by the end."""
    name = f"shop-{request.node.callspec.params['way'].replace('_', '-')}"
    # Nodes are rolled from a phone.
    size = {"width": 390, "height": 844} if "roll" in name else {"width": 1280, "height": 900}
    operator, approver = staffed.seated("ada", viewport=size), staffed.seated("cleo")
    yield Desk(staffed, operator, approver, cluster="", name=name)
    assert staffed.leave() == []


def register(desk: Desk, server: ApiServer) -> None:
    """The operator pastes the kubeconfig."""
    page = desk.operator
    page.goto("/clusters/new?way=paste")
    page.get_by_label("Name", exact=True).fill(desk.name)
    page.locator("#id_kubeconfig").fill(server.kubeconfig(server.admin_token))
    page.get_by_role("button", name="Register and scan").click()
    page.wait_for_url(re.compile(r"/clusters/[0-9a-f-]{36}/$"))
    desk.cluster = page.url.rstrip("/").rpartition("/")[2]


def scanned(page: Page, cluster: str) -> None:
    """Asks for a fresh look by hand, as after a release of the controller that nobody did from here."""
    page.goto(f"/clusters/{cluster}/")
    with page.expect_response(lambda answer: answer.request.method == "POST"):  # a scan that ends reloads the page
        page.get_by_role("button", name=re.compile("^(Scan now|Done, check again)$")).first.click()


def paused_and_resumed(desk: Desk) -> None:
    """In the middle, with nodes on both sides."""
    page = desk.operator
    expect(page.locator(".counters").first).to_contain_text("NodePool nodes", timeout=SOON)
    page.get_by_role("button", name="Pause after this step").click()
    expect(page.locator(WORD)).to_have_text("Paused", timeout=LONG)
    expect(page.locator("#live")).to_contain_text("Counted")
    held = desk.installation.up.rows("SELECT state FROM migrations_app_rollout WHERE action = 'roll_nodes'")
    assert (held, page.evaluate("document.documentElement.scrollWidth")) == ([("paused",)], 390)
    page.get_by_role("button", name=re.compile(r"^Resume \(step \d+ of 51\)$")).click()
    expect(page.locator(WORD)).to_have_text("Running")


@pytest.fixture
def story(desk: Desk, simulator: ServerSimulator, clean_apiserver: ApiServer) -> Iterator[Story]:
    """A registered cluster of alpha objects. In the end no pod was below its budget, and the two journals agree."""
    server, mark = clean_apiserver, clean_apiserver.audit_mark()
    server.load_crds("alpha")
    alpha_fleet(server, FLEET)
    told = Story(server, desk.installation.up.data / "charts")
    told.controller("0.31.4")
    register(desk, server)
    yield told
    simulator.settle()
    assert {budget: margin for budget, margin in simulator.lowest.items() if margin < 0} == {}
    assert pods(server) == (PODS, 0)
    events = server.audit_events(mark)
    assert {row: said for row in desk.rollouts if (said := desk.installation.complaints(row, events))} == {}


def to_v1beta1(desk: Desk, simulator: ServerSimulator, story: Story, *, way: str) -> None:
    """Every node belongs to a NodePool, and nothing of alpha is left."""
    desk.rollout("upgrade_crds", source=story.chart("0.32.10", converts=False), release="0.32.10")
    drifts = simulator.behaviour.drifts = way == "taint_and_drift"
    story.controller("0.32.10", FEATURE_GATES=f"Drift={str(drifts).lower()}")
    scanned(desk.operator, desk.cluster)
    desk.rollout("convert_and_apply", node_role="KarpenterNodeRole")
    desk.begin(way, **WAYS[way])
    desk.agree()
    desk.start()
    if way == "roll_nodes":
        paused_and_resumed(desk)
    desk.finished()
    assert rested(story.server) == (0, PODS)
    desk.rollout("remove_legacy")


def to_v1(desk: Desk, simulator: ServerSimulator, story: Story) -> None:
    """Everything is stored as v1."""
    with conversion_webhook() as conversion:
        desk.rollout("upgrade_crds", source=story.chart("0.37.8", converts=False), release="0.37.8")
        story.controller("0.37.8")
        story.convert_by(conversion)
        desk.rollout("upgrade_crds", source=story.chart("1.0.14", converts=True), release="1.0.14")
        story.controller("1.0.14")
        simulator.behaviour.version = "v1"
        scanned(desk.operator, desk.cluster)
        desk.rollout("convert_and_apply")
        desk.rollout("rewrite_stored_versions")
        desk.rollout("remove_legacy")


@pytest.mark.parametrize("way", [way for way in WAYS if way != TO_V1])
def test_fifty_nodes_go_to_v1beta1_in_the_browser(desk, simulator, story, way):  # A24, A28, A33, A34, A42, A44
    with simulator.running():
        to_v1beta1(desk, simulator, story, way=way)


@pytest.mark.parametrize("way", [TO_V1])
def test_fifty_nodes_go_to_v1_in_the_browser(desk, simulator, story, way):  # A24, A28, A33, A34, A42, A44
    server = story.server
    with simulator.running():
        to_v1beta1(desk, simulator, story, way=way)
        to_v1(desk, simulator, story)
    simulator.settle()
    assert server.admin.get(NODE_CLASS)["spec"]["kubelet"] == {"maxPods": 42}
    assert server.admin.get(f"{CRDS}/nodepools.karpenter.sh")["status"]["storedVersions"] == ["v1"]
    assert server.admin.request("GET", f"{CRDS}/provisioners.karpenter.sh").status == 404
