"""What skills are about, and which are about the very action that a task asks for."""

import re
from collections.abc import Collection, Iterable, Mapping

from skillvault.learning.naming import subject_key
from skillvault.learning.recommend.facts import Action
from skillvault.learning.recommend.recommend import Query
from skillvault.learning.recommend.relevance import Match, folded
from skillvault.model.english import FUNCTION_WORDS
from skillvault.vault.index.snapshot import Topics

_ASKED = 30  # of the best skills is asked what they are about
_ENDING = 2  # letters at the end of a word that may differ: `migrations` says `migration`
_STEM = 4  # letters that words have in common at least
_WORD = re.compile(r"[^\W_]+")


def skill_actions(head: Topics, scores: Mapping[str, Match]) -> dict[str, frozenset[Action]]:
    """Skill -> the actions that it is about, of those that answer a task best."""
    best = sorted(scores, key=lambda name: (-scores[name].score, name))[:_ASKED]
    behind = head.skills.subjects_behind(best) if best else {}
    return {
        name: frozenset((domain, action) for domain, action, _ in subjects)
        for name, subjects in behind.items()
    }


def leads(head: Topics, query: Query, task: str, found: Iterable[str]) -> dict[str, int]:
    """Skill -> 0 if its subject is what is asked for, 1 if it is about the same action.

    The action is the query's, whatever its letter case; without one those of whose words the task
    says every one, and then only skills that the task finds.
    """
    actions = _actions(head, query, task)
    if not actions:
        return {}
    names = _about_actions(head, query.domain, actions)
    if query.action is None:
        names &= set(found)
    subjects = head.skills.subjects(names)
    task_words = _words(task)
    exact = {subject_key((query.domain, action, None)) for action in actions}
    return {name: 0 if _is_exact(subjects.get(name), exact, task_words) else 1 for name in names}


def is_taught(head: Topics, domain: str, action: str) -> bool:
    """Whether a skill of a domain is about an action, whatever its letter case."""
    return bool(_about_actions(head, domain, _called(head, domain, action)))


def _about_actions(head: Topics, domain: str, actions: Collection[str]) -> set[str]:
    """The skills about these actions; a strategy is about all of its domain."""
    if not actions:
        return set()
    names = head.skills.of_actions(domain, actions)
    rows = head.skills.candidates_named(names)
    return {row.name for row in rows if row.layer == "vault" and row.kind != "strategy"}


def _called(head: Topics, domain: str, action: str) -> list[str]:
    """The actions of a domain's outcomes of this name, whatever its letter case."""
    return [one for one in head.outcomes.actions(domain) if folded(one) == folded(action)]


def _actions(head: Topics, query: Query, task: str) -> list[str]:
    """The actions of the domain's outcomes that are asked for."""
    if query.action is not None:
        return _called(head, query.domain, query.action)
    if not task:
        return []
    actions = head.outcomes.actions(query.domain)
    task_words = _words(task)
    return [action for action in actions if len(_words(action)) > 1 and _says(task_words, action)]


def _is_exact(subject: str | None, exact: Iterable[str], task_words: list[str]) -> bool:
    """Whether a skill's subject is an action, or one on a target that the task names."""
    if subject is None:
        return False
    return any(
        subject == whole
        or (subject.startswith(f"{whole} / ") and _says(task_words, subject[len(whole) :]))
        for whole in exact
    )


def _says(task_words: Iterable[str], text: str) -> bool:
    """Whether every word of a text is said, in whatever form."""
    words = _words(text)
    return bool(words) and all(any(_is_form(word, other) for other in task_words) for word in words)


def _is_form(word: str, other: str) -> bool:
    if word == other:
        return True
    stem = max(_STEM, min(len(word), len(other)) - _ENDING)
    return len(word) >= _STEM and word[:stem] == other[:stem]


def _words(text: str) -> list[str]:
    """The words of a text or a name without function words."""
    return [word for word in _WORD.findall(text.lower()) if word not in FUNCTION_WORDS]
