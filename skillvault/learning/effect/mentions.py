"""Find the skills that a text mentions, and read if they were applied, overruled or declined.

A mention is a name, a short form, a title, a description or a handle. `find_mentions` compares only
skills whose words occur in the text. `read_mentions` simplifies each sentence, replaces the mention
by one character, and takes the first pattern of `cues.txt` that matches. `detect` calls both. Add
new wordings to `cues.txt`.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Literal, NamedTuple, get_args

from skillvault.model.lazy import regex
from skillvault.model.text import markdown
from skillvault.model.text.tables import join_lines, read_sections

X, Y = "\ue000", "\ue001"  # in a simplified sentence: the mention to read, and any other mention
_VERB_ENDINGS = r"(?:\w?(?:e?[sdn]|ing)|y|ies|ied|ying|e)?"
_CUE_LINES = [
    (section, line)
    for section, text in read_sections("skillvault.learning.effect", "cues.txt")
    for line in join_lines(text)
]
_WORDS = dict(line.split(": ", 1) for section, line in _CUE_LINES if section == "words")


def _cue(pattern: str) -> re.Pattern[str]:
    while re.search(r"<\w+>", pattern):
        pattern = re.sub(r"<(\w+)>", lambda match: f"(?:{_WORDS[match[1]]})", pattern)
    pattern = _VERB_ENDINGS.join(re.split(r"(?<=[\w\])])~", pattern))
    return regex(pattern.replace("X", X).replace("Y", Y))


_KINDS = frozenset({"warning", "pattern", "evolved", "strategy", "guide"})  # prefixes of names
_MIN_TITLE_WORDS = 5  # a shorter title needs a cue word
_CUE_DISTANCE = 160  # characters on each side of a mention in which a cue may be
_MAX_READ = 300  # characters of a sentence that are read on each side of a mention

_QUOTES = "\"'`*“”‘’«»"
_NO_QUOTES = str.maketrans(dict.fromkeys(_QUOTES, ""))
# A name of common words is a mention only near one of these cues.
_NAME_CUES = [_cue(line) for section, line in _CUE_LINES if section == "beside"]
_JOINT = regex(  # the text between two mentions of a list
    rf"[{_QUOTES})\]\s]*(?:\([^()]{{0,60}}\)\s*|\b(?:for|to)(?: [\w-]+){{1,4}})?"
    r"(?:[,;&+/]|,?\s*\b(?:and|or|nor|not|but|with)(?:\s+(?:later|then|also|of|by|with|on|to))*)"
    rf"\s*(?:the\s+)?[{_QUOTES}(\[\s]*",
    re.IGNORECASE,
)
_LIST_END = regex(
    r"[\"'`*)\]\s]*(?:[,.;:)\]]|$|(?:and|or|for|to|as well|skills?|lessons?)\b)", re.IGNORECASE
)
# A handle without its brackets is a mention at the start of a line, before a verb.
_HANDLE_LEAD = regex(
    r"(?:^|[\n;.,(]|skills?:|\[[ xX✓✔]\])\s*(?:[-*]\s+)?(?:lessons?\s+|both\s+)?$", re.IGNORECASE
)
_HANDLE_VERB = regex(
    r"\s*(?:[:=→)]|->|[-–—]\s|(?:,|and|or|&)\s*\[?S\d|(?:sa(?:ys|id)|tells?|told|warned|advis\w+"
    r"|suggest\w*|appl\w+|used|followed|skipped|ignored|no|yes|was|is|did|does)\b)",
    re.IGNORECASE,
)
# A phrase instead of a name: `the unlock-token warning`, `the rule about tokens`.
_DESCRIPTION = regex(
    r"(?<![\w/-])(?P<kind>skill|lesson|rule|warning|pattern|guide|strategy|playbook"
    r"|advice)s?(?![\w-])"
    r"(?:(?:\s*[:=]\s*|\s+(?:about|on|for|against|of|regarding)\s+)"
    rf"(?P<ahead>[{_QUOTES}]*\w+(?:[-_ ]+\w+){{0,5}}))?",
    re.IGNORECASE,
)
_WORD_RUN = regex(rf"\w+(?:[-_ {_QUOTES}]+\w+){{0,6}}[{_QUOTES}]*[ -]$")
_STOP_WORDS = frozenset("the a an this that our my its of on in to for at by with and or".split())
_WORD = regex(r"[^\W_]+")
_NAME_PART = regex(r"[^-_\s]+")
_HEX_SUFFIX = regex(r"^(?=.*\d)[0-9a-f]{6}(?:[0-9a-f]{6})?$")


class Mention(NamedTuple):
    """A mention of a skill in a text, with its position in characters."""

    start: int
    end: int
    skill: str


class _Span(NamedTuple):
    """A possible mention; a weak span is a mention only near a cue word."""

    start: int
    end: int
    skill: str
    is_full_name: bool = False
    is_weak: bool = False
    is_handle: bool = False


def index_by_word(names: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Map each word to the names that contain it."""
    names_of: dict[str, set[str]] = {}
    for name in names:
        for word in _lower_words(name):
            names_of.setdefault(word, set()).add(name)
    return {word: tuple(sorted(group)) for word, group in names_of.items()}


def shortest_form(name: str) -> str:
    """Return a name without the parts that a text may leave out.

    A text that mentions a skill contains these words, unless the skill was shown.
    """
    return "-".join(_split(name)[1])


def find_mentions(
    text: str,
    names: Mapping[str, Iterable[str]],
    shown_texts: Mapping[str, str],
    handles: Mapping[str, str],
) -> list[Mention]:
    """Find the mentions in a text, in order and without overlap.

    `names` is the result of `index_by_word` for all skills. `shown_texts` has the skills that the
    agent got, whose titles count too. `handles` maps handles to names. A short form of several
    names means the skill that was shown; if none was shown, it is not a mention.
    """
    counts = Counter(name for word in set(_lower_words(text)) for name in names.get(word, ()))
    likely = {name for name, count in counts.items() if count >= len(_needed_words(name))}
    spans = [
        *(span for name in likely | shown_texts.keys() for span in _find_name(name, text)),
        *(span for name, body in shown_texts.items() for span in _find_title(name, body, text)),
        *(span for handle, name in handles.items() for span in _find_handle(handle, name, text)),
        *_find_descriptions(text, names, shown_texts),
    ]
    accepted_spans: list[_Span] = []
    for span in sorted(spans):
        if not span.is_weak or _has_cue(span, text) or _is_listed(span, accepted_spans[-3:], text):
            accepted_spans.append(span)
    return _resolve_overlaps(accepted_spans, shown_texts)


def _find_name(name: str, text: str) -> Iterator[_Span]:
    for match in _pattern_of(name).finditer(text):
        count, has_spaces = len(_NAME_PART.findall(match[0])), re.search(r"\s", match[0])
        is_full = count == len(_NAME_PART.findall(name))
        is_strong = count >= (2 if is_full else 3) and (not has_spaces or (is_full and count > 2))
        yield _Span(match.start(), match.end(), name, is_full, not is_strong)


def _find_title(name: str, body: str, text: str) -> Iterator[_Span]:
    for title in markdown.headings(body)[:1]:
        words = _WORD.findall(title.split(":", 1)[-1])
        pattern = r"(?<!\w)" + r"[\W_]+".join(map(re.escape, words)) + r"(?!\w)"
        for match in re.finditer(pattern, text, re.IGNORECASE) if len(words) > 1 else ():
            yield _Span(match.start(), match.end(), name, is_weak=len(words) < _MIN_TITLE_WORDS)


def _find_handle(handle: str, name: str, text: str) -> Iterator[_Span]:
    pattern = rf"\[{re.escape(handle)}\]|(?<![\w.\[/-]){re.escape(handle)}(?![\w\]/-]|\.\w)"
    for match in re.finditer(pattern, text):
        yield _Span(match.start(), match.end(), name, is_weak=match[0] == handle, is_handle=True)


def _find_descriptions(
    text: str, names: Mapping[str, Iterable[str]], shown_texts: Mapping[str, str]
) -> Iterator[_Span]:
    for cue in _DESCRIPTION.finditer(text):
        start, end = cue.span("kind")
        spans: list[tuple[int, int]] = []
        if run := _WORD_RUN.search(text, max(0, start - 90), start):
            words = _WORD.finditer(text, run.start(), run.end())
            spans += [(word.start(), run.end()) for word in words]
        if cue["ahead"]:
            first, last = cue.span("ahead")
            spans += [(first, word.end()) for word in _WORD.finditer(text, first, last)][::-1]
        for first, last in spans:
            if name := _find_described(text[first:last], cue["kind"].lower(), names, shown_texts):
                yield _Span(min(start, first), max(end, last), name)
                break


def _find_described(
    phrase: str, kind: str, names: Mapping[str, Iterable[str]], shown_texts: Mapping[str, str]
) -> str | None:
    """Return the only skill that a phrase such as `unlock-token warning` describes."""
    words = _lower_words(phrase)
    content = {word for word in words if word not in _KINDS | _STOP_WORDS}
    if not content or {words[0], words[-1]} & _STOP_WORDS:
        return None
    stems = {word.rstrip("s") for word in content}
    name_stems = {name: {w.rstrip("s") for w in _lower_words(name)} for name in shown_texts}
    candidates = {name for name in shown_texts if stems <= name_stems[name]}
    if len(content) > 1 and not candidates:
        shared_names = set.intersection(*(set(names.get(word, ())) for word in content))
        candidates = {name for name in shared_names if content >= _needed_words(name)}
    kinds = {kind, *words} & _KINDS
    matching_names = {name for name in candidates if _NAME_PART.findall(name)[0] in kinds}
    if not matching_names and len(content) > 1 and not kinds - {"guide"}:
        matching_names = candidates
    return next(iter(matching_names)) if len(matching_names) == 1 else None


def _has_cue(span: _Span, text: str) -> bool:
    head = text[max(0, span.start - _CUE_DISTANCE) : span.start]
    tail = text[span.end : span.end + _CUE_DISTANCE]
    if head[-1:] in _QUOTES and tail[:1] in _QUOTES and head and tail:
        return True
    is_before_verb = _HANDLE_VERB.match(tail) or "]" in head[-3:]
    if span.is_handle and _HANDLE_LEAD.search(head) and is_before_verb:
        return True
    sentence = " ".join(f"{head}{X}{tail}".lower().translate(_NO_QUOTES).split())
    return any(cue.search(sentence) for cue in _NAME_CUES)


def _is_listed(span: _Span, neighbours: Iterable[_Span], text: str) -> bool:
    """Return True if a span and a mention are in one list: `x, y and z`, not `x, y data`."""
    return bool(span.is_handle or _LIST_END.match(text, span.end)) and any(
        neighbour.end <= span.start
        and neighbour.is_handle == span.is_handle
        and _JOINT.fullmatch(text, neighbour.end, span.start)
        for neighbour in neighbours
    )


def _resolve_overlaps(spans: Iterable[_Span], shown_texts: Mapping[str, str]) -> list[Mention]:
    """Prefer full names to short forms, and longer spans to shorter; drop ambiguous spans."""
    skills_at: dict[tuple[bool, int, int], set[str]] = {}
    for span in spans:
        key = (not span.is_full_name, span.start - span.end, span.start)
        skills_at.setdefault(key, set()).add(span.skill)
    mentions: list[Mention] = []
    for (_, length, start), skills in sorted(skills_at.items()):
        end = start - length
        candidates = skills if len(skills) == 1 else skills & shown_texts.keys()
        is_within = any(start < mention.end and mention.start < end for mention in mentions)
        if len(candidates) == 1 and not is_within:
            mentions.append(Mention(start, end, *candidates))
    return sorted(mentions)


@lru_cache(maxsize=4096)
def _pattern_of(name: str) -> re.Pattern[str]:
    """Compile a pattern for a name; its kind, the word after it and the hex suffix are optional."""
    start, required, tail = ([re.escape(part) for part in parts] for parts in _split(name))
    pattern = "".join(rf"(?:{part}[-_ ])?" for part in start) + "[-_ ]".join(required)
    pattern += "".join(rf"(?:[-_ ]{part})?" for part in tail)
    return regex(rf"(?<![\w-])(?<!\w[.@]){pattern}(?![\w-])", re.IGNORECASE)


def _split(name: str) -> tuple[list[str], list[str], list[str]]:
    """Split a name into optional words at its start, required words, and an optional hex suffix."""
    parts = _NAME_PART.findall(name) or [name]
    last = len(parts) - (len(parts) > 2 and _HEX_SUFFIX.match(parts[-1]) is not None)
    first = min(2, max(0, last - 2)) if parts[0].lower() in _KINDS else 0
    return parts[:first], parts[first:last], parts[last:]


def _needed_words(name: str) -> set[str]:
    return set(_lower_words(shortest_form(name)))


def _lower_words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


# `named`: a mention that suggests a use, unless a later sentence denies it. `due`: the text intends
# a use, and work follows. `open`: the mention says nothing about a use.
Reading = Literal["applied", "named", "due", "overruled", "declined", "open"]

_REWRITES = [
    (_cue(pattern), replacement.strip('"'))
    for section, line in _CUE_LINES
    if section == "rewrites"
    for pattern, replacement in [line.split(" -> ")]
]
_CUES = [
    (reading, _cue(line))
    for section, line in _CUE_LINES
    for reading in get_args(Reading)
    if reading == section
]
_SEPARATOR = re.compile(r"\b(?:not|but|for|to|with)\b", re.IGNORECASE)
_OWN_VERB = re.compile(r"\W?\s+(?:was|is|did|does|has|had)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(
    r"(?<!\bcf)(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\betc)(?<!^\d)(?<!\n\d)(?<!\n\d\d)[.!]+[\"'”’)\]]*(?=\s|$)"
    r"|[?][\"')\]]*\s+(?!(?i:yes|no|nope|not|sure|indeed|it (?:does|is)|absolutely|hardly"
    r"|probably)\b)|;\s|\\n"
    r"|\n\s*(?:\n|(?=[-*+>#|]|\d+[.)]\s|\[))|(?<=[:.!?|])\s*\n"
)
# A pronoun for a mention: `I read x and ignored it`, `X says wait. I shipped anyway.`
_PRONOUN = re.compile(
    r"\b(?:it|them|this|that|the (?:warning|advice|lesson|rule|guidance|skill|pattern))"
    r"(?= ?(?:[,.;!)]|$)| (?:and|but|anyway|because|since|as|to|for|on|in|instead|too|does|did|is"
    r"|was|has|had|raised|threw|failed)\b)"
)
_REVERSAL = _cue(r"(?<!me to )(?<!us to )\b(((<not>) (<gap>){0,2})?(<use>)|<defy>|<decline>) X")
_LIST_ITEM = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")
_HEADING = re.compile(r"\s*(?:#+\s*(.+?)|[*_]*([^:\n]{3,80}:|\w[\w ,'-]{2,40}(?=\n))[*_]*)\s*$")


def read_mentions(text: str, mentions: Sequence[Mention]) -> Iterator[tuple[Mention, Reading]]:
    """Yield the reading of each mention, in order; a later sentence may yield a new reading."""
    index, heading, words = 0, "", ""
    group: Sequence[Mention] = ()
    reading: Reading = "open"
    ends = _SENTENCE_END.finditer(text) if mentions else ()
    bounds = [0, *(match.end() for match in ends), len(text)]
    for start, end in pairwise(bounds):
        first = index
        while index < len(mentions) and mentions[index].start < end:
            index += 1
        if first == index:
            if text[start:end].strip():
                is_item = _LIST_ITEM.match(text, start)
                heading = heading if is_item else _heading_of(text[start:end])
                if group and not heading and (cue := _find_turn(reading, words, text[start:end])):
                    yield from ((mention, cue) for mention in group)
                group = ()
            continue
        groups = _group_mentions(text, mentions[first:index])
        for number, group in enumerate(groups):
            words = _plain_around(text, (start, end), groups, number)
            is_one_more = first > 0 and text[:start].rstrip().endswith(";")
            if not (is_one_more and words.strip(" .") == X):  # `shown: x; y`
                reading = _find_reading(words)
                if heading and _LIST_ITEM.match(text, start) and reading in ("named", "open"):
                    reading = _find_reading(f"{heading}: {words.lstrip('-+ ')}")
                if reading == "due":
                    reading = "named" if text[end:].strip() else "open"
            yield from ((mention, reading) for mention in group)


def _find_turn(reading: Reading, words: str, sentence: str) -> Reading | None:
    """Return `overruled` or `declined` if a sentence takes back the mention before it."""
    sentence = _PRONOUN.sub(X, _simplify(sentence))
    if reading == "applied" and X not in sentence:
        return None
    turn_reading = _find_reading(f"{words} {sentence}")
    return turn_reading if turn_reading in ("overruled", "declined") else None


def _heading_of(sentence: str) -> str:
    match = _HEADING.match(sentence)
    return _simplify(match[1] or match[2]).rstrip(":") if match else ""


def _group_mentions(text: str, mentions: Sequence[Mention]) -> list[list[Mention]]:
    groups = [[mentions[0]]]
    for last_mention, mention in pairwise(mentions):
        gap = text[last_mention.end : mention.start]
        is_list = _JOINT.fullmatch(gap) and not _SEPARATOR.search(gap)
        if gap.strip() == "," and len(groups[-1]) == 1 and _OWN_VERB.match(text, mention.end):
            is_list = False
        if is_list:
            groups[-1].append(mention)
        else:
            groups.append([mention])
    return groups


def _plain_around(
    text: str, span: tuple[int, int], groups: Sequence[Sequence[Mention]], target: int
) -> str:
    """Return a simplified sentence: the target group as `X`, other groups as `Y`."""
    parts, position = [], max(span[0], groups[target][0].start - _MAX_READ)
    for number, group in enumerate(groups):
        if group[0].start >= position:
            parts += [text[position : group[0].start], X if number == target else Y]
            position = group[-1].end
    end = min(span[1], groups[target][-1].end + _MAX_READ)
    return _simplify("".join([*parts, text[position:end]]))


def _simplify(sentence: str) -> str:
    sentence = sentence.lower()
    for pattern, replacement in _REWRITES:
        sentence = pattern.sub(replacement, sentence)
    return sentence.strip()


def _find_reading(sentence: str) -> Reading:
    """Return the reading of the first cue, unless the end of the sentence reverses it."""
    reading = _first_cue(sentence)
    head, _, tail = sentence.partition(X)
    cue = _REVERSAL.search(tail := _PRONOUN.sub(X, tail))
    if cue and Y not in tail[: cue.start()] and not (reading == "declined" and Y in head):
        return _first_cue(cue[0])
    return reading


def _first_cue(sentence: str) -> Reading:
    return next((reading for reading, cue in _CUES if cue.search(sentence)), "open")
