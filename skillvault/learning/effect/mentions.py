"""Find which skills a text mentions: by name, short form, title, description or handle.

Who is mentioned, not how: that is `readings`. Names come in by their words, so that a text is
asked only for the skills whose words it holds.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from skillvault.model.text import markdown

KINDS = frozenset({"warning", "pattern", "evolved", "strategy", "guide"})  # a name's prefix
TITLE = 5  # words from which on a title is a mention by itself

_QUOTES = "\"'`*“”‘’«»"
_FILLER = (
    r"(?:the|this|that|these|those|a|an|our|my|any|its|both|all|only|lessons?|rules?|skills?|named)"
)
_USE = (
    r"(?:appl\w+|us(?:e|es|ed|ing)|follow\w*|rely\w*|reli\w+|load\w*|consult\w*|invok\w+|need\w*|(?:made|making)\s+use\s+of"
    r"|(?:go|going|went)\s+(?:with|by|back\s+to)|heed\w*|pick\w*|chose|choosing|combin\w+|obey\w*|respect\w*"
    r"|(?:st(?:ick|icking|uck)|adher\w+|kept|keeping)\s+to|compl(?:y|ied|ying)\s+with)"
)
# A short form is a word like others but beside one of these.
_CUE = re.compile(
    rf"\b(?:{_USE}(?:\s+on)?|based\s+on|thanks\s+to|(?:help|aid)\s+of|according\s+to|not\s+(?:just|only)(?:\s+\S+\s+but(?:\s+also)?)?|per|see|cf\.?|despite|skill"
    r"|(?:advice|guidance|recommendations?)\s+(?:of|in|from))"
    rf"(?:\s+{_FILLER})*[\s:(\[]*$",
    re.IGNORECASE,
)
_LISTED = r"(?:[\w./-]+(?: \([^()]{0,60}\))?(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s+or\s+))"
_SKILLS = re.compile(
    rf"\b(?:(?:two|three|four)\s+skills\s*,\s*{_LISTED}{{0,8}}$"
    rf"|(?:skills?|applied|used)(?:[ _]\w+){{0,2}}[{_QUOTES}]*\s*[:=(]"
    rf"[\s(\[{_QUOTES}]*{_LISTED}{{0,8}}$)",
    re.IGNORECASE,
)
_SKILL = re.compile(
    r"^(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s+or\s+)[\w./-]+){0,8}\s+\(?skills?\b", re.IGNORECASE
)
_FOLDER = re.compile(r"\bskills?/(?:[\w.-]+/){0,2}$", re.IGNORECASE)
_JOINED = re.compile(
    r"^\s*(?:,|&|\+|/|(?:,\s*)?(?:and|or|nor|not)(?:\s+(?:of|by|with))?)\s*$", re.IGNORECASE
)
# `x for reading and y for writing`.
_EACH_FOR = re.compile(r"^\s+(?:for|to)\s+(?:[\w-]+\s+){1,4}and\s+$", re.IGNORECASE)
_FOR = re.compile(r"\s+(?:for|to)\s", re.IGNORECASE)
_LAST = re.compile(r"[\"'`*)\]\s]*(?:[,.;:)\]]|$|(?:and|or)\b|skills?\b|lessons?\b)", re.IGNORECASE)
_WERE = re.compile(
    r"^(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+)[\w./-]+){0,8}(?:\s+too)?\s+(?:was|were)\s+(?:both\s+|all\s+)?"
    r"(?:used|applied|followed|loaded|consulted)\b",
    re.IGNORECASE,
)
# `With x I recomputed it`.
_WITH = re.compile(r"(?:^|[.;:!?]\s+)with\s+$", re.IGNORECASE)
_WE = re.compile(r"^,?\s+(?:i|we)\b", re.IGNORECASE)
# A handle without its brackets stands at the head of a line or says something.
_HEAD = re.compile(
    r"(?:^|[\n;.,(]|skills?:)\s*(?:[-*]\s+)?(?:lessons?\s+|both\s+)?$", re.IGNORECASE
)
_BOX = re.compile(r"\[[ xX✓✔]\]\s*$")
# What is said of one, so that it is no word like others.
_VERDICT = re.compile(
    r"^[\"'`*]*\s*(?:\(|[:|]|->|[-–—])?\s*(?:used\b|applied\b|followed\b|✓|✔|✅|skipped\b"
    r"|unused\b|not (?:used|applied|needed|relevant)\b|n/a\b"
    r"|(?:sa(?:ys|id)|told|warn(?:s|ed)|advis(?:es|ed)|suggest(?:s|ed)|recommend(?:s|ed)"
    r"|prescribes|(?:kept|saved|gave|got|told|sent|led|cost|made)\s+(?:me|us))\b)",
    re.IGNORECASE,
)
_SAYS = re.compile(
    r"^\s*(?:[:=→)]|->|[-–—]\s|(?:,|and|or|&)\s*\[?S\d|(?:followed\b)|(?:sa(?:ys|id)|told|tells|warn(?:s|ed)|advis\w+|suggest\w*"
    r"|appl(?:ies|ied)|used|skipped|ignored|no|yes|was|is|did|does)\b)",
    re.IGNORECASE,
)
# What is said of a skill instead of its name: `the unlock-token warning`.
_CALLED = re.compile(
    r"(?<![\w/-])(?:skill|lesson|rule|warning|pattern|guide|strategy|playbook|advice|guidance)s?"
    r"(?![\w-])",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"\s*[:=]\s*|\s+(?:about|on|for|against|of|regarding|concerning)\s+", re.IGNORECASE
)
_RUN = re.compile(rf"[\w]+(?:[-_ {_QUOTES}]+[\w]+){{0,6}}[{_QUOTES}]*[ -]$")
_AHEAD = re.compile(rf"[{_QUOTES}]*\w+(?:[-_ ]+\w+){{0,5}}")
_EMPTY = frozenset(
    "the a an this that our my its of on in to for at by with without and or".split()
)

_WORD = re.compile(r"[^\W_]+")
_PART = re.compile(r"[^-_\s]+")
_HEX = re.compile(r"^(?=.*\d)[0-9a-f]{6}(?:[0-9a-f]{6})?$")


class Mention(NamedTuple):
    """Where a text mentions a skill, in characters."""

    start: int
    end: int
    skill: str


class _Span(NamedTuple):
    """A place that may be a mention; `weak` ones ask for a cue, `whole` is the name itself."""

    start: int
    end: int
    skill: str
    whole: bool
    weak: bool
    handle: bool = False


def by_first_word(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Skills' names by the first word of each of their tails, each of which may stand for one."""
    by_word: dict[str, set[str]] = {}
    for name in names:
        for word in _lower_words(name):
            by_word.setdefault(word, set()).add(name)
    return {word: tuple(sorted(group)) for word, group in by_word.items()}


def find_mentions(
    text: str,
    names: Mapping[str, Iterable[str]],
    shown: Mapping[str, str],
    handles: Mapping[str, str],
) -> list[Mention]:
    """The mentions in a text, in order; none within another.

    `names` are those of all skills, `by_first_word`; `shown` maps the skills that the decision was
    shown to their texts, whose titles count; `handles` maps what they were called there to them.
    A short form that fits several skills means the one that was shown, else none.
    """
    spans = [
        *(s for name in _possible(text, names, shown) for s in _spelled_out(name, text)),
        *(s for name, body in shown.items() for s in _titled(name, body, text)),
        *(s for handle, name in handles.items() for s in _handled(handle, name, text)),
        *_described(text, names, shown),
    ]
    return _apart(_cued(spans, text), shown)


def _possible(text: str, names: Mapping[str, Iterable[str]], shown: Iterable[str]) -> Iterator[str]:
    """The skills of which the text holds all words but those that a short form leaves out."""
    counts = Counter(name for word in set(_lower_words(text)) for name in names.get(word, ()))
    yield from {*shown, *(name for name, n in counts.items() if n >= len(_needed(name)))}


def _spelled_out(name: str, text: str) -> Iterator[_Span]:
    """The places of a name and of what is left of it without its prefix."""
    for match in _name(name).finditer(text):
        words, whole = len(_parts(match[0])), len(_parts(match[0])) == len(_parts(name))
        spaced = bool(re.search(r"\s", match[0]))
        strong = words > 2 or (words == 2 and not spaced) if whole else words > 2 and not spaced
        yield _Span(match.start(), match.end(), name, whole, not strong)


def _titled(name: str, body: str, text: str) -> Iterator[_Span]:
    for title in markdown.headings(body)[:1]:
        words = _WORD.findall(title.split(":", 1)[-1])
        if len(words) < 2:
            continue
        pattern = r"(?<!\w)" + r"[\W_]+".join(map(re.escape, words)) + r"(?!\w)"
        for match in re.finditer(pattern, text, re.IGNORECASE):
            yield _Span(match.start(), match.end(), name, False, len(words) < TITLE)


def _handled(handle: str, name: str, text: str) -> Iterator[_Span]:
    pattern = rf"\[{re.escape(handle)}\]|(?<![\w.\[/-]){re.escape(handle)}(?![\w\]/-]|\.\w)"
    for match in re.finditer(pattern, text):
        bare = match[0] == handle
        yield _Span(match.start(), match.end(), name, False, bare, handle=True)


def _described(
    text: str, names: Mapping[str, Iterable[str]], shown: Mapping[str, str]
) -> Iterator[_Span]:
    """The places that call a skill by some of its words and what it is."""
    for cue in _CALLED.finditer(text):
        kind = cue[0].lower().rstrip("s")
        places: list[tuple[int, int, int, int]] = []  # of the words, and of the mention
        if before := _RUN.search(text, max(0, cue.start() - 90), cue.start()):
            starts = [word.start() for word in _WORD.finditer(text, before.start(), before.end())]
            places += [(start, before.end(), start, cue.end()) for start in starts]
        if about := _ABOUT.match(text, cue.end()):
            start = about.end() if about[0].strip() in {":", "="} else cue.start()
            ahead = _AHEAD.match(text, about.end())
            ends = [word.end() for word in _WORD.finditer(text, *ahead.span())] if ahead else []
            places += [(about.end(), end, start, end) for end in reversed(ends)]
        for first, last, start, end in places:
            if name := _meant(text[first:last], kind, names, shown):
                yield _Span(start, end, name, whole=False, weak=False)
                break


def _meant(
    phrase: str, kind: str, names: Mapping[str, Iterable[str]], shown: Mapping[str, str]
) -> str | None:
    """The one skill of whose name these are words; one word is enough only of a shown one."""
    words = _lower_words(phrase)
    if {words[0], words[-1]} & _EMPTY:
        return None
    content = {word for word in words if word not in KINDS | _EMPTY}
    if not content:
        return None
    stems = set(map(_stem, content))
    known = {name for name in shown if stems <= set(map(_stem, _lower_words(name)))}
    if len(content) > 1 and not known:
        holding = set.intersection(*(set(names.get(word, ())) for word in content))
        known = {name for name in holding if content >= _needed(name)}
    of_kind = {name for name in known if {kind, *words} & KINDS & {_parts(name)[0]}}
    fitting = of_kind or {name for name in known if len(content) > 1 and _fits(name, kind, content)}
    return next(iter(fitting)) if len(fitting) == 1 else None


def _fits(name: str, kind: str, content: set[str]) -> bool:
    """Whether some words of a name are enough of it: half of one that has no prefix."""
    if _parts(name)[0] in KINDS:
        return kind not in KINDS or kind == "guide"
    return kind not in KINDS - {"guide"} and 2 * len(content) >= len(_parts(name))


# ── which places count ───────────────────────────────────────────────────────────────


def _cued(spans: Iterable[_Span], text: str) -> list[_Span]:
    """The places that are mentions: strong, beside a cue, or joined to another."""
    counted: list[_Span] = []
    for span in sorted(spans):
        if not span.weak or _is_cued(span, text) or _joins(counted, span, text):
            counted.append(span)
    return counted


def _joins(counted: list[_Span], span: _Span, text: str) -> bool:
    """Whether a place is listed with a mention: `x, y and z`, not `x, y data`."""
    is_listed = bool(span.handle or _LAST.match(text, span.end)) and any(
        other.end <= span.start
        and other.handle == span.handle
        and _JOINED.match(text[other.end : span.start].strip(_QUOTES + " ") or ".")
        for other in counted[-3:]
    )
    return is_listed or any(
        _EACH_FOR.match(text[other.end : span.start]) and _FOR.match(text, span.end)
        for other in counted[-1:]
    )


def _is_cued(span: _Span, text: str) -> bool:
    before, after = text[max(0, span.start - 160) : span.start], text[span.end :][:160]
    quoted = before[-1:] in _QUOTES and after[:1] in _QUOTES and before and after
    headed = span.handle and _HEAD.search(before) and _SAYS.match(after)
    boxed = span.handle and _BOX.search(before)
    return bool(
        headed
        or boxed
        or quoted
        or _VERDICT.match(after)
        or _CUE.search(before)
        or _SKILLS.search(before)
        or _FOLDER.search(before)
        or _SKILL.match(after)
        or _WERE.match(after)
        or (_WITH.search(before) and _WE.match(after))
    )


def _apart(spans: Iterable[_Span], shown: Mapping[str, str]) -> list[Mention]:
    """Names before what is short for one, the longest first; what fits several is none."""
    places: dict[tuple[bool, int, int], set[str]] = {}
    for span in spans:
        place = (not span.whole, span.start - span.end, span.start)
        places.setdefault(place, set()).add(span.skill)
    mentions: list[Mention] = []
    for (_, length, start), skills in sorted(places.items()):
        end = start - length
        if any(start < mention.end and mention.start < end for mention in mentions):
            continue
        meant = skills if len(skills) == 1 else skills & shown.keys()
        if len(meant) == 1:
            mentions.append(Mention(start, end, *meant))
    return sorted(mentions)


# ── names ────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=4096)
def _name(name: str) -> re.Pattern[str]:
    """The name as a whole word, its hyphens also as underscores or spaces.

    Its kind and the word behind that, its hex at the end, may be left out.
    """
    parts = [re.escape(part) for part in _parts(name)]
    tail = ""
    if len(parts) > 2 and _HEX.match(parts[-1]):
        tail = rf"(?:[-_ ]{parts.pop()})?"
    left_out = [0]
    if parts[0].lower() in KINDS:
        left_out = [n for n in (0, 1, 2) if n == 0 or len(parts) - n >= 2]
    pattern = "[-_ ]".join(parts[left_out[-1] :])
    for n in reversed(left_out[:-1]):
        pattern = rf"(?:{parts[n]}[-_ ])?{pattern}" if n else rf"(?:{parts[0]}[-_ ])?{pattern}"
    return re.compile(rf"(?<![\w-])(?<!\w[.@]){pattern}{tail}(?![\w-])", re.IGNORECASE)


def shortest_form(name: str) -> str:
    """What is left of a name if all is left out that a text may leave out of it.

    Of a skill that was not shown every mention holds these words.
    """
    return "-".join(_telling_parts(name))


def _needed(name: str) -> set[str]:
    return set(_lower_words(shortest_form(name)))


def _telling_parts(name: str) -> list[str]:
    parts = [part for part in _parts(name) if not _HEX.match(part)] or _parts(name)
    dropped = 0 if parts[0].lower() not in KINDS else min(2, max(0, len(parts) - 2))
    return parts[dropped:]


def _lower_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _stem(word: str) -> str:
    """A word without the s of its plural."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _parts(name: str) -> list[str]:
    return _PART.findall(name) or [name]
