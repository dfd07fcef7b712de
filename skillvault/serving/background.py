"""Collect the subjects, guides, facts and context of a recommendation.

Facts of other domains are included if their evaluations say that they apply there too.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from skillvault.exchange.transcripts.subjects import OTHER_ACTION, WEAK_ACTIONS, action_of
from skillvault.learning.fact_review import is_due
from skillvault.learning.naming import subject_key
from skillvault.learning.promote import versions
from skillvault.learning.promote.facts import is_contested, text_with_rate
from skillvault.learning.recommend.disclosure import Action, FactHit, Summary
from skillvault.learning.recommend.lines import (
    ANSWERS,
    NO_MATCH,
    RELATED,
    LineMatch,
    cut_excerpt,
    is_covered,
    match_lines,
)
from skillvault.learning.recommend.recommend import NOT_LIVE, Background, Query
from skillvault.learning.recommend.relevance import Match, fold_name, words_of
from skillvault.learning.record import near_domain
from skillvault.model.english import FULL, FUNCTION_WORDS, REQUEST_WORDS, WORK_WORDS, weight
from skillvault.model.lazy import regex
from skillvault.model.policy import Policy
from skillvault.model.records import Evaluation, Fact, Ref, Scalar, Skill
from skillvault.model.sameness.form import stem
from skillvault.model.section_marks import read_marks, text_mark
from skillvault.vault.index.snapshot import Snapshot, evidence_of
from skillvault.vault.search.ranking import Near

_MAX_FACT_HITS = 50  # of the domain, and of all domains
_OTHER_DOMAINS = frozenset({"cross_domain", "general"})  # applicability of an evaluation
_NO_LINE_FACTOR = 0.35  # of the evidence of a guide without a related line
_MAX_SKILLS = 30  # best skills whose subjects are read
_MAX_ENDING = 2  # letters at the end of a word that may differ: `migrations` says `migration`
_MIN_STEM = 4  # letters that words have in common
_WORD = regex(r"[^\W_]+")
_PUNCTUATION = ".,;:!?()[]{}<>\"'`"
_TIE_BREAK = 1e-9  # of a score, for a word's distance from the beginning of a fact
# A run whose result nobody knows: no task learns from it.
_OPEN_TRY = regex(r"- \d{4}-\d\d-\d\d open\b")
_SECTION = regex(r"^(?=## )", re.MULTILINE)
_COMMON_WORDS = FUNCTION_WORDS | REQUEST_WORDS | WORK_WORDS
# They say little about a task; an upgrade is about its package.
_COMMON_ACTIONS = _COMMON_WORDS | WEAK_ACTIONS | {OTHER_ACTION, "upgrade"}


def background_of(
    snapshot: Snapshot,
    query: Query,
    task_matches: tuple[str, Mapping[str, Match]] | None,
    actions: Mapping[str, frozenset[Action]],
    nearness: Near | None = None,
) -> Background:
    """Collect the background of a query; `nearness` ranks the facts like the skills.

    `task_matches` are the task and the matches of skills with it, or None. `actions` are the
    actions of the best skills.
    """
    task, matches = task_matches or ("", {})
    return Background(
        about=partial(_summary, snapshot),
        actions=actions,
        leads=_leads(snapshot, query, task, matches),
        facts=_fact_hits(snapshot, task, query, nearness) if task else (),
    )


def unknown_domain(snapshot: Snapshot, domain: str) -> str | None:
    """Return None for a known domain, else a domain with a similar name, or ""."""
    if domain in snapshot.domains:
        return None
    names = (row.domain for row in snapshot.skills.candidates())
    domains = {*snapshot.domains, *filter(None, names)}
    return None if domain in domains else near_domain(domain, domains) or ""


def skill_path(name: str) -> str:
    """Return the path of a skill of the vault; a person's folder may have any name."""
    return f"skills/{name}/SKILL.md"


def _summary(snapshot: Snapshot, name: str) -> Summary:
    skill = snapshot.skills.get(name)
    if skill is not None:
        return Summary(skill.description, skill_path(name))
    entry = snapshot.layers.of_name(name)
    return Summary(entry.skill.description, entry.path) if entry else Summary()


# ── what skills are about ──────────────────────────────────────────────────────────


def find_actions(snapshot: Snapshot, matches: Mapping[str, Match]) -> dict[str, frozenset[Action]]:
    """Map the skills that match a task best to the actions of the outcomes behind them."""
    names = sorted(matches, key=lambda name: (-matches[name].score, name))[:_MAX_SKILLS]
    return {
        name: frozenset((domain, action) for domain, action, _ in subjects)
        for name, subjects in (snapshot.skills.source_subjects(names) if names else {}).items()
    }


def with_named_subjects(
    snapshot: Snapshot, domain: str, task: str, matches: Mapping[str, Match], *, answers: float
) -> dict[str, Match]:
    """Return the matches, with a match for the skills whose subject the task names.

    These are the skills about the action, and about the action on this target. They get the
    evidence of the best skill, so that no skill about another action comes before them.
    """
    names = _find_named_skills(snapshot, domain, task)
    # A task may ask for an action in other words: "the page is slow" asks to optimize.
    action = action_of(task)
    if action not in _COMMON_ACTIONS and not _mentions(_words(task), action):
        names |= _skills_about(snapshot, domain, [action]) & matches.keys()
    if not names:
        return dict(matches)
    max_score = max((match.score for match in matches.values()), default=1.0)
    max_evidence = max((match.evidence for match in matches.values()), default=0.0)
    raised_matches = dict(matches)
    for name in names:
        match = matches.get(name, Match(max_score, 0.0))
        raised_matches[name] = match._replace(evidence=max(max_evidence, answers))
    return raised_matches


def _find_named_skills(snapshot: Snapshot, domain: str, task: str) -> set[str]:
    task_text = _pad_words(task)
    actions = (name for name in snapshot.outcomes.actions(domain) if _is_subject_name(name))
    subjects: set[tuple[str, str | None]] = {
        (action, None) for action in actions if _pad_words(action) in task_text
    }
    terms = {term.strip(_PUNCTUATION) for term in task.split()}
    spellings = {
        spelling
        for term in filter(_is_subject_name, terms)
        for spelling in (term, term.lower(), term.upper())
    }
    for action, target in snapshot.outcomes.target_subjects(domain, sorted(spellings)):
        subjects |= {(action, None), (action, target)}
    keys = [subject_key((domain, action, target)) for action, target in subjects]
    rows = (row for key in keys for row in snapshot.skills.by_subject(key))
    return {row.name for row in rows if row.folder == "skills" and row.status not in NOT_LIVE}


def _is_subject_name(term: str) -> bool:
    """Return True if a term names one subject; False for common words such as `add page`.

    A single word names a subject if it is rare in English.
    """
    words = _WORD.findall(term.lower())
    is_rare = len(words) > 1 or any(weight(stem(word)) == FULL for word in words)
    return is_rare and not _COMMON_WORDS.issuperset(words)


def _pad_words(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.lower()))} "


def _leads(snapshot: Snapshot, query: Query, task: str, matches: Iterable[str]) -> dict[str, int]:
    """Map each skill to 0 if it is about the requested subject, or to 1 if only about the action.

    The action is the query's, in any letter case. Without one, all actions with their words in the
    task count, and only skills that match the task.
    """
    actions = _requested_actions(snapshot, query, task)
    if not actions:
        return {}
    names = _skills_about(snapshot, query.domain, actions)
    if query.action is None:
        names &= set(matches)
    subjects = snapshot.skills.subjects(names)
    task_words = _words(task)
    exact = {subject_key((query.domain, action, None)) for action in actions}
    return {name: 0 if _is_exact(subjects.get(name), exact, task_words) else 1 for name in names}


def is_taught(snapshot: Snapshot, domain: str, action: str) -> bool:
    """Return True if a skill of a domain is about an action, in any letter case."""
    return bool(_skills_about(snapshot, domain, _actions_named(snapshot, domain, action)))


def _skills_about(snapshot: Snapshot, domain: str, actions: Collection[str]) -> set[str]:
    """Return the skills about these actions, without strategies, which are about all actions."""
    if not actions:
        return set()
    names = snapshot.skills.of_actions(domain, actions)
    rows = snapshot.skills.candidates_named(names)
    return {row.name for row in rows if row.layer == "vault" and row.kind != "strategy"}


def _actions_named(snapshot: Snapshot, domain: str, action: str) -> list[str]:
    return [
        name for name in snapshot.outcomes.actions(domain) if fold_name(name) == fold_name(action)
    ]


def _requested_actions(snapshot: Snapshot, query: Query, task: str) -> list[str]:
    """Return the actions of the domain's outcomes that a query or a task names."""
    if query.action is not None:
        return _actions_named(snapshot, query.domain, query.action)
    if not task:
        return []
    actions = snapshot.outcomes.actions(query.domain)
    task_words = _words(task)
    return [
        action for action in actions if len(_words(action)) > 1 and _mentions(task_words, action)
    ]


def _is_exact(subject: str | None, keys: Iterable[str], task_words: list[str]) -> bool:
    """Return True for a subject without a target, or with a target that the task mentions."""
    if subject is None:
        return False
    return any(
        subject == key
        or (subject.startswith(f"{key} / ") and _mentions(task_words, subject[len(key) :]))
        for key in keys
    )


def _mentions(task_words: Iterable[str], text: str) -> bool:
    words = _words(text)
    return bool(words) and all(
        any(_is_word_form(word, term) for term in task_words) for word in words
    )


def _is_word_form(word: str, term: str) -> bool:
    if word == term:
        return True
    length = max(_MIN_STEM, min(len(word), len(term)) - _MAX_ENDING)
    return len(word) >= _MIN_STEM and word[:length] == term[:length]


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.lower()) if word not in FUNCTION_WORDS]


# ── guides ─────────────────────────────────────────────────────────────────────────


class Guide(NamedTuple):
    """The action and the text of a guide, the lines of all its tries, and their tasks.

    If all tries have one target, `action` includes the target, because the lines omit it.
    """

    action: str
    body: str
    tried: tuple[str, ...]
    tasks: tuple[str, ...]

    def best_match(self, task: str, evidence: float, answers: float) -> LineMatch:
        """Return the match of the best single line, or of a task behind it, with a task.

        The tasks are compared only if the guide has enough evidence for an answer but no line.
        """
        lines = [line for line in self.body.splitlines() if line.startswith("- ")]
        match = NO_MATCH
        for texts in ([*lines, *self.tried], self.tasks if evidence >= answers else ()):
            if match.strength < RELATED:
                matches = match_lines(task, texts, self.action).values()
                match = max([match, *matches], key=lambda match: match.strength)
        return match

    def excerpt(self, task: str) -> str:
        """Return the text cut to the lines that fit a task."""
        return cut_excerpt(task, self.body, self.tried, self.action)


def guide_lines(snapshot: Snapshot, names: Iterable[str], query: Query) -> dict[str, Guide]:
    """Return the guides among the best skills for a task, and the pinned guides."""
    guides: dict[str, Guide] = {}
    for name in [*names, *query.pins][:_MAX_SKILLS]:
        skill = snapshot.skills.get(name)
        if skill is not None and skill.kind == "guide" and skill.origin == "generated":
            action = (skill.subject or "").partition(" / ")[2]
            _, _, target = skill.description.partition(". ")[0].partition(" on ")
            is_single = "," not in target and " and " not in target
            words = [*words_of(action), target.rstrip(".") if is_single else ""]
            tries = snapshot.records.read_tries(name)
            removed_text = _removed_statements(snapshot, skill)
            decided_tries = tuple(
                line
                for line in tries
                if not (_OPEN_TRY.match(line) or (removed_text and is_covered(line, removed_text)))
            )
            tasks = snapshot.tasks.of_skill(name)
            guides[name] = Guide(" ".join(words).strip(), skill.body, decided_tries, tasks)
    return guides


def _removed_statements(snapshot: Snapshot, skill: Skill) -> str:
    """Return the statements that a person removed from a guide or reworded, one a line."""
    # Cheaper than to parse the text; a section that is cut in two only costs a look.
    marks = read_marks(skill.written or "").values()
    sections = [part for part in _SECTION.split(skill.body) if part.strip()]
    is_whole = len(sections) >= len(marks) - 1  # the description has a mark too
    if not marks or (is_whole and all(text_mark(part) in marks for part in sections)):
        return ""
    evidence = evidence_of(snapshot, Ref("skill", skill.name))
    texts = [statement.statement for statement in evidence.statements] if evidence else []
    return "\n".join(text for text in texts if text not in skill.body)


def with_line_evidence(
    task: str, matches: Mapping[str, Match], guides: Mapping[str, Guide], answers: float
) -> dict[str, Match]:
    """Return the matches of skills with a task, with guides rated by their best line.

    The many words of a long guide match any task a little. So a guide without a matching line needs
    more evidence, and a guide with a good line is always an answer.
    """
    new_matches = dict(matches)
    for name in guides.keys() & matches.keys():
        evidence = matches[name].evidence
        match = guides[name].best_match(task, evidence, answers)
        evidence *= 1.0 if match.strength >= RELATED else _NO_LINE_FACTOR
        if match.strength >= ANSWERS:
            evidence = max(evidence, answers, match.share)
        new_matches[name] = matches[name]._replace(evidence=evidence)
    return new_matches


# ── facts ──────────────────────────────────────────────────────────────────────────


def _fact_hits(snapshot: Snapshot, task: str, query: Query, nearness: Near | None) -> list[FactHit]:
    """Return the current trusted facts that match a task and apply to its domain.

    A match of an older version counts for the current version.
    """
    # Two searches, so that the many facts of other domains take no place from this domain's.
    searches = [
        snapshot.search(task, _MAX_FACT_HITS, kinds=("fact",), domains=domains, nearness=nearness)
        for domains in ((query.domain,), None)
    ]
    evidence = {hit.id.partition(":")[2]: hit.evidence for hits in searches for hit in hits}
    factors = subject_nearness(snapshot, task, evidence)
    evidence = {name: bits * factors.get(name, 1.0) for name, bits in evidence.items()}
    for older, newer in current_versions(snapshot, evidence).items():
        evidence[newer] = max(evidence.get(newer, 0.0), evidence[older])
    facts = _current_facts(snapshot, evidence)
    actions = snapshot.facts.actions(facts)
    notes = fact_notes(snapshot, facts.values())
    return [
        FactHit(
            id=fact.id,
            domain=fact.domain,
            text=fact.text,
            evidence=evidence[fact.id],
            blob=snapshot.files.get(snapshot.records.path_of(Ref("fact", fact.id)) or "") or "",
            advice=_advice(fact, evaluations),
            actions=frozenset(actions.get(fact.id, ())),
            note=notes[fact.id],
            at=versions.day_of(fact),
            is_due=is_due(fact, query.day),
        )
        for fact in facts.values()
        if _applies(query.domain, fact, evaluations := snapshot.evaluations.supporting([fact.id]))
    ]


def subject_nearness(snapshot: Snapshot, question: str, ids: Iterable[str]) -> dict[str, float]:
    """Map facts to a factor just below 1, which orders facts with equal matches.

    A statement starts with its subject, so a fact with the words of the question at its start is
    nearer.
    """
    words = set(_words(question))
    factors: dict[str, float] = {}
    for name, fact in snapshot.facts.get_many(ids).items():
        fact_words = _WORD.findall(fact.text.lower())
        positions = [fact_words.index(word) for word in words.intersection(fact_words)]
        factors[name] = 1 - _TIE_BREAK * sum(positions)
    return factors


def current_versions(snapshot: Snapshot, ids: Iterable[str]) -> dict[str, str]:
    """Map replaced facts to the current fact; leave out facts in a cycle."""
    successors, names = dict[str, str](), set(ids)
    current, new_names = dict[str, str](), names
    while new_names:
        newer = snapshot.facts.successors(new_names)
        new_names = set(newer.values()) - successors.keys() - newer.keys()
        successors |= newer
    for fact in names & successors.keys():
        name, older_names = fact, set[str]()
        while name in successors and name not in older_names:
            older_names.add(name)
            name = successors[name]
        if name not in successors:
            current[fact] = name
    return current


def fact_notes(snapshot: Snapshot, facts: Collection[Fact]) -> dict[str, str]:
    """Return the date of each fact, and its older value."""
    older = snapshot.facts.get_many(fact.supersedes for fact in facts if fact.supersedes)
    return {fact.id: versions.note_of(fact, older.get(fact.supersedes or "")) for fact in facts}


def applicable_facts(snapshot: Snapshot, ids: Iterable[str], domain: str) -> set[str]:
    """Return the ids of the facts from other domains that apply to this one."""
    return {
        fact.id
        for fact in _current_facts(snapshot, ids).values()
        if fact.domain != domain
        and _applies(domain, fact, snapshot.evaluations.supporting([fact.id]))
    }


def _current_facts(snapshot: Snapshot, ids: Iterable[str]) -> dict[str, Fact]:
    """Return the trusted facts that nothing supersedes or contests, with their counts."""
    facts = snapshot.facts.get_many(ids)
    superseded_ids = snapshot.facts.superseded_ids(facts)
    opponents, runs = snapshot.facts.opponent_counts(facts), snapshot.facts.supporter_counts(facts)
    makers = snapshot.facts.makers(facts)
    return {
        name: replace(fact, text=text_with_rate(fact, runs.get(name, 0), opponents.get(name, 0)))
        for name, fact in facts.items()
        if fact.trust == "local"
        and name not in superseded_ids
        and (
            name in runs or name not in makers
        )  # a fact of a run needs a supporter that still counts
        and not is_contested(fact, runs.get(name, 0), opponents.get(name, 0))
    }


def _applies(domain: str, fact: Fact, evaluations: Iterable[Evaluation]) -> bool:
    return fact.domain == domain or any(e.applicability in _OTHER_DOMAINS for e in evaluations)


def _advice(fact: Fact, evaluations: Iterable[Evaluation]) -> str:
    """Return the last line of a fact with several lines, else its advice."""
    lines = [line for line in fact.text.splitlines() if line.strip()]
    if len(lines) > 1:
        return lines[-1]
    return next((e.better_approach for e in evaluations if e.better_approach), "")


# ── a context ──────────────────────────────────────────────────────────────────────


def unknown_context(
    policy: Policy, context: Mapping[str, Scalar], bodies: Iterable[str]
) -> list[str]:
    """Return the unknown keys, and `key=value` for unknown texts of known keys.

    A key or text is known if a boost of the policy or the text of a skill mentions it.
    """
    boosts = policy.recommend.boosts
    keys = {
        fold_name(key) for boost in boosts for key in (*boost.when, *boost.above, *boost.unless)
    }
    pairs = (pair for boost in boosts for pair in boost.when.items())
    values = {(fold_name(key), fold_name(value)) for key, value in pairs if isinstance(value, str)}
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
        unknown_keys = {key for key in unknown_keys if not _has_words(key, text)}
        texts = {key: value for key, value in texts.items() if not _has_words(value, text)}
    return [
        key if key in unknown_keys else f"{key}={context[key]}"
        for key in context
        if key in unknown_keys or key in texts
    ]


def _has_words(name: str, text: str) -> bool:
    """Return True if a text (words joined by `_`) contains the words of a name."""
    words = [word for part in words_of(name) for word in _WORD.findall(part)]
    return bool(words) and any(f"_{link.join(words)}_" in text for link in ("_", ""))
