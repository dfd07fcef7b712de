"""The text of a skill distilled from sessions: what failed and why, and what then worked."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from skillvault.judge.offline.drafting import TITLE, bulleted, described
from skillvault.judge.offline.speech import fitting, plain, sentence
from skillvault.model.brief import Draft, SessionExcerpt
from skillvault.model.records import Session, SessionFailure, SessionSuccess
from skillvault.model.sameness.comparison import same
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.text.text import count_of, listed, slug, whole

FAILED, WORKED = "What Failed and Why", "What Then Worked"
_LEMMA, _REASON, _ATTEMPT, _TEXT = 60, 300, 160, 300  # characters
_LABELS = 8
_NAMED = 3  # lemmas that a description names


class _Told(NamedTuple):
    """A line, the sessions that say it, and whether its lemma was overcome."""

    lemma: str
    line: str
    form: Form
    sessions: list[str]
    is_overcome: bool


def recounted(brief: SessionExcerpt) -> Draft | None:
    """Both parts, those that more sessions say first; None where no line says anything."""
    overcome = {_key(success.lemma) for one in brief.sessions for success in one.successes}
    failed = _ranked(_failures(brief.sessions, overcome))
    worked = _ranked(_successes(brief.sessions))
    failures = [_counted(told, brief) for told in failed]
    successes = [_counted(told, brief) for told in worked]
    sections = ((FAILED, bulleted(failures)), (WORKED, bulleted(successes)))
    lemmas = list(dict.fromkeys(told.lemma for told in (*failed, *worked)))
    if not lemmas:
        return None
    return Draft(
        fitting(listed(lemmas[:2]), TITLE),
        described(
            f"before {listed(lemmas[:_NAMED], last='or')}", _alternating(successes, failures)
        ),
        tuple((heading, text) for heading, text in sections if text),
        tags=_labels([label for one in brief.sessions for label in one.tags], lemmas),
        roles=_labels(label for one in brief.sessions for label in one.roles),
        stages=_labels(label for one in brief.sessions for label in one.stages),
    )


def _failures(sessions: Iterable[Session], overcome: set[str]) -> list[_Told]:
    lines: list[_Told] = []
    for one in sessions:
        for failure in one.failures:
            if line := _failure_line(failure):
                told = _Told(
                    plain(failure.lemma, _LEMMA),
                    line,
                    normal_form(f"{failure.lemma}: {failure.reason}"),
                    [one.id],
                    _key(failure.lemma) in overcome,
                )
                _add(lines, told)
    return lines


def _successes(sessions: Iterable[Session]) -> list[_Told]:
    lines: list[_Told] = []
    for one in sessions:
        for success in one.successes:
            if line := _success_line(success):
                form = normal_form(f"{success.lemma}: {success.text}")
                _add(lines, _Told(plain(success.lemma, _LEMMA), line, form, [one.id], True))
    return lines


def _add(lines: list[_Told], new: _Told) -> None:
    """One line more, or one session more that says it, whatever it had tried."""
    for told in lines:
        if same(told.form, new.form):
            told.sessions.extend(name for name in new.sessions if name not in told.sessions)
            return
    lines.append(new)


def _ranked(lines: Iterable[_Told]) -> list[_Told]:
    """What most sessions say first; of equals what was overcome."""
    return sorted(lines, key=lambda told: (-len(told.sessions), not told.is_overcome))


def _failure_line(failure: SessionFailure) -> str:
    """`checkout timeout: the gateway answers 504 (after: raise the timeout)`."""
    reason = whole(failure.reason, _REASON).rstrip(".")
    attempt = whole(failure.attempt, _ATTEMPT).rstrip(".")
    tried = f" (after: {attempt})" if attempt else ""
    lemma = plain(failure.lemma, _LEMMA)
    return sentence(f"{lemma}: {reason or 'failed'}{tried}") if reason or attempt else ""


def _success_line(success: SessionSuccess) -> str:
    text = whole(success.text, _TEXT)
    return sentence(f"{plain(success.lemma, _LEMMA)}: {text}") if text else ""


def _counted(told: _Told, brief: SessionExcerpt) -> str:
    """A line; of several sessions with how many of them say it."""
    if len(brief.sessions) == 1:
        return told.line
    counts = count_of(len(told.sessions), len(brief.sessions))
    return sentence(f"{told.line.rstrip('.')} ({counts} sessions)")


def _alternating(first: Sequence[str], second: Sequence[str]) -> Iterator[str]:
    """One of the first, one of the second, and so on."""
    for pair in zip_longest(first, second):
        yield from filter(None, pair)


def _labels(stated: Iterable[str], lemmas: Iterable[str] = ()) -> tuple[str, ...]:
    """What sessions state, then what they are about, as slugs."""
    names = (slug(name, limit=40) for name in (*stated, *lemmas))
    return tuple(dict.fromkeys(filter(None, names)))[:_LABELS]


def _key(lemma: str) -> str:
    return " ".join(lemma.casefold().split())
