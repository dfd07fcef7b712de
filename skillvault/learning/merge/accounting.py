"""Is every statement of merged skills accounted for? What a judge says is checked, not believed."""

from collections import Counter
from collections.abc import Iterable, Iterator

from skillvault.brief import Agreement, Draft, Fate
from skillvault.markdown import statements
from skillvault.text import flat, shorten

_QUOTE = 20  # characters from which on a quotation can mean but one statement
_BEFORE = "\n.!?:;。！？：；”\"')"  # what a statement may stand behind


def unfit(draft: Draft, brief: Agreement) -> str | None:
    """What keeps a draft from standing for all its sources; None if it does."""
    if not (draft.title.strip() and any(text.strip() for _, text in draft.sections)):
        return "the text is empty"
    accounted = Counter((fate.skill, _plain(fate.statement)) for fate in draft.fates)
    present = Counter(
        (skill.name, _plain(statement))
        for skill in brief.skills
        for statement in statements(skill.body)
    )
    for (name, statement), count in (present - accounted).items():
        return f"nothing is said of {count} of {name}'s statements: {shorten(statement, 80)}"
    for name, statement in accounted - present:
        return f"{name} has no statement more: {shorten(statement, 80)}"
    texts = [text for _, text in (*draft.sections, *draft.references)]
    return next(_missing(draft.fates, Texts(texts)), None)


def _missing(fates: Iterable[Fate], texts: "Texts") -> Iterator[str]:
    """What is wrong with what is said of the statements."""
    for fate in fates:
        source = f"{fate.skill}: {shorten(fate.statement, 80)}"
        if fate.fate == "dropped":
            if not fate.note.strip():
                yield f"dropped without a reason, {source}"
        elif not texts.hold(fate):
            yield f"{fate.fate}, but not to be found in the text, {source}"


def kept_as(fate: Fate) -> str:
    """The words in which a statement stands in the text; "" for one that is dropped."""
    return {"kept": fate.statement, "fused": fate.note, "dropped": ""}[fate.fate]


class Texts:
    """Texts that are asked what stands in them, whatever their marks and line ends."""

    def __init__(self, texts: Iterable[str]) -> None:
        lines = [line for text in texts for line in _statements(text)]
        self._text = "\n".join(["", *lines, ""])
        self._whole = frozenset(lines)

    def hold(self, fate: Fate) -> bool:
        """Whether a statement that is not dropped stands there as it is said to.

        It begins where one begins: `never do so` does not keep `do so`. What it is fused with
        must be quoted so that one statement can be meant.
        """
        quote = "\n".join(_statements(kept_as(fate)))
        if quote in self._whole:
            return True
        if not quote or (fate.fate == "fused" and len(quote) < _QUOTE):
            return False
        at = self._text.find(quote)
        while at >= 0:
            if self._begins(at) and not self._inside_word(at + len(quote)):
                return True
            at = self._text.find(quote, at + 1)
        return False

    def _begins(self, at: int) -> bool:
        while self._text[at - 1] == " ":
            at -= 1
        return self._text[at - 1] in _BEFORE

    def _inside_word(self, at: int) -> bool:
        return self._text[at - 1 : at + 1].isalnum() and self._text[at].isascii()


def _statements(text: str) -> list[str]:
    """The statements of a text; behind a heading no line counts as one of its head."""
    return [_plain(statement) for statement in statements(f"## \n{text}")]


def _plain(text: str) -> str:
    return flat(text).removesuffix(".")
