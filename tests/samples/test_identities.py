"""Uids of sample objects: one for each object of each cluster, and owner references lead to their owners."""

from collections import Counter

import msgspec

from migrations_app.samples.fleet import files, stories


def held(story):
    return msgspec.json.decode(files(story)["objects.json"])["items"]


def test_no_two_objects_of_the_fleet_have_the_same_uid():
    found = Counter(one["metadata"]["uid"] for story in stories() for one in held(story))
    assert [uid for uid, count in found.items() if count > 1] == []


def test_owners_that_are_there_are_named_by_their_uid():
    wrong, right = [], 0
    for story in stories():
        docs = held(story)
        uids = {(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]): one for one in docs}
        for one in docs:
            metadata = one["metadata"]
            for by in metadata.get("ownerReferences", ()):
                places = ((by["kind"], space, by["name"]) for space in (None, metadata.get("namespace")))
                owner = next((uids[place] for place in places if place in uids), None)
                if owner is not None:
                    right += 1
                    wrong += [metadata["name"]] if by["uid"] != owner["metadata"]["uid"] else []
    assert (wrong, right > 100) == ([], True)
