"""What a recommendation is told beside the skills: what they are about, facts, domains, context.

Facts of other domains are those that are said to hold there too.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from skillvault.learning.naming import subject_key
from skillvault.learning.promote.facts import is_contested, text_with_rate
from skillvault.learning.recommend.disclosure import Action, FactHit, Summary
from skillvault.learning.recommend.lines import (
    ANSWERS,
    RELATED,
    LineMatch,
    cut_excerpt,
    match_lines,
)
from skillvault.learning.recommend.lines import NO_MATCH as NO_LINE
from skillvault.learning.recommend.recommend import Background, Query
from skillvault.learning.recommend.relevance import Match, fold_name, words_of
from skillvault.learning.record import near_domain
from skillvault.model.english import FUNCTION_WORDS
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, Fact, Ref, Scalar
from skillvault.vault.index.snapshot import Topics

_HITS = 50  # facts that are looked at, of the domain and of all
_ABROAD = frozenset({"cross_domain", "general"})
_ASKED = 30  # of the best skills is asked what they are about
_ENDING = 2  # letters at the end of a word that may differ: `migrations` says `migration`
_STEM = 4  # letters that words have in common at least
_WORD = re.compile(r"[^\W_]+")


def background_of(
    head: Topics,
    query: Query,
    asked: tuple[str, Mapping[str, Match]] | None,
) -> Background:
    """`asked` is the task and how well skills answer it; None if none is given."""
    task, matches = asked or ("", {})
    return Background(
        about=_about(head),
        actions=_skill_actions(head, matches),
        leads=_leads(head, query, task, matches),
        facts=_fact_hits(head, task, query.domain) if task else (),
    )


def unknown_domain(head: Topics, domain: str) -> str | None:
    """None for a domain that is known; else the known one that it looks like, or ""."""
    if domain in head.domains:
        return None
    names = (row.domain for row in head.skills.candidates())
    domains = {*head.domains, *filter(None, names)}
    return None if domain in domains else near_domain(domain, domains) or ""


def _about(head: Topics) -> Callable[[str], Summary]:
    def about(name: str) -> Summary:
        own = head.skills.get(name)
        if own is not None:
            return Summary(own.description, f"skills/{name}/SKILL.md")
        other = head.layers.of_name(name)
        return Summary(other.skill.description, other.path) if other else Summary()

    return about


# ── what skills are about ──────────────────────────────────────────────────────────


def _skill_actions(head: Topics, scores: Mapping[str, Match]) -> dict[str, frozenset[Action]]:
    """Skill -> the actions that it is about, of those that answer a task best."""
    best = sorted(scores, key=lambda name: (-scores[name].score, name))[:_ASKED]
    behind = head.skills.subjects_behind(best) if best else {}
    return {
        name: frozenset((domain, action) for domain, action, _ in subjects)
        for name, subjects in behind.items()
    }


def _leads(head: Topics, query: Query, task: str, found: Iterable[str]) -> dict[str, int]:
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
    return [one for one in head.outcomes.actions(domain) if fold_name(one) == fold_name(action)]


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


# ── guides ─────────────────────────────────────────────────────────────────────────


class Guide(NamedTuple):
    """A guide's action and text, and the lines of all its tries.

    `action` names its target, too, where it has but one: then no line does.
    """

    action: str
    body: str
    tried: tuple[str, ...]

    def best_match(self, task: str) -> LineMatch:
        """Return how much of a task the one line says that says most."""
        lines = [line for line in self.body.splitlines() if line.startswith("- ")]
        matches = match_lines(task, [*lines, *self.tried], self.action)
        return max(matches.values(), key=lambda match: match.strength, default=NO_LINE)

    def cut_excerpt(self, task: str) -> str:
        """Return the text cut to the lines that fit a task."""
        return cut_excerpt(task, self.body, self.tried, self.action)


def guide_lines(head: Topics, found: Iterable[str], query: Query) -> dict[str, Guide]:
    """Return the guides among the best skills for a task, and those that are pinned."""
    guides: dict[str, Guide] = {}
    for name in [*found, *query.pins][:_ASKED]:
        skill = head.skills.get(name)
        if skill is not None and skill.kind == "guide" and skill.origin == "generated":
            action = (skill.subject or "").partition(" / ")[2]
            _, _, target = skill.description.partition(". ")[0].partition(" on ")
            is_one = "," not in target and " and " not in target
            words = [*words_of(action), target.rstrip(".") if is_one else ""]
            guides[name] = Guide(" ".join(words).strip(), skill.body, head.records.read_tries(name))
    return guides


def with_line_shares(
    task: str, matches: Mapping[str, Match], guides: Mapping[str, Guide], answers: float
) -> dict[str, Match]:
    """Return how well skills answer a task, a guide by the one of its lines that says most.

    The words of many tries together say a little of any task: a guide without a related line
    answers none, and one with a line that says enough answers it whatever the others say.
    """
    shares = dict(matches)
    for name in guides.keys() & matches.keys():
        best = guides[name].best_match(task)
        share = matches[name].share if best.strength >= RELATED else 0.0
        share = max(share, answers, best.share) if best.strength >= ANSWERS else share
        shares[name] = matches[name]._replace(share=share)
    return shares


# ── facts ──────────────────────────────────────────────────────────────────────────


def _fact_hits(head: Topics, task: str, domain: str) -> list[FactHit]:
    """The trusted facts in force that a task finds, of the domain and what holds beyond its own."""
    # Apart, so that the many of other domains take no place from those of this one.
    searches = [
        head.search(task, _HITS, kinds=("fact",), domains=domains) for domains in ((domain,), None)
    ]
    shares = {hit.id.partition(":")[2]: hit.share for hits in searches for hit in hits}
    facts = _in_force(head, shares)
    actions = head.facts.actions(facts)
    return [
        FactHit(
            id=fact.id,
            domain=fact.domain,
            text=fact.text,
            share=shares[fact.id],
            blob=head.files.get(head.records.path_of(Ref("fact", fact.id)) or "") or "",
            advice=_advice(fact, evaluations),
            actions=frozenset(actions.get(fact.id, ())),
        )
        for fact in facts.values()
        if _holds(domain, fact, evaluations := head.evaluations.supporting([fact.id]))
    ]


def holding_abroad(head: Topics, ids: Iterable[str], domain: str) -> set[str]:
    """Those of these facts that are of other domains and hold in this one too."""
    return {
        fact.id
        for fact in _in_force(head, ids).values()
        if fact.domain != domain and _holds(domain, fact, head.evaluations.supporting([fact.id]))
    }


def _in_force(head: Topics, ids: Iterable[str]) -> dict[str, Fact]:
    """The trusted ones of these facts that nothing supersedes or contests, with their counts."""
    facts = head.facts.get_many(ids)
    gone = head.facts.superseded_ids(facts)
    against, runs = head.facts.opponent_counts(facts), head.facts.supporter_counts(facts)
    made = head.facts.makers(facts)
    return {
        name: replace(fact, text=text_with_rate(fact, runs.get(name, 0), against.get(name, 0)))
        for name, fact in facts.items()
        if fact.trust == "local"
        and name not in gone
        and (name in runs or name not in made)  # what a run made rests on those that still count
        and not is_contested(fact, runs.get(name, 0), against.get(name, 0))
    }


def _holds(domain: str, fact: Fact, evaluations: Iterable[Evaluation]) -> bool:
    """Whether a fact is of a domain, or holds in others than its own."""
    return fact.domain == domain or any(e.applicability in _ABROAD for e in evaluations)


def _advice(fact: Fact, evaluations: Iterable[Evaluation]) -> str:
    """What to do: the fact's last line if it has several, else what would have been better."""
    lines = [line for line in fact.text.splitlines() if line.strip()]
    if len(lines) > 1:
        return lines[-1]
    return next((e.better_approach for e in evaluations if e.better_approach), "")


# ── a context ──────────────────────────────────────────────────────────────────────


def unknown_context(
    policy: Policy, context: Mapping[str, Scalar], bodies: Iterable[str]
) -> list[str]:
    """The keys that no boost and no skill knows, and the texts as `key=value` of those known.

    Known is what a boost of the policy asks for, or what the text of a skill says.
    """
    boosts = policy.recommend.boosts
    keys = {
        fold_name(key) for boost in boosts for key in (*boost.when, *boost.above, *boost.unless)
    }
    asked = (pair for boost in boosts for pair in boost.when.items())
    values = {(fold_name(key), fold_name(value)) for key, value in asked if isinstance(value, str)}
    unknown_keys = {key for key in context if fold_name(key) not in keys}
    texts = {
        key: value
        for key, value in context.items()
        if isinstance(value, str) and (fold_name(key), fold_name(value)) not in values
    }
    for body in bodies:
        if not (unknown_keys or texts):
            break
        text = f"_{'_'.join(_WORD.findall(body.casefold()))}_"
        unknown_keys = {key for key in unknown_keys if not _is_said(key, text)}
        texts = {key: value for key, value in texts.items() if not _is_said(value, text)}
    return [
        key if key in unknown_keys else f"{key}={context[key]}"
        for key in context
        if key in unknown_keys or key in texts
    ]


def _is_said(name: str, text: str) -> bool:
    """Whether a text, its words between underscores, says a key or a value."""
    words = [word for part in words_of(name) for word in _WORD.findall(part)]
    return bool(words) and any(f"_{link.join(words)}_" in text for link in ("_", ""))
