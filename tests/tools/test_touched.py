"""What a change touches is found by imports, and the folders that run anyway are left out."""

from tests.tools import touched


def test_modules_have_dotted_names():
    paths = ["migrations_app/web/__init__.py", "migrations_app/web/forms.py"]
    assert touched.modules(paths) == ["migrations_app.web", "migrations_app.web.forms"]


def test_importers_are_found_by_module_and_by_name():
    assert "tests/tools/test_touched.py" in touched.importers(["tests.tools.touched"])
    assert touched.importers(["migrations_app.no_such"]) == []


def test_folders_that_run_whole_or_later_are_left_out():
    paths = [
        "tests/web/test_fleet.py",
        "tests/checks/test_registry.py",
        "tests/browser/test_story.py",
        "tests/builders/clusters.py",
    ]
    assert [path for path in paths if touched.is_run(path)] == ["tests/web/test_fleet.py"]
