"""The measure of contrast itself: text of a kind that was measured often enough, with another ground under it."""

import pytest

from tests.browser.barriers import barriers_of_colour

LINES = "".join(f"<p style='height: 2em'>Line {number} of the same kind</p>" for number in range(8))
PAGE = f"""<!doctype html><html lang=en><title>Lines</title><style>
  body {{ margin: 0; background: #fff; color: #000; font-size: 16px; --ground: #fff }}
  @media (prefers-color-scheme: dark) {{ body {{ background: #fff; --ground: #111 }} }}
  main {{ position: relative; z-index: 0 }}
  p {{ margin: 0 }}
  .patch {{ position: absolute; z-index: -1; left: 0; width: 100%; height: 2em; background: var(--ground) }}
</style><main><h1>Lines</h1>PATCH{LINES}</main></html>"""


@pytest.mark.parametrize(
    ("patch", "found"), [("", []), ("<div class=patch style='bottom: 0'></div>", ["color-contrast"])]
)
def test_the_last_of_many_lines_is_measured_where_another_ground_lies_under_it(opened, patch, found):
    page = opened.new_page()
    page.set_content(PAGE.replace("PATCH", patch))
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert [rule for rule, _ in barriers_of_colour(page)] == found
    page.close()
