import pytest

from tests.builders.clusters import (
    a_cluster,
    an_empty_cluster,
    asked_hops,
    finding_of,
    helm_values_of,
    reads,
    remedies,
    result_of,
    result_without,
)

CHECK = "log_level_accepted"
GOOD = ("pass", "The controller starts with its log level", ())
WANTED = "debug, info or error"


def alpha(values: dict[str, object], **env: str):
    return a_cluster("0.31.5", kubernetes="1.28", env=env).with_values(values)


@pytest.mark.parametrize("values", [{}, {"logLevel": "error"}, {"logLevel": ""}, {"logLevel": None}])
def test_levels_that_the_controller_knows(values) -> None:
    assert result_of(CHECK, "0.32", alpha(values)) == GOOD


@pytest.mark.parametrize(
    ("level", "instead"), [("warn", "info"), ("INFO", "info"), ("Error", "error"), ("panic", "info")]
)
def test_it_exits_at_any_other(level: str, instead: str) -> None:
    found = finding_of(CHECK, "0.32", alpha({"logLevel": level}))
    assert (found.status, found.severity, found.summary) == ("fail", "blocker", "1 log level is refused")
    assert [(one.path, one.seen, one.wanted) for one in found.evidence] == [("config.logLevel", level, WANTED)]
    (helm,) = [one for one in remedies(CHECK, "0.32", alpha({"logLevel": level})) if one.how == "helm"]
    assert helm_values_of(helm) == {"logLevel": f'"{instead}"'}


def test_a_variable_that_0_31_does_not_read_is_read_from_0_32_on() -> None:
    cluster = alpha({}, LOG_LEVEL="warn")
    found = finding_of(CHECK, "0.32", cluster)
    assert [(one.path.rpartition("[")[2], one.seen, one.wanted) for one in found.evidence] == [
        ("LOG_LEVEL]", "warn", WANTED)
    ]
    assert all(WANTED in one.text for one in remedies(CHECK, "0.32", cluster))


def test_the_deployment_shows_it_from_0_32_on() -> None:
    assert result_of(CHECK, "1.0", a_cluster("0.37.8", helm=False)) == GOOD
    shown = a_cluster("0.37.8", helm=False, env={"LOG_LEVEL": "warning"})
    assert result_of(CHECK, "1.0", shown)[:2] == ("fail", "1 log level is refused")


def test_a_level_from_an_object_that_is_not_read() -> None:
    found = finding_of(CHECK, "0.32", alpha({}).with_hidden("LOG_LEVEL"))
    assert (found.status, found.severity) == ("unknown", "warning")
    assert found.summary == "LOG_LEVEL is taken from an object that is not read (valueFrom)"


def test_without_values_0_31_does_not_show_it() -> None:
    cluster = a_cluster("0.31.5", kubernetes="1.28", helm=False)
    found = finding_of(CHECK, "0.32", cluster)
    assert (found.status, found.severity) == ("unknown", "warning")
    assert result_of(CHECK, "0.33+", cluster, start="0.32.10")[:2] == (
        "not_applicable",
        "the upgrade to 0.32 settles it",
    )


def test_it_is_asked_from_0_32_on() -> None:
    assert asked_hops(CHECK)[0] == "0.32"


def test_without_a_controller_there_is_nothing_to_ask() -> None:
    assert result_of(CHECK, "1.0", an_empty_cluster(), start="0.37.8")[0] == "not_applicable"


@pytest.mark.parametrize("part", reads(CHECK))
def test_unseen_is_unknown(part: str) -> None:
    assert result_without(CHECK, "1.0", a_cluster(), part=part) == ("unknown", f"{part} could not be read: forbidden")
