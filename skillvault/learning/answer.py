"""The rule of `answer`: build the commits by which a late answer changes evaluations or a skill.

An answer only changes words. If the words of an evaluation change, the facts that rest on the old
words are removed, and the next run makes them again.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from skillvault.model.change import Change
from skillvault.model.records import Answer, Evaluation, Fact, Link, Ref
from skillvault.model.text.text import shorten

STEP = "answer"
_MEMORY_LINKS = ("promoted", "reinforced", "contradicted", "derived")


class Rewording(Struct, frozen=True, kw_only=True):
    """An evaluation with new words, and the records that rest on its old words.

    `links` start at the evaluation. `facts` has the facts that the evaluation made or supports, by
    id, and `fact_links` the links of these facts. `paths` maps each fact and link to its path.
    """

    old: Evaluation
    new: Evaluation
    links: Sequence[Link]
    facts: Mapping[str, Fact]
    fact_links: Sequence[Link]
    paths: Mapping[Ref, str]

    @property
    def changes_memory(self) -> bool:
        """True if a value from which facts are made differs in the new evaluation."""
        names = ("key_insight", "better_approach", "insight_type", "quality_score")
        return any(getattr(self.old, name) != getattr(self.new, name) for name in names)


def answer_change(answer: Answer) -> Change:
    """Return the change that stores an answer without using it."""
    return _answer_commit(answer, writes=(answer,), targets=(Ref("answer", answer.id),))


def evaluation_change(answer: Answer, rewordings: Sequence[Rewording], *, is_new: bool) -> Change:
    """Return the change that gives evaluations the words of an answer.

    The next run makes the removed facts again if there is enough evidence for them.
    """
    paths = {
        ref: rewording.paths[ref]
        for rewording in rewordings
        for ref in _withdrawn_refs(rewording)
        if ref in rewording.paths
    }
    new_evaluations = [rewording.new for rewording in rewordings]
    targets = [Ref("evaluation", evaluation.id) for evaluation in new_evaluations]
    ref = Ref("answer", answer.id)
    return _answer_commit(
        answer,
        writes=(*([answer] if is_new else []), *new_evaluations),
        removes=tuple(sorted(paths.values())),
        sources=(*([] if is_new else [ref]), *sorted(paths)),
        targets=(*([ref] if is_new else []), *targets),
    )


def _withdrawn_refs(rewording: Rewording) -> Iterable[Ref]:
    """Yield the facts and links that rest on the old words of an evaluation."""
    if not rewording.changes_memory:
        return
    for link in (*rewording.links, *rewording.fact_links):
        if link.type in _MEMORY_LINKS:
            yield Ref("link", link.id)
    yield from (Ref("fact", fact_id) for fact_id in rewording.facts)


def text_change(answer: Answer, change: Change, *, is_new: bool) -> Change:
    """Return the change that gives a skill the text of an answer."""
    ref = Ref("answer", answer.id)
    commit = _answer_commit(answer)
    records = [record for record in change.writes if record != answer]
    return replace(
        change,
        step=STEP,
        subject=commit.subject,
        reason=f"{commit.reason}\n{change.reason}",
        writes=(*([answer] if is_new else []), *records),
        sources=change.sources if is_new else (ref, *change.sources),
        targets=(*change.targets, *([ref] if is_new else [])),
        judge=commit.judge,
        commit_with="",
    )


def _answer_commit(answer: Answer, **parts: Any) -> Change:
    return Change(
        step=STEP,
        subject=f"{answer.kind} of {answer.subject}",
        reason=_answer_line(answer),
        judge=f"{answer.judge.name} {answer.judge.version}",
        **parts,
    )


def _answer_line(answer: Answer) -> str:
    words = (answer.reply.get(key) for key in ("key_insight", "description", "weaknesses"))
    quote = next((word for word in words if isinstance(word, str) and word), "")
    return f"{answer.id}, answered by {answer.judge.name}: {shorten(quote, 300)}".rstrip(": ")
