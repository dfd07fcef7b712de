"""English for the search: stems, function words, irregular forms; texts without spaces are cut.

Function words say nothing of what a text is about and general ones little. FTS5 makes the stems,
which are read back from a table in memory, and knows no irregular forms.
"""

import re
import sqlite3
from collections.abc import Sequence

from skillvault.text import UNSPACED

FIELDS = ("name", "description", "body")
TOKENS = "porter unicode61"
_RUN = re.compile(f"[{UNSPACED}]{{2,}}")

FUNCTION_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being between but by
    can could d did do does doing don done during each either etc for from had has have having
    he her here hers him his how i if in into is it its itself ll m may me might must my no nor
    not of on onto or other our ours over per re s shall she should so some such t than that the
    their theirs them then there these they this those to until upon us used using ve very via
    was we were what when where whether which while who whom whose why will with within without
    would you your yours
    """.split()
)

# What a question is put in more often than what it is about.
GENERAL_WORDS = frozenset(
    """
    come comes coming came feel feels feeling felt find finds finding found get gets getting got
    gotten give gives giving gave given go goes going went gone keep keeps keeping kept know knows
    knew known let lets like likes look looks looking looked make makes making made need needs
    needed put puts say says saying said see sees seeing saw seen start starts starting started
    take takes taking took taken tell tells telling told think thinks thinking thought try tries
    trying tried use uses want wants wanting wanted
    kind kinds lot lots many much someone something sort sorts thing things type types way ways
    """.split()
)

_IRREGULAR = """
    begin began begun; break broke broken; bring brought; build built; buy bought; catch caught;
    child children; choose chose chosen; come came; draw drew drawn; drive drove driven;
    eat ate eaten; fall fell fallen; feel felt; find found; fly flew flown; give gave given;
    go went gone goes; grow grew grown; hear heard; hold held; keep kept; know knew known;
    lead led; leave left; lose lost; make made; man men; mean meant; meet met; pay paid;
    person people; ride rode ridden; run ran; say said; see saw seen; sell sold; send sent;
    sing sang sung; sit sat; speak spoke spoken; spend spent; stand stood; swim swam swum;
    take took taken; teach taught; tell told; think thought; throw threw thrown;
    understand understood; wear wore worn; win won; woman women; write wrote written
"""
_GROUPS = [line.split() for line in _IRREGULAR.split(";")]
_FORMS = {form: forms for forms in _GROUPS for form in forms}


def other_forms(word: str) -> list[str]:
    """The other forms of an irregular word: `went` -> go, gone, goes."""
    return [form for form in _FORMS.get(word, ()) if form != word]


def spaced(text: str) -> str:
    """A text whose runs of scripts without spaces are cut into pairs of characters.

    So that a word within such a run is found; the pairs overlap.
    """
    return text if text.isascii() else _RUN.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    text = run[0]
    return " ".join(["", *(text[i : i + 2] for i in range(len(text) - 1)), ""])


class Stems:
    """A stemmer; close it."""

    def __init__(self) -> None:
        self._database = sqlite3.connect(":memory:")
        self._database.execute(
            f"create virtual table t using fts5({', '.join(FIELDS)}, tokenize='{TOKENS}')"
        )
        self._database.execute("create virtual table v using fts5vocab(t, 'col')")

    def close(self) -> None:
        """Let go of the table."""
        self._database.close()

    def counts(self, texts: Sequence[str]) -> list[tuple[str, str, int]]:
        """(stem, field, how often) of the three fields' texts, by stem."""
        self._database.execute("delete from t")
        self._database.execute("insert into t values (?, ?, ?)", texts)
        return self._database.execute("select term, col, cnt from v order by term, col").fetchall()
