"""Rules for every text that the program writes, whatever outcomes it was made of.

Each rule takes a text and says what is wrong with it, in words for who mends the writer.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from skills_ref.parser import parse_frontmatter  # type: ignore[import-untyped]
from skills_ref.validator import validate_metadata  # type: ignore[import-untyped]

from skillvault.model.text.text import ARROW, can_end_name, count_tokens

LEAST, MOST, MOST_OF_GUIDE = 50, 400, 700  # tokens of a SKILL.md's text
ALONE = 28  # at least, if it has one statement beside its title and its header
DESCRIPTION, USE = 1024, 100  # characters of a description, and of those that say when to use it
SHORT = 15  # characters from which on a quotation is told from another
LONG_WORD = 60  # characters from which on a word may be cut
TRIED = "tried.md"  # every try in a line, those of the body again

_QUOTE = re.compile(r"“([^”]*)”")
_REFUSED = re.compile(r"^Refused as the answer to “[^”]*”")  # names the task, as tries do
_PLAIN_QUOTE = re.compile(r'(?<!\w)"([^"]+)"')
_WORD = re.compile(r"\w+")
_STEP = re.compile(
    r"^(?:now,? |next,? |first,? |great[!,]? |good[!,]? |perfect[!,]? )?"
    r"(?:let me(?! know)|let's|i'll|i will|i need to|i should|we need to|we'll|now i)\b",
    re.IGNORECASE,
)
# What may stand between the last word of a sentence and its end.
_SENTENCE_ENDS = re.compile(r"[^\w\n.!?。！？]*(?:[.!?…。！？][^\w\s]*(?:\s|$)|[。！？]|\n|$)")
_CLAUSE_ENDS = re.compile(r"[^\w\s]*[,;:](?:\s|$)|\s[-—–]\s|[^\w\s]*$")
# A long message or task may end at a clause; what stands before such a quotation.
_BY_CLAUSE = re.compile(r"(?:[Ee]nded with|Refused as the answer to) $")
_TO_DO = frozenset(
    {"Better Approach", "Checklist", "Entry Criteria", "Risk Management", "Key Principles",
     "Entry Rules", "Position Sizing", "Do", "Why It Worked"}
)  # fmt: skip
_WRONG = frozenset({"Pattern to Recognize", "What Went Wrong", "What to Avoid", "Avoid"})


class Text(NamedTuple):
    """A skill's texts: its front matter, its body, its files by name.

    `sources` are the texts of the outcomes that it may quote; None if nobody knows them.
    """

    front: Mapping[str, Any]
    body: str
    files: Mapping[str, str] = {}
    sources: Sequence[str] | None = None

    @property
    def name(self) -> str:
        """The skill's name."""
        return str(self.front["name"])

    @property
    def description(self) -> str:
        """The description that a host shows of the skill."""
        return str(self.front["description"])

    @property
    def title(self) -> str:
        """The first line of the body."""
        return self.body.strip().partition("\n")[0].lstrip("# ")

    @property
    def bullets(self) -> list[tuple[str, str]]:
        """(heading, statement) of the body and of its files but the list of tries."""
        files = [text for name, text in self.files.items() if name != TRIED]
        return [pair for text in (self.body, *files) for pair in bullets(text)]


def text_of(raw: str, files: Mapping[str, str], sources: Sequence[str] | None) -> Text:
    """Return a SKILL.md as the reference parser reads it, with its files."""
    front, body = parse_frontmatter(raw)
    return Text(front, body, files, sources)


def read_text(folder: Path, sources: Sequence[str] | None) -> Text:
    """Read the text of a skill from its folder."""
    paths = sorted((folder / "references").glob("*.md"))
    files = {path.name: path.read_text(encoding="utf-8") for path in paths}
    return text_of((folder / "SKILL.md").read_text(encoding="utf-8"), files, sources)


def bullets(text: str) -> list[tuple[str, str]]:
    """(heading, statement) of each item of a list."""
    heading, pairs = "", list[tuple[str, str]]()
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif item := re.match(r"(?:-|\d+\.) (?:\[ \] )?(.+)", line):
            pairs.append((heading, item[1]))
    return pairs


def strings_in(value: Any) -> Iterator[str]:
    """Yield every text of an outcome, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from strings_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings_in(inner)


def problems(text: Text) -> list[str]:
    """Return what is wrong with a text."""
    return [f"{text.name}: {words}" for rule in RULES for words in rule(text)]


# ── the rules ────────────────────────────────────────────────────────────────────────


def ends_open(text: Text) -> Iterator[str]:
    """No name or title ends in a stop word or a negation."""
    for line, words in (("name", text.name.split("-")), ("title", text.title.split())):
        last = re.sub(r"\W", "", words[-1]).casefold()
        if not can_end_name(last):
            yield f"{line} ends in {last!r}"


def cut_quotes(text: Text) -> Iterator[str]:
    """No quotation is cut in mid-sentence."""
    for line in _lines(text):
        for cut in re.findall(r"\S+ \S*…", line):
            # A source may trail off by itself, and a very long word has to be cut.
            is_long = len(cut.rpartition(" ")[2]) > LONG_WORD
            if not is_long and not any(cut in source for source in text.sources or ()):
                yield f"is cut: {line}"
    if text.sources is not None:
        ends = _Ends(text.sources)
        for line in _lines(text):
            for match in _QUOTE.finditer(line):
                before = line[: match.start()]
                by_clause = _BY_CLAUSE.search(before) is not None
                why = ends.why_cut(match[1], by_clause=by_clause)
                if why:
                    yield f"{why}: “{match[1]}”"


class _Ends:
    """The ends of quotations in the texts that they come from."""

    def __init__(self, sources: Iterable[str]) -> None:
        self._text = "\n\n".join(re.sub(r"\*\*", "", source) for source in sources)
        words = list(_WORD.finditer(self._text))
        self._words = " " + " ".join(word[0].casefold() for word in words) + " "
        self._ends = [word.end() for word in words]

    def why_cut(self, quote: str, *, by_clause: bool) -> str | None:
        words = [word.casefold() for word in _WORD.findall(quote)]
        needle = f" {' '.join(words)} "
        place, is_there = -1, False
        while words and (place := self._words.find(needle, place + 1)) >= 0:
            is_there = True
            last = self._words.count(" ", 0, place + 1) + len(words) - 2
            rest = self._text[self._ends[last] : self._ends[last] + 40]
            if _SENTENCE_ENDS.match(rest) or (by_clause and _CLAUSE_ENDS.match(rest)):
                return None
        return ("ends in mid-sentence" if is_there else "is in no outcome") if words else None


def twice(text: Text) -> Iterator[str]:
    """No statement stands twice, and no quotation in two statements."""
    statements = [_folded(statement) for _, statement in text.bullets]
    for number, statement in enumerate(statements):
        if statement in statements[:number]:
            yield f"says twice: {statement}"
    for number, (_, statement) in enumerate(text.bullets):
        for quote in _QUOTE.findall(_REFUSED.sub("", statement)):
            others = statements[:number] + statements[number + 1 :]
            if len(quote) >= SHORT and any(_folded(quote) in other for other in others):
                yield f"quotes in two statements: {quote}"


def wrong_and_to_do(text: Text) -> Iterator[str]:
    """No sentence is both what went wrong and what to do."""
    wrong, to_do = (
        {part for heading, line in text.bullets if heading in names for part in _parts(line)}
        for names in (_WRONG, _TO_DO)
    )
    yield from (f"is wrong and to be done: {part}" for part in wrong & to_do)


def length(text: Text) -> Iterator[str]:
    """A text has 50 to 400 tokens; a guide up to 700, and few where deeds have few words.

    Of one statement alone it may be less.
    """
    is_guide = text.name.startswith("guide-")
    least = LEAST if len(bullets(text.body)) > 1 and not is_guide else ALONE
    most = MOST_OF_GUIDE if is_guide else MOST
    if not least <= count_tokens(text.body) <= most:
        yield f"has {count_tokens(text.body)} tokens"


def description(text: Text) -> Iterator[str]:
    """A description says first when to use the skill, in whole sentences."""
    words = text.description
    if len(words) > DESCRIPTION:
        yield f"description has {len(words)} characters"
    if not re.match(r"Use (?:before|for|when|at|after) \S", words):
        yield f"description does not open with its use: {words[:USE]}"
    elif not re.search(r"[.!?](?: |$)", words[: USE + 1]):
        yield f"description says its use in more than {USE} characters: {words[: USE + 40]}"
    if not re.search(r"[.!?…。！？][”\"')]*$", words) or words.count("“") != words.count("”"):
        yield f"description ends in mid-sentence: {words[-USE:]}"


def narration(text: Text) -> Iterator[str]:
    """No quotation is an announced step, leads to what is not there, or praises itself."""
    for line in _lines(text):
        for quote in _QUOTE.findall(line):
            if _STEP.match(quote):
                yield f"quotes an announced step: {quote}"
            if quote.rstrip("* ").endswith((":", "：")):
                yield f"quotes what ends in a colon: {quote}"
            if re.search(r"\bsuccessfully\b", quote, re.IGNORECASE) and not _is_no_praise(line):
                yield f"quotes praise: {quote}"


def reference(text: Text) -> Iterator[str]:
    """The reference validator accepts it."""
    yield from validate_metadata(text.front, Path(text.name))


RULES: tuple[Callable[[Text], Iterator[str]], ...] = (
    ends_open, cut_quotes, twice, wrong_and_to_do, length, description, narration, reference,
)  # fmt: skip


def told_in_both(texts: Iterable[Text]) -> Iterator[str]:
    """Yield what one subject's warning and its pattern both say, so that neither helps."""
    by_subject: dict[str, dict[str, Text]] = {}
    for text in texts:
        metadata = text.front["metadata"]
        if subject := metadata.get("subject"):
            by_subject.setdefault(str(subject), {})[str(metadata["kind"])] = text
    for kinds in by_subject.values():
        if {"warning", "pattern"} <= kinds.keys():
            yield from _told_in_both(kinds["warning"], kinds["pattern"])


def _told_in_both(warning: Text, pattern: Text) -> Iterator[str]:
    wrong, right = (
        {part for heading, line in text.bullets if heading in names for part in _parts(line)}
        for text, names in ((warning, _WRONG), (pattern, _TO_DO))
    )
    yield from (f"{warning.name} and {pattern.name}: {quote}" for quote in wrong & right)


def _lines(text: Text) -> Iterator[str]:
    yield text.description
    for part in (text.body, *text.files.values()):
        yield from (line.strip() for line in part.splitlines() if line.strip())


def _is_no_praise(line: str) -> bool:
    """Return True if a line quotes a claim that was refused, or a message."""
    return re.search(r"it reported “|[Ee]nded with “", line) is not None


def _parts(line: str) -> Iterator[str]:
    """Yield a statement, its quotations, and the deed that it tells."""
    yield _folded(line)
    deed, arrow, _ = line.partition(ARROW)
    yield from [_folded(deed)] * bool(arrow)
    yield from (_folded(quote) for quote in _QUOTE.findall(line) if len(quote) >= SHORT)


def _folded(text: str) -> str:
    return " ".join(_WORD.findall(text.casefold()))
