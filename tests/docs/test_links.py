"""Links between pages lead somewhere, headings included; every page is found from README."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)


def links(page):
    return [one for one in LINK.findall(FENCE.sub("", page.read_text())) if "://" not in one]


def anchors(page):
    """The headings of a page as browsers find them, and what it names itself."""
    text = page.read_text()
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M)
    made = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return made | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page):
    lost = []
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            lost.append(link)
    assert lost == []


def test_every_page_is_found_from_readme():
    """Over as many pages as it takes."""
    found, left = set(), [PAGES[0]]
    while left:
        page = left.pop()
        if page not in found:
            found.add(page)
            left += [
                target for link in links(page)
                if (target := (page.parent / link.partition("#")[0]).resolve()).suffix == ".md" and target.exists()
            ]  # fmt: skip
    assert [str(page) for page in PAGES if page not in found] == []


def test_a_lost_link_would_be_found(tmp_path):
    page = tmp_path / "a.md"
    page.write_text("# One two\n[a](b.md) [c](#one-two) [d](#three)\n```\n[e](f.md)\n```\n")
    assert (links(page), anchors(page)) == (["b.md", "#one-two", "#three"], {"one-two"})
