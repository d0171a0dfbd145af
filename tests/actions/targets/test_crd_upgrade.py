"""Whatever versions a CRD has and gets: none that may be stored goes, in neither direction."""

from hypothesis import given
from hypothesis import strategies as st

from migrations_app.actions.base import Unavailable
from migrations_app.actions.plan import Step
from migrations_app.actions.targets.crd_upgrade import alike, upgrading_crd, without_rules
from migrations_app.actions.targets.crds import crd_target
from migrations_app.karpenter.versions import release

NAMES = ("v1alpha1", "v1beta1", "v1")
TARGET = crd_target("nodepools.karpenter.sh", "u1")
RELEASE = release("1.0.14")


@st.composite
def specs(draw):
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
    storage = draw(st.sampled_from(names))
    versions = [{"name": name, "served": draw(st.booleans()), "storage": name == storage} for name in names]
    strategy = draw(st.sampled_from(("None", "Webhook")))
    return {"versions": versions, "conversion": {"strategy": strategy}}


@st.composite
def stored(draw):
    """A CRD as a server holds it: what is stored is among its versions, the storage version always."""
    spec = draw(specs())
    names = [one["name"] for one in spec["versions"]]
    current = next(one["name"] for one in spec["versions"] if one["storage"])
    older = draw(st.lists(st.sampled_from(names), unique=True, max_size=2))
    listed = [*(name for name in older if name != current), current]
    return {"metadata": {"generation": 2}, "spec": spec, "status": {"storedVersions": listed}}


def names_after(before, patch):
    return {one["name"] for one in patch["spec"].get("versions", before["spec"]["versions"])}


def upgrade(before, spec):
    """The step, or the code of the refusal."""
    try:
        return upgrading_crd(TARGET, before, after={"metadata": {"name": "x"}, "spec": spec}, release=RELEASE)
    except Unavailable as refused:
        return refused.code


@given(stored(), specs())
def test_no_version_that_may_be_stored_goes(before, spec):  # CRD-08, CRD-10
    listed, new = set(before["status"]["storedVersions"]), {one["name"] for one in spec["versions"] if one["storage"]}
    step = upgrade(before, spec)
    if listed - {one["name"] for one in spec["versions"]}:
        assert step == "still_stored"
    elif step is None:
        assert alike(before["spec"], spec)
    else:
        there, back = names_after(before, step.change.body), names_after(before, step.undo.body)
        assert (listed <= there, listed | new <= back) == (True, True)


@given(stored(), specs())
def test_exactly_one_version_is_stored_on_the_way_there_and_back(before, spec):
    step = upgrade(before, spec)
    bodies = (step.change.body, step.undo.body) if isinstance(step, Step) else ()
    told = [body["spec"].get("versions", before["spec"]["versions"]) for body in bodies]
    assert [sum(one["storage"] for one in versions) for versions in told] == [1] * len(told)


def test_cel_rules_alone_are_no_difference():
    rules = {"properties": {"spec": {"type": "object", "x-kubernetes-validations": [{"rule": "true"}]}}}
    plain = {"properties": {"spec": {"type": "object"}}}
    assert without_rules(rules) == plain
    assert alike({"versions": [{"schema": plain}]}, {"versions": [{"schema": rules}]})
    assert not alike({"versions": [{"schema": plain}]}, {"versions": [{"schema": {}}]})


def test_only_annotations_that_differ_are_written():
    spec = {"versions": [{"name": "v1", "served": True, "storage": True}], "conversion": {"strategy": "None"}}
    before = {"metadata": {"generation": 2, "annotations": {"kept": "a", "old": "b", "own": "c"}}, "spec": spec}
    after = {"metadata": {"name": "x", "annotations": {"kept": "a", "old": "new", "more": "d"}}}
    newer = {**spec, "conversion": {"strategy": "Webhook"}}
    before["status"] = {"storedVersions": ["v1"]}
    step = upgrading_crd(TARGET, before, after={**after, "spec": newer}, release=RELEASE)
    written = step.change.body["metadata"]["annotations"]
    assert {key: value for key, value in written.items() if key in ("kept", "old", "more", "own")} == {
        "old": "new",
        "more": "d",
    }
