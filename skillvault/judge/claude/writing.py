"""What a model is asked to write of a brief, and the draft that its reply makes.

What is counted, and what a person's facts say, stays as the offline judge has it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from skillvault.brief import Agreement, Brief, Comparison, Draft, Episode, Fate, Period, Recurrence
from skillvault.judge.claude import prompts as asking
from skillvault.judge.claude.replies import UnusableError, check_figures
from skillvault.judge.claude.retries import Question
from skillvault.markdown import statements
from skillvault.records import Evaluation, Outcome
from skillvault.text import flat, shorten

TITLE, DESCRIPTION, SECTION = 70, 400, 4000  # characters
_SHOWN = 12  # outcomes of a period that are told in full

_EPISODES = {
    "warning": ("Pattern to Recognize", "What Went Wrong", "Better Approach", "Checklist"),
    "pattern": ("Pattern Conditions", "Why It Worked", "Entry Criteria", "Risk Management"),
}
_STRATEGY = ("Core Approach", "Entry Rules", "Exit Rules", "Position Sizing", "What to Avoid")
_AGREEMENT = ("Synthesized Insight", "When This Applies", "Key Principles")

Unfit = Callable[[Draft, Agreement], str | None]


class SectionSaid(Struct, frozen=True, forbid_unknown_fields=True):
    """A section as the model writes it."""

    heading: str
    text: str


class FateSaid(Struct, frozen=True, forbid_unknown_fields=True):
    """What became of a numbered statement."""

    number: int
    fate: Literal["kept", "fused", "dropped"]
    note: str


class Writing(Struct, frozen=True, forbid_unknown_fields=True):
    """A skill's text as the model writes it."""

    title: str
    description: str
    sections: list[SectionSaid]
    fates: list[FateSaid]


class Task(NamedTuple):
    """One text to be written: by which prompt, of what, and how a reply becomes a draft.

    `headings` are those the model may write; other sections of `plain` stay as they are.
    """

    prompt: str
    material: dict[str, Any]
    brief: Brief
    plain: Draft
    headings: tuple[str, ...]
    unfit: Unfit

    def draft(self, said: Writing, question: Question) -> Draft:
        """The draft; UnusableError where it is empty, has figures of its own or loses any."""
        texts = {each.heading: _tidy(each.text) for each in said.sections}
        written = {name: text for name, text in texts.items() if text}
        if not written or not written.keys() <= set(self.headings):
            raise UnusableError(f"the sections must be of these: {', '.join(self.headings)}")
        title, about = flat(said.title), flat(said.description).replace(">", "")
        if not title or not about:
            raise UnusableError("the title or the description is empty")
        check_figures("\n".join((title, about, *written.values())), question.user)
        found = msgspec.structs.replace(
            self.plain,
            title=shorten(title, TITLE) if self._names else self.plain.title,
            description=shorten(about, DESCRIPTION),
            sections=self._sections(written),
        )
        return self._accounted(found, said.fates) if isinstance(self.brief, Agreement) else found

    @property
    def _names(self) -> bool:
        """Whether the title is the model's to find."""
        return isinstance(self.brief, Episode | Agreement)

    def _sections(self, written: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """The written sections, and those of the offline text that are counted, in its order."""
        counted = {name: text for name, text in self.plain.sections if name not in self.headings}
        plain = [name for name, _ in self.plain.sections]
        order = [name for name in plain if name in counted and plain.index(name) == 0]
        order += [*self.headings, *(name for name in counted if name not in order)]
        both = {**counted, **written}
        return tuple((name, both[name]) for name in order if name in both)

    def _accounted(self, draft: Draft, said: Sequence[FateSaid]) -> Draft:
        """The draft with a fate for every statement of its sources."""
        assert isinstance(self.brief, Agreement)
        told = {each.number: each for each in said}
        known = _numbered(self.brief)
        fates = tuple(
            Fate(skill, statement, told[n].fate, told[n].note)
            for n, (skill, statement) in enumerate(known, 1)
            if n in told
        )
        found = msgspec.structs.replace(draft, fates=fates, references=())
        if reason := self.unfit(found, self.brief):
            raise UnusableError(reason)
        return found


def writing(brief: Brief, plain: Draft, unfit: Unfit) -> Task:
    """The task that a brief is, beside the text that the offline judge makes of it."""
    headings: tuple[str, ...]
    match brief:
        case Episode():
            prompt, material, headings = "episode", _episode(brief), _EPISODES[brief.kind]
        case Recurrence():
            prompt, material, headings = "recurrence", _recurrence(brief), ("Application",)
        case Period():
            headings = (brief.heading, *_STRATEGY)
            prompt, material = "strategy", _period(brief)
        case Agreement():
            prompt, material, headings = "agreement", _agreement(brief), _AGREEMENT
    draft = {"title": plain.title, "sections": dict(plain.sections)}
    data = {"sections": list(headings), **material, "draft": draft}
    return Task(prompt, data, brief, plain, headings, unfit)


def _tidy(text: str) -> str:
    """A section's text without headings, rules and tags of its own."""
    lines = (line.rstrip() for line in text[:SECTION].splitlines())
    kept = (line for line in lines if not line.lstrip().startswith(("#", "---", "```")))
    return "\n".join(kept).replace("<", "‹").strip()


# ── what is told ─────────────────────────────────────────────────────────────────────


def _evaluated(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "quality_score": evaluation.quality_score,
        "judged_right": evaluation.judge_was_right,
        "insight": evaluation.key_insight,
        "better_approach": evaluation.better_approach,
        "strengths": list(evaluation.strengths),
        "weaknesses": list(evaluation.weaknesses),
        "missed_factors": list(evaluation.missed_factors),
    }


def _episode(brief: Episode) -> dict[str, Any]:
    told = asking.ended(brief.case.outcome)
    compared = asking.compared(brief.case)
    return {
        "kind": brief.kind,
        **told,
        "evaluation": _evaluated(brief.evaluation),
        "compared": compared,
    }


def _recurrence(brief: Recurrence) -> dict[str, Any]:
    return {
        "domain": brief.domain,
        "theme": brief.theme,
        "facts": [fact.text for fact in brief.facts],
        "evaluations": [_evaluated(each) for each in brief.evaluations[:_SHOWN]],
    }


def _period(brief: Period) -> dict[str, Any]:
    return {
        "domain": brief.domain,
        "outcomes_in_all": len(brief.outcomes),
        "seek": [_comparison(each) for each in brief.seek],
        "avoid": [_comparison(each) for each in brief.avoid],
        "latest": [_brief(o, brief.evaluations) for o in brief.outcomes[-_SHOWN:]],
        "nobody_recorded": list(brief.unrecorded),
    }


def _comparison(comparison: Comparison) -> dict[str, Any]:
    found = asking.contrasted(comparison.contrasts)
    return {"group": comparison.group, "more_often_so": found}


def _brief(outcome: Outcome, evaluations: Mapping[str, Evaluation]) -> dict[str, Any]:
    evaluation = evaluations.get(outcome.id)
    learned = {"insight": evaluation.key_insight} if evaluation else {}
    return asking.ended(outcome) | learned


def _numbered(brief: Agreement) -> list[tuple[str, str]]:
    """(skill, statement) of all sources, in order."""
    return [(skill.name, each) for skill in brief.skills for each in statements(skill.body)]


def _agreement(brief: Agreement) -> dict[str, Any]:
    known = enumerate(_numbered(brief), 1)
    # By skill, as lists are cut at a length and none of these may be.
    found: dict[str, dict[str, str]] = {}
    for number, (skill, statement) in known:
        found.setdefault(skill, {})[str(number)] = statement
    return {"domain": brief.domain, "statements": found}
