"""The text of an evolved skill: what its sources share, told once, and what each says alone.

Nothing is invented and nothing is lost: a statement stands as it is or fused with its like,
and only what repeats the record of one outcome is dropped.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple

from skillvault.brief import Agreement, Draft, Fate
from skillvault.judge.offline.notes import BEFORE, Note, Voices
from skillvault.judge.offline.notes import read as read_note
from skillvault.judge.offline.reading import telling
from skillvault.judge.offline.sources import (
    MOST,
    Sources,
    actions,
    decided,
    entered,
    evidence,
    sources_of,
)
from skillvault.judge.offline.speech import plain, sentence, subject
from skillvault.judge.offline.strands import Said, Strand, named, spoken_of, strands, told, words_of
from skillvault.markdown import outline
from skillvault.records import Skill
from skillvault.text import flat, shorten

TITLE = 70
DESCRIPTION = 400
_INSIGHTS = 3
_STRANDS = 150  # so many statements a text tells in all, those of most sources

_ENTRY = re.compile(r"(?:size )?at entry:", re.IGNORECASE)
_EVIDENCE = re.compile(r"evidence: “.*”$", re.IGNORECASE)
_COUNTED = re.compile(
    r"too few to compare: \d+ of \d+ were |the only .+ decision so far\W*$"
    r"|.{1,40} so far: (?:all|\d+ of) \d+ .+ decisions\W*$",
    re.IGNORECASE,
)
_RESULT = re.compile(
    r"It (?:ended at \S+ %|ended neutral|failed|succeeded)(?: after [^:.]+)?(?:: (?P<how>.+)|\.)$"
)
_CONDITION = re.compile(r"condition|recogni[sz]e|appli(?:es|cab)|\bwhen\b|trigger", re.IGNORECASE)
_HAPPENED = re.compile(
    r"wrong|why|happened|insight|learning|cause|result|evidence|origin", re.IGNORECASE
)
_A_LETTER = re.compile(r"[^\W\d_]")
_QUOTE = re.compile(r"“([^”]{8,})”")
_HEAD = re.compile(r"^# +(?:(?:Warning|Pattern|Evolved): +)?(?P<title>.+?)\s*$", re.MULTILINE)
_ENDING = re.compile(r"(?:lost|gained) [\d.]+ ?%|failed|succeeded|neutral", re.IGNORECASE)
_JOINT = re.compile(r"[:,;] +")
_LOOSE = re.compile(r"(?:\W|\b(?:a|an|the|and|or|of|on|in|at|to|for|by|with|is|are|was)\b)+$")

IN_ARCHIVE = "of its one outcome; told by the source in archive/"
ITS_SOURCES_TELL = "of few sources; each of them tells it"
COUNTED_ANEW = "a count of its day; counted anew under Evidence"
UNDER_EVIDENCE = "its result stands under Evidence"

_DECISIONS = "Decisions so far:"
_UNTOLD = "Decisions in "  # where no outcome is recorded

_Role = Literal["when", "was", "do"]


class _Read(NamedTuple):
    """The statements to be told, and what became of the others; by their places."""

    said: list[Said]
    fates: dict[int, Fate]


def fused(brief: Agreement) -> Draft | None:
    """Synthesized Insight, When This Applies, Key Principles, Evidence; None without a word."""
    sources = sources_of(brief)
    read = _read(sources)
    found = [strand for strand in strands(read.said) if not _dropped(strand, read.fates)]
    found = _told(found, read.fates)
    if not found:
        return None
    count = sources.count
    lines = {s.lead.place: told(s, count, briefly=_evidence(s.lead)) for s in found}
    for strand in found:
        line = lines[strand.lead.place]
        read.fates.update((each.place, _fate(each, line)) for each in strand.members)
    insight, when, principles, rest = _arranged(found, count)
    parts = (
        ("Synthesized Insight", _lines(insight, lines)),
        ("When This Applies", [*_circumstances(sources), *_lines(when, lines)]),
        ("Key Principles", _lines(principles, lines)),
        ("Evidence", list(evidence(sources))),
    )
    title = _title(sources, insight[-1].lead)
    return Draft(
        title=title,
        description=_description(sources, _gist(insight, principles), title),
        sections=tuple((heading, _bulleted(each)) for heading, each in parts if each),
        references=_references(_lines(rest, lines)),
        fates=tuple(read.fates[place] for place in sorted(read.fates)),
    )


def _lines(found: Iterable[Strand], lines: Mapping[int, str]) -> list[str]:
    return [lines[strand.lead.place] for strand in found]


def _read(sources: Sources) -> _Read:
    """The statements of all sources, in order."""
    read = _Read([], {})
    place = 0
    decisions = _decisions(sources)
    for skill in sources.skills:
        voice = _Voice(sources, skill)
        for heading, statement in outline(skill.body):
            place += 1
            fate = voice.fate(heading, statement, decisions)
            if fate is None:
                core, own, note = voice.core(statement)
                words = words_of(core, own)
                read.said.append(
                    Said(skill.name, heading, statement, core, own, words, note, place)
                )
            else:
                read.fates[place] = fate
    return read


class _Voice:
    """How one source's statements are to be read."""

    def __init__(self, sources: Sources, skill: Skill) -> None:
        self._skill = skill
        self._evolved = skill.name not in sources.every
        self._recorded = bool(sources.outcomes[skill.name])
        if self._evolved:
            self._speaks = sources.count == len(sources.every)
            self._known = sources.known
            self._every = {plain(about) for about in sources.about.values()}
        else:
            of = sources.outcomes[skill.name]
            self._subjects = {_bare(sentence(subject(outcome))) for outcome in of}
            self._own = tuple(filter(None, [sources.about[skill.name]]))
            self._note = Note(Voices(1, (sources.names[skill.name],)))

    def fate(self, heading: str, statement: str, decisions: str) -> Fate | None:
        """What becomes of a statement that tells no lesson; None for one that may."""
        name = self._skill.name
        if self._evolved:
            counted = _summed_up(heading, statement)
            return Fate(name, statement, "dropped", COUNTED_ANEW) if counted else None
        if _bare(statement) in self._subjects:
            return Fate(name, statement, "fused", decisions)
        reason = _of_record(statement) if self._recorded else None
        return Fate(name, statement, "dropped", reason) if reason else None

    def core(self, statement: str) -> tuple[str, tuple[str, ...], Note]:
        """What a statement says, of what it says it, and who does."""
        if not self._evolved:
            return _core(statement), self._own, self._note
        text, note = read_note(statement, self._known)
        if not self._speaks:
            note = Note(Voices(1, (BEFORE,)))
        return text, spoken_of(text, self._every), note


def _core(statement: str) -> str:
    """A statement without when and how far its one outcome ended."""
    result = _RESULT.match(statement)
    how: str | None = result["how"] if result else None
    if how is None:
        return statement
    return sentence(how if len(how.split()) > 2 else f"it ended so: {how}")


def _bare(text: str) -> str:
    return flat(text).removesuffix(".").casefold()


def _of_record(statement: str) -> str | None:
    """Why a statement is of its outcome's record and no lesson; None for one that may be."""
    if _ENTRY.match(statement):
        return IN_ARCHIVE
    if _COUNTED.match(statement):
        return COUNTED_ANEW
    result = _RESULT.match(statement)
    return UNDER_EVIDENCE if result and not result["how"] else None


def _summed_up(heading: str, statement: str) -> bool:
    """Whether an evolved skill told so of the outcomes behind it, or of its own text."""
    return (
        heading == "Evidence"
        or statement.startswith((_DECISIONS, _UNTOLD, "See references/"))
        or bool(_ENTRY.match(statement))
    )


def _told(found: Sequence[Strand], fates: dict[int, Fate]) -> list[Strand]:
    """The strands that a text has room for; the others are dropped, as few say so."""
    ranked = sorted(found, key=lambda s: (-s.support, -s.lead.place))
    for strand in ranked[_STRANDS:]:
        for each in strand.members:
            fates[each.place] = Fate(each.skill, each.statement, "dropped", ITS_SOURCES_TELL)
    places = {strand.lead.place for strand in ranked[:_STRANDS]}
    return [strand for strand in found if strand.lead.place in places]


def _dropped(strand: Strand, fates: dict[int, Fate]) -> bool:
    """Whether a strand is the evidence of one outcome alone; then that is its fate."""
    alone = strand.support == 1 and _evidence(strand.lead)
    for each in strand.members if alone else ():
        fates[each.place] = Fate(each.skill, each.statement, "dropped", IN_ARCHIVE)
    return alone


def _evidence(said: Said) -> bool:
    return _EVIDENCE.match(said.statement) is not None


def _fate(each: Said, line: str) -> Fate:
    """What became of a statement that is told."""
    if line.startswith(flat(each.statement).removesuffix(".")):
        return Fate(each.skill, each.statement, "kept")
    return Fate(each.skill, each.statement, "fused", line)


# ── where each strand stands ─────────────────────────────────────────────────────────


def _arranged(
    found: Sequence[Strand], count: int
) -> tuple[list[Strand], list[Strand], list[Strand], list[Strand]]:
    """(the insight, further conditions, what to do, the rest), what more say before what few."""
    ranked = sorted(found, key=lambda s: (-s.support, -telling(s.lead.core), s.lead.place))
    of: dict[_Role, list[Strand]] = {"when": [], "was": [], "do": []}
    for strand in ranked:
        of[_role(strand.lead)].append(strand)
    insight = _insight(ranked, of, count)
    told = {strand.lead.place for strand in insight}
    left = {role: [s for s in each if s.lead.place not in told] for role, each in of.items()}
    left["do"].sort(key=lambda s: (-s.support, s.lead.statement.startswith("["), s.lead.place))
    if not left["do"]:
        # Where nobody says what to do, what went on is what there is to heed.
        left["do"], left["was"] = left["was"] or insight[1:], []
        insight = [s for s in insight if s not in left["do"]]
    return insight, left["when"], left["do"], left["was"]


def _insight(
    ranked: Sequence[Strand], of: Mapping[_Role, Sequence[Strand]], count: int
) -> list[Strand]:
    """The condition and what happened, as most sources tell it; else what most of them say."""
    common = max(2, MOST * count)
    was = sorted((s for s in of["was"] if s.support >= common), key=lambda s: _remoteness(s.lead))
    # A remark on the decision's form says less than what was seen.
    seen = [s for s in was if _remoteness(s.lead) < 2] or was
    when = [s for s in of["when"][:1] if s.support >= common]
    return [*when, *seen][:_INSIGHTS] or list(ranked[:1])


def _remoteness(said: Said) -> int:
    """How far a statement is from what happened: the result, a quotation, a remark."""
    if said.core != said.statement:
        return 0
    return 1 if "“" in said.core else 2


def _role(said: Said) -> _Role:
    if said.statement.startswith("["):
        return "do"
    if _CONDITION.search(said.heading):
        return "when"
    return "was" if _HAPPENED.search(said.heading) else "do"


def _circumstances(sources: Sources) -> list[str]:
    """What was decided, and what was the same at entry."""
    outcomes = sources.all_outcomes
    context = entered(outcomes)
    lines = [_decisions(sources) if outcomes else f"{_UNTOLD}{sources.domain}."]
    return [*lines, f"At entry: {context}."] if context else lines


def _decisions(sources: Sources) -> str:
    return f"{_DECISIONS} {decided(sources.all_outcomes)}."


def _bulleted(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in dict.fromkeys(lines))


def _references(lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
    if not lines:
        return ()
    return (("statements.md", f"## What happened\n\n{_bulleted(lines)}\n"),)


# ── title and description ────────────────────────────────────────────────────────────


def _title(sources: Sources, insight: Said) -> str:
    """What the sources' titles share; where that says nothing, the insight.

    One that speaks for others keeps its own.
    """
    evolved = (skill for skill in sources.skills if skill.name not in sources.every)
    for skill in evolved:
        if title := _title_of(skill, ""):
            return title
    found = (_title_of(skill, sources.about.get(skill.name, "")) for skill in sources.skills)
    titles = [title for title in found if title]
    parts = [
        [p for p in _JOINT.split(t) if _A_LETTER.search(p) and not _ENDING.fullmatch(p)]
        for t in titles
    ]
    enough = MOST * len(titles)
    common = [part for part in _whole(parts) if sum(part in each for each in parts) >= enough]
    about = {_bare(o.decision.action) for o in sources.all_outcomes}
    if all(_bare(part) in about for part in common):
        told = [" ".join(p for p in each if p not in common) for each in parts]
        common.append(_common_words(told, enough) or _essence(insight))
    first, *more = (part.rstrip(".。") for part in common)
    return shorten(f"{first}: {', '.join(more)}" if more else first, TITLE)


def _essence(said: Said) -> str:
    """A statement in short: what it quotes, where it quotes."""
    quote = _QUOTE.search(said.core)
    return plain(quote[1] if quote else said.core, TITLE)


def _title_of(skill: Skill, about: str) -> str:
    """A source's title without what it alone is about; "" where it has none."""
    head = _HEAD.search(skill.body)
    title = flat(head["title"]) if head else ""
    return " ".join(named(title, about, " ").split())


def _whole(parts: Sequence[list[str]]) -> list[str]:
    """The parts of the titles in order, each once; a cut one is made whole where another is."""
    every = dict.fromkeys(part for each in parts for part in each)
    longer = {
        part: next((o for o in every if not o.endswith("…") and o.startswith(part[:-1])), part)
        for part in every
        if part.endswith("…")
    }
    for each in parts:
        each[:] = [longer.get(part, part) for part in each]
    return list(dict.fromkeys(longer.get(part, part) for part in every))


def _common_words(titles: Sequence[str], enough: float) -> str:
    """The longest run of words that most titles share; "" for fewer than two."""
    counts = Counter(word for title in titles for word in dict.fromkeys(title.casefold().split()))
    runs: list[list[str]] = [[]]
    for word in "".join(titles[:1]).split():
        if counts[word.casefold()] >= enough:
            runs[-1].append(word)
        else:
            runs.append([])
    told = max((_LOOSE.sub("", " ".join(run)) for run in runs), key=lambda text: text.count(" "))
    return told if " " in told else ""


def _gist(insight: Sequence[Strand], principles: Sequence[Strand]) -> Said:
    """What to do, where more than one source says it; else what happened."""
    advice = [s.lead for s in principles[:1] if s.support > 1 and _role(s.lead) == "do"]
    seen = [s.lead for s in insight if _role(s.lead) != "when"]
    said = [each for each in advice if not each.statement.startswith("[")] + seen
    return said[0] if said else insight[0].lead


def _description(sources: Sources, gist: Said, title: str) -> str:
    """What it tells, on what it rests, and when to use it."""
    kinds = Counter(skill.kind for skill in sources.skills)
    lead = "Warns of" if kinds["warning"] > kinds["pattern"] else "Describes"
    outcomes = sources.all_outcomes
    when = f"before {actions(outcomes)}" if outcomes else f"for decisions in {sources.domain}"
    what = sentence(shorten(flat(gist.core), 180))
    text = f"{sentence(f'{lead} {title}')} {sources.count} skills say: {what} Use {when}."
    return shorten(text.replace("<", "").replace(">", ""), DESCRIPTION)
