"""No logic of the product reads sentences that are written for people: reasons, codes and values stand beside them."""

import pytest

from tests.house import measures
from tests.house.measures import ROOT
from tests.house.sentences import read_in, readers

SERVERS = "the words of a server, which gives no code for it"
ALLOWED = {
    "migrations_app/clients/kubernetes/errors.py: 'system:anonymous' in error_status.message": SERVERS,
    "migrations_app/execution/proof.py: 'dry run' in result.message.lower().replace('dryrun', 'dry run')"
    ".replace('-', ' ')": SERVERS,
    "migrations_app/use_cases/rollouts/journal.py: work.row.waits_for != text": "writes only a new one",
    "karpdash/processes/up.py: str(error).strip().partition('\\n')": "shows the first line of what a database says",
}
"""Each place that may, with why; one that is gone has to go from here as well."""


def test_no_logic_reads_sentences() -> None:
    found = [place for path in measures.product() for place in readers(ROOT / path, name=path)]
    assert sorted(found) == sorted(ALLOWED)


@pytest.mark.parametrize(
    "source",
    [
        "if WORDS in finding.summary: pass",
        "if 'gone' not in row.seen.lower(): pass",
        "if part.detail.endswith(': forbidden'): pass",
        "name = row.seen.partition(' ')[0]",
        "value = row.wanted.removeprefix('to ').split()",
        "if part.detail == NO_CONTROLLER: pass",
        "if part.detail in KNOWN: pass",
        "found = _UNREAD.findall(finding.summary or finding.title)",
        "found = re.search('x', row.wanted)",
        "value = row.seen[8:13]",
        "word = row.seen[place]",
        "def f(summary): return WORDS in summary",
        "def f(one):\n    said = one.summary or ''\n    return PATTERN.match(said.strip())",
        "def f():\n    try: g()\n    except ValueError as wrong: return 'gone' in str(wrong)",
        "def f(one):\n    if (said := one.detail) and said.startswith('a'): return 1",
    ],
)
def test_reading_a_sentence_is_found(source: str) -> None:
    assert len(read_in(source)) == 1


@pytest.mark.parametrize(
    "source",
    [
        "told = f'{row.seen} is now {row.wanted}'",
        "told = part.detail[:500]",
        "told = said.message[:1].upper() + said.message[1:]",
        "if finding.summary != '' and row.seen: pass",
        "if part.why == 'forbidden' or part.why in OURS: pass",
        "if row.path.startswith('spec.') and row.kind in KINDS: pass",
        "names = ' '.join(row.name for row in evidence)",
        "if NAME in lack.seen.untold: pass",
        "def f():\n    try: g()\n    except ValueError as wrong: return str(wrong)",
    ],
)
def test_handing_a_sentence_on_is_no_reading(source: str) -> None:
    assert read_in(source) == []
