"""Sphinx builds these pages as a site: `make docs`, into build/docs."""

from migrations_app import __version__

project = "karpdash"
release = version = __version__
project_copyright = "the karpdash authors"
extensions = ["myst_parser"]
exclude_patterns = ["schema/*"]
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
html_theme = "furo"
html_title = f"karpdash {version}"
html_static_path: list[str] = []
html_copy_source = False
nitpicky = True
