"""Read how a text mentions skills, by a table of cues: applied, overruled, declined, or open.

`mentions` finds who is mentioned. Each sentence is put into a plain form in which the mention is
one sign; the first cue of `cues.txt` that it holds decides.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, get_args

from skillvault.learning.effect.mentions import JOINED, LINES, Mention, X, Y, expand

# `named` is a mention as of what is used, which a later sentence may take back; `due` one as of
# what is to be used, if work follows; `open` says nothing of use.
Reading = Literal["applied", "named", "due", "overruled", "declined", "open"]

NEAR = 300  # characters of a sentence that are read on each side of a mention

_REWRITES = [
    (expand(pattern), by.strip('"'))
    for name, line in LINES
    if name == "rewrites"
    for pattern, by in [line.split(" -> ")]
]
_CUES = [
    (reading, expand(line))
    for name, line in LINES
    for reading in get_args(Reading)
    if reading == name
]
_APART = re.compile(r"\b(?:not|but|for|to|with)\b", re.IGNORECASE)
_ALONE = re.compile(r"\W?\s+(?:was|is|did|does|has|had)\b", re.IGNORECASE)
_END = re.compile(
    r"(?<!\bcf)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\betc)(?<!^\d)(?<!\n\d)(?<!\n\d\d)[.!]+[\"'”’)\]]*(?=\s|$)"
    r"|[?][\"')\]]*\s+(?!(?i:yes|no|nope|not|sure|indeed|it (?:does|is)|absolutely|hardly"
    r"|probably)\b)|;\s|\\n"
    r"|\n\s*(?:\n|(?=[-*+>#|]|\d+[.)]\s|\[))|(?<=[:.!?|])\s*\n"
)
# A mention taken up again: `I read x and ignored it`, `X says wait. I shipped anyway.`
_IT = re.compile(
    r"\b(?:it|them|this|that|the (?:warning|advice|lesson|rule|guidance|skill|pattern))"
    r"(?= ?(?:[,.;!)]|$)| (?:and|but|anyway|because|since|as|to|for|on|in|instead|too|does|did|is"
    r"|was|has|had|raised|threw|failed)\b)"
)
_TURN_BACK = expand(r"(?<!me to )(?<!us to )\b(((<not>) (<gap>){0,2})?(<use>)|<defy>|<decline>) X")
_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"\s*(?:#+\s*(.+?)|[*_]*([^:\n]{3,80}:|\w[\w ,'-]{2,40}(?=\n))[*_]*)\s*$")


def read_mentions(text: str, mentions: Sequence[Mention]) -> Iterator[tuple[Mention, Reading]]:
    """Read each mention of a text, in order; one that is taken up again is read twice."""
    place, heading, words = 0, "", ""
    group: Sequence[Mention] = ()
    reading: Reading = "open"
    ends = [0, *(match.end() for match in _END.finditer(text)), len(text)] if mentions else []
    for start, end in pairwise(ends):
        first = place
        while place < len(mentions) and mentions[place].start < end:
            place += 1
        if first == place:
            if text[start:end].strip():
                is_item = _BULLET.match(text, start)
                heading = heading if is_item else _heading_of(text[start:end])
                if group and not heading and (turn := _find_turn(reading, words, text[start:end])):
                    yield from ((mention, turn) for mention in group)
                group = ()
            continue
        groups = _join(text, mentions[first:place])
        for number, group in enumerate(groups):
            words = _plain_around(text, (start, end), groups, number)
            is_one_more = first > 0 and text[:start].rstrip().endswith(";")
            if not (is_one_more and words.strip(" .") == X):  # `shown: x; y`
                reading = _look_up(words)
                if heading and _BULLET.match(text, start) and reading in ("named", "open"):
                    reading = _look_up(f"{heading}: {words.lstrip('-+ ')}")
                if reading == "due":
                    reading = "named" if text[end:].strip() else "open"
            yield from ((mention, reading) for mention in group)


def _find_turn(reading: Reading, words: str, sentence: str) -> Reading | None:
    """Return the reading by which a sentence takes back the mention in the words before it."""
    sentence = _IT.sub(X, _simplify(sentence))
    if reading == "applied" and X not in sentence:
        return None
    turn = _look_up(f"{words} {sentence}")
    return turn if turn in ("overruled", "declined") else None


def _heading_of(sentence: str) -> str:
    match = _HEADING.match(sentence)
    return _simplify(match[1] or match[2]).rstrip(":") if match else ""


def _join(text: str, mentions: Sequence[Mention]) -> list[list[Mention]]:
    """Put the mentions of a sentence together that are listed as one."""
    groups = [[mentions[0]]]
    for previous, mention in pairwise(mentions):
        between = text[previous.end : mention.start]
        is_alone = (
            between.strip() == "," and len(groups[-1]) == 1 and _ALONE.match(text, mention.end)
        )
        if JOINED.fullmatch(between) and not is_alone and not _APART.search(between):
            groups[-1].append(mention)
        else:
            groups.append([mention])
    return groups


def _plain_around(
    text: str, place: tuple[int, int], groups: Sequence[Sequence[Mention]], target: int
) -> str:
    """Return a sentence in plain form: the group of this number as `X`, others as `Y`."""
    parts, position = [], max(place[0], groups[target][0].start - NEAR)
    for number, group in enumerate(groups):
        if group[0].start >= position:
            parts += [text[position : group[0].start], X if number == target else Y]
            position = group[-1].end
    return _simplify("".join(parts) + text[position : min(place[1], groups[target][-1].end + NEAR)])


def _simplify(sentence: str) -> str:
    """Return a sentence in lower case, without short forms, quotes, and words that say nothing."""
    sentence = sentence.lower()
    for pattern, by in _REWRITES:
        sentence = pattern.sub(by, sentence)
    return sentence.strip()


def _look_up(sentence: str) -> Reading:
    """Return the reading of the first cue that a plain sentence holds, or takes up again."""
    reading = _first_cue(sentence)
    head, _, tail = sentence.partition(X)
    turn = _TURN_BACK.search(tail := _IT.sub(X, tail))
    if turn and Y not in tail[: turn.start()] and not (reading == "declined" and Y in head):
        return _first_cue(turn[0])
    return reading


def _first_cue(sentence: str) -> Reading:
    return next((reading for reading, cue in _CUES if cue.search(sentence)), "open")
