"""Forty payloads in every field of a cluster, on every page of it: nothing runs, and the policy has nothing to stop."""

from tests.builders.rows import a_cluster, a_failure, a_scan, a_snapshot
from tests.web.test_hostile_text import PAYLOADS, TABS, poisoned

MORE = (
    "<img src=/x onerror=window.hit=1>",
    "<svg><script>window.hit=1</script></svg>",
    "<iframe srcdoc='<script>parent.hit=1</script>'>",
    "<math><mi xlink:href='javascript:window.hit=1'>x",
    "<a href='javascript:window.hit=1'>x</a>",
    "<form action=javascript:window.hit=1><button>x",
    "<input autofocus onfocus=window.hit=1>",
    "<details open ontoggle=window.hit=1>",
    "<video><source onerror=window.hit=1>",
    "<body onload=window.hit=1>",
    "<style>*{background:url(/hit)}</style>",
    "<link rel=stylesheet href=/hit>",
    "<base href=//evil.example>",
    "<meta http-equiv=refresh content=0;url=/hit>",
    "<object data=/hit><embed src=/hit>",
    "--><script>window.hit=1</script>",
    "]]><script>window.hit=1</script>",
    "</title><script>window.hit=1</script>",
    "</textarea><script>window.hit=1</script>",
    "</script><script>window.hit=1</script>",
    '\\"><script>window.hit=1</script>',
    "'-window.hit=1-'",
    '";window.hit=1;//',
    "${window.hit=1}",
    "{{constructor.constructor('window.hit=1')()}}",
    "<x hx-get=/hit hx-trigger=load>",
    "<x hx-on::load=window.hit=1>",
    '" hx-get=/hit hx-trigger=load x="',
    "data:text/html,<script>window.hit=1</script>",
    "\u2028<script>window.hit=1</script>",
    "&#60;script&#62;window.hit=1&#60;/script&#62;",
    "%3Cscript%3Ewindow.hit=1%3C/script%3E",
)


def test_nothing_runs(browse):
    """One cluster a payload would be 40 x 7 loads; each report carries them all, as single checks and joined."""
    page = browse()
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    every = (*PAYLOADS, *MORE)
    for start in range(0, len(every), 10):
        text = " ".join(every[start : start + 10])
        cluster = _poisoned(every[start], text)
        for tab in TABS:
            page.goto(f"/clusters/{cluster.pk}/{tab}")
            page.evaluate("for (const fold of document.querySelectorAll('details')) fold.open = true")
            assert page.evaluate("window.hit === undefined")
    page.goto("/")
    assert page.evaluate("window.hit === undefined")
    assert [url for url in asked if "hit" in url or "evil" in url] == []


def _poisoned(name, text):
    cluster = a_cluster(name, environment=text[:40], server=text[:500])
    report, nodes = poisoned(text)
    a_snapshot(cluster, report, nodes=nodes, karpenter_version=text[:40], kubernetes_version=text[:40])
    a_failure(cluster, detail=text[:2000])
    a_scan(cluster, requested_by=text[:150])
    return cluster


def test_every_payload_alone_in_the_fleet(browse):
    page = browse()
    for payload in (*PAYLOADS, *MORE):
        a_cluster(payload, environment=payload[:40])
    page.goto("/")
    assert page.evaluate("window.hit === undefined")
    assert page.locator("tr.row").count() == len(PAYLOADS) + len(MORE)
