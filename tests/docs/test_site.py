"""The pages of docs as a site: Sphinx builds them without a warning, and each is found from the first one."""

import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("site")
    words = ["-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet", "-b", "html", str(DOCS), str(built)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return built


def test_every_page_is_built(site: Path) -> None:
    wanted = {str(page.relative_to(DOCS).with_suffix(".html")) for page in DOCS.rglob("*.md")}
    assert wanted <= {str(page.relative_to(site)) for page in site.rglob("*.html")}


def test_every_page_is_in_the_contents_of_the_first(site: Path) -> None:
    first = (site / "index.html").read_text()
    pages = {str(page.relative_to(DOCS).with_suffix(".html")) for page in DOCS.rglob("*.md")} - {"index.html"}
    assert [page for page in sorted(pages) if f'href="{page}"' not in first] == []


def test_the_site_is_searched_without_a_server_of_others(site: Path) -> None:
    assert "fencing" in (site / "searchindex.js").read_text()
    outside = [page.name for page in site.rglob("*.html") if '<script src="http' in page.read_text()]
    assert outside == []
