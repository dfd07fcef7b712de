"""answer: what was answered to a question changes what it is about, in the commit that holds it.

An answer holds words: it changes an evaluation, with what was learned of its former words, or the
text of a skill.
"""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from skillvault.model.change import Change
from skillvault.model.due import Queue, Trigger
from skillvault.model.records import Answer, Evaluation, Fact, Link, Ref
from skillvault.model.text.text import shorten

STEP = "answer"
DEPENDS_ON = (Queue(name=STEP, every="answer", when=(Trigger("answer"),)),)
_TO_FACTS = ("promoted", "reinforced", "contradicted")


class Reworded(Struct, frozen=True, kw_only=True):
    """An evaluation with other words, and what rests on its former ones.

    `links` are those from it; `facts` the facts that they made or support, by id, with the links
    from and to each; `paths` what `Change.removes` names of a fact or link.
    """

    before: Evaluation
    after: Evaluation
    links: Sequence[Link]
    facts: Mapping[str, Fact]
    around: Sequence[Link]
    paths: Mapping[Ref, str]

    @property
    def says_otherwise(self) -> bool:
        """Whether its insight is another, so that what was learned of it does not hold."""
        return learned_from(self.before) != learned_from(self.after)


def learned_from(evaluation: Evaluation) -> tuple[object, ...]:
    """What of an evaluation becomes memory."""
    return (
        evaluation.key_insight,
        evaluation.better_approach,
        evaluation.insight_type,
        evaluation.quality_score,
    )


def bare_change(answers: Sequence[Answer]) -> Change:
    """The commit that holds answers alone: what they are about waits, or says so already."""
    return Change(
        step=STEP,
        subject=_subject(answers),
        reason="\n".join(_in_a_line(answer) for answer in answers),
        writes=tuple(answers),
        targets=tuple(Ref("answer", answer.id) for answer in answers),
        judge=_author(answers),
    )


def evaluation_change(answer: Answer, reworded: Sequence[Reworded], *, new: bool) -> Change:
    """The commit by which evaluations say what was answered; a `new` answer is in it.

    The facts that were made of their former words, or supported by them, go; they are made anew of
    these and of what else says so, as far as that is enough.
    """
    paths = {ref: one.paths[ref] for one in reworded for ref in _withdrawn(one) if ref in one.paths}
    return Change(
        step=STEP,
        subject=_subject([answer]),
        reason=_in_a_line(answer),
        writes=(*((answer,) if new else ()), *(one.after for one in reworded)),
        removes=tuple(sorted(paths.values())),
        sources=(*(() if new else (Ref("answer", answer.id),)), *sorted(paths)),
        targets=(
            *((Ref("answer", answer.id),) if new else ()),
            *(Ref("evaluation", one.after.id) for one in reworded),
        ),
        judge=_author([answer]),
    )


def _withdrawn(reworded: Reworded) -> Iterable[Ref]:
    """The facts and the links that rest on the former words of an evaluation."""
    if not reworded.says_otherwise:
        return
    for link in (*reworded.links, *reworded.around):
        if link.type in _TO_FACTS or link.type == "derived":
            yield Ref("link", link.id)
    yield from (Ref("fact", name) for name in reworded.facts)


def text_change(answer: Answer, change: Change, *, new: bool) -> Change:
    """The commit by which a skill says what was answered; a `new` answer is in it."""
    ref = Ref("answer", answer.id)
    others = tuple(record for record in change.writes if record != answer)
    return replace(
        change,
        step=STEP,
        subject=_subject([answer]),
        reason=f"{_in_a_line(answer)}\n{change.reason}",
        writes=(*((answer,) if new else ()), *others),
        sources=change.sources if new else (ref, *change.sources),
        targets=(*change.targets, *((ref,) if new else ())),
        judge=_author([answer]),
        commit_with="",
    )


def _subject(answers: Sequence[Answer]) -> str:
    first = answers[0]
    return f"{first.kind} of {first.subject}" if len(answers) == 1 else f"{len(answers)} questions"


def _in_a_line(answer: Answer) -> str:
    """What was answered, in a line."""
    words = (answer.reply.get(key) for key in ("key_insight", "description", "weaknesses"))
    quote = next((word for word in words if isinstance(word, str) and word), "")
    return f"{answer.id}, answered by {answer.judge.name}: {shorten(quote, 300)}".rstrip(": ")


def _author(answers: Sequence[Answer]) -> str:
    return f"{answers[0].judge.name} {answers[0].judge.version}"
