"""Answer the commands `search`, `stats`, `learned` and `judge`, and the same calls from Python."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, overload

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from skillvault.learning import advise
from skillvault.learning.capture import prompt
from skillvault.learning.recommend.recommend import Query
from skillvault.loop import learned as noted_rules
from skillvault.loop.judging.judges import accuracy_of, policy_judge
from skillvault.loop.receipts import Receipts
from skillvault.model import codec
from skillvault.model.errors import NoAnswerError, UnavailableError, UsageError
from skillvault.model.records import Evaluation, Fact, Problem, Skill
from skillvault.model.text.text import shorten
from skillvault.serving import background
from skillvault.serving import shelf as serving
from skillvault.serving.shelf import Shelf
from skillvault.vault.commit.store import Store
from skillvault.vault.files.inbox import Inbox
from skillvault.vault.files.redact import redact_value
from skillvault.vault.index.records import parse_ref

if TYPE_CHECKING:
    from skillvault.learning.skill_stats import SkillStats
    from skillvault.vault.index.snapshot import Snapshot
    from skillvault.vault.search.ranking import Hit

KINDS = ("skill", "fact", "evaluation")
_MAX_TEXT = 200  # characters of a result's text


class SearchResult(Struct, frozen=True):
    """A record that answers a search; `score` (0..1) is the share of the query in it.

    A skill that a person approved keeps the `trust` of its sources. The `note` of a fact is its
    date and its older value.
    """

    kind: str
    id: str
    domain: str | None
    score: float
    text: str
    path: str
    trust: str
    note: str = ""


class Notebook:
    """The noted rules (LEARNINGS.md) and the patterns of a vault."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def learn(
        self, rule: str, scope: Sequence[str] = (), *, keep_both: bool = False, dry: bool = False
    ) -> str:
        """Append a rule to LEARNINGS.md, without secrets; return the rule as written.

        A noted rule with another value, such as another port, is replaced: a comment in front of
        the new rule names it. With `keep_both` both rules hold. `scope` has the patterns of the
        files that the rule is about, also YAML and markdown. The next run commits the rule. Raise
        UsageError for an invalid rule. With `dry` nothing is written.
        """
        return noted_rules.note_rule(self._store, rule, scope, keep_both=keep_both, dry=dry)

    def remarks(self, rule: str, *, keep_both: bool = False) -> list[str]:
        """Return the remarks about a rule: equal statements, and older versions that stay."""
        snapshot = self._store.snapshot()
        return noted_rules.remarks_on_rule(self._store, snapshot, rule, keep_both=keep_both)

    def uncommitted_rules(self) -> list[str]:
        """Return the noted rules that are not committed yet; prompts have them already."""
        return noted_rules.uncommitted_rules(self._store, self._store.snapshot())

    def learned(self, base: str = "") -> str:
        """Return a prompt followed by the best patterns and the latest rules.

        They have at most `capture.budget` tokens.
        """
        return prompt.append_learned(base, self.learned_rules().text)

    def learned_rules(self, repository: str | None = None) -> "noted_rules.LearnedPrompt":
        """Return the patterns and rules, their cut numbers, and the reason for missing patterns.

        With a `repository`, also the rules that the user stated for it and has not approved yet.
        """
        return noted_rules.learned_text(self._store, repository)


class Inquiry:
    """Searches in a vault, and the use of its skills."""

    def __init__(self, shelf: "Callable[[], serving.Shelf]", clock: Callable[[], datetime]) -> None:
        self._shelf, self._clock = shelf, clock

    def search(
        self,
        text: str,
        *,
        kind: str | None = None,
        domain: str | None = None,
        k: int = 10,
        semantic: bool = True,
        untrusted: bool = False,
    ) -> list[SearchResult]:
        """Return the skills, facts and evaluations that answer a text best.

        `kind` is skill, fact or evaluation; the score is a share of the query, 0..1. Of other
        domains than `domain`, only facts that apply there too are included. With `semantic`,
        results with a similar meaning come first, if that extra is installed. With `untrusted`,
        facts and evaluations of untrusted sources are included. Skills of the package come last.
        """
        if kind is not None and kind not in KINDS:
            raise UsageError(f"--kind {kind}: there are {', '.join(KINDS)}")
        kinds = None if kind is None else (kind,)
        domains = None if domain is None else (domain, None)  # a skill may be of none

        def search_head(snapshot: "Snapshot") -> list[SearchResult]:
            nearness = serving.nearness_measure() if semantic else None
            find = partial(snapshot.search, text, nearness=nearness)
            seeds = {f"skill:{name}" for name in snapshot.layers.served_seeds()}
            hits = find(k + len(seeds), kinds=kinds, domains=domains)
            if domain is not None and kind in (None, "fact"):
                facts = {hit.id.partition(":")[2]: hit for hit in find(k, kinds=("fact",))}
                ids = background.applicable_facts(snapshot, facts, domain)
                hits += [hit for name, hit in facts.items() if name in ids]
            doubtful = find(k, kinds=kinds, domains=domains, untrusted=True) if untrusted else []
            hits = _with_current_facts(snapshot, text, hits)
            ranking = sorted({hit.id: hit for hit in (*hits, *doubtful)}.values(), key=_by_score)
            ranked_hits = [hit for hit in ranking if hit.id not in seeds][:k]
            requested = seeds - _unrequested_seeds(snapshot, domain)
            ranked_hits += [hit for hit in ranking if hit.id in requested][: k - len(ranked_hits)]
            untrusted_ids = {hit.id for hit in doubtful}
            return list(_results(snapshot, sorted(ranked_hits, key=_by_score), untrusted_ids))

        return serving.answer_question(self._shelf(), search_head)

    @overload
    def stats(
        self, skill: str | None = None, *, domain: str | None = None
    ) -> "list[SkillStats]": ...

    @overload
    def stats(self, *, decision: str, agent: str | None = None) -> dict[str, Any]: ...

    def stats(
        self,
        skill: str | None = None,
        *,
        domain: str | None = None,
        decision: str | None = None,
        agent: str | None = None,
    ) -> "list[SkillStats] | dict[str, Any]":
        """Return the use of one skill, or of every used skill (of a domain), best lift first.

        With a `decision`, return its shown and applied skills and its result; see `effect.detect`.
        `agent` selects the decision if several agents use its id (default: the agent that asked).
        Raise UsageError for an unknown skill or decision.
        """
        if decision is not None:
            if skill or domain:
                raise UsageError("a decision excludes a skill and a domain; pass one of them")
            return self._shelf().stats(decision, agent)
        if agent is not None:
            raise UsageError("an agent's name works only with a decision; pass its id too")
        return self._shelf().effects(skill, domain, now=self._clock())


def _unrequested_seeds(snapshot: "Snapshot", domain: str | None) -> set[str]:
    """Return the addresses of the package's skills that are neither pinned nor requested."""
    domains = snapshot.policy.shelf.seeds
    if domain in domains or (domain is None and domains):
        return set()
    names = set(snapshot.layers.served_seeds()).difference(snapshot.policy.shelf.pinned)
    return {f"skill:{name}" for name in names}


def _with_current_facts(snapshot: "Snapshot", question: str, hits: "Iterable[Hit]") -> "list[Hit]":
    """Replace superseded facts in a search result by their current versions.

    Of facts with equal matches, a fact with the words of the question at its start comes first.
    """
    facts = [hit.id.partition(":")[2] for hit in hits if hit.id.startswith("fact:")]
    nearness = background.subject_nearness(snapshot, question, facts)
    current = background.current_versions(snapshot, facts)
    newer_facts = snapshot.facts.get_many(current.values()).values()
    trusted_ids = {fact.id for fact in newer_facts if fact.trust == "local"}
    best_hits: dict[str, Hit] = {}
    for hit in hits:
        name = current.get(hit.id.partition(":")[2]) if hit.id.startswith("fact:") else None
        if name is None or name in trusted_ids:
            score = hit.score * nearness.get(hit.id.partition(":")[2], 1.0)
            new_hit = replace(hit, id=f"fact:{name}" if name else hit.id, score=score)
            best_hits[new_hit.id] = min(new_hit, best_hits.get(new_hit.id, new_hit), key=_by_score)
    return list(best_hits.values())


def _by_score(hit: "Hit") -> tuple[float, str]:
    return -hit.score, hit.id


def _results(
    snapshot: "Snapshot", hits: "Iterable[Hit]", untrusted: Collection[str]
) -> Iterator[SearchResult]:
    """Yield search results in order; `untrusted` are the ids of hits without trust."""
    for hit in hits:
        ref = parse_ref(hit.id)
        # A proposed or archived skill may have the name of a skill of another layer.
        path = (
            background.skill_path(ref.id)
            if ref.kind == "skill"
            else snapshot.records.path_of(ref) or ""
        )
        record = snapshot.records.by_path([path]).get(path)
        if record is None or isinstance(record, Problem):
            entry = snapshot.layers.of_name(ref.id)
            if entry is None:
                continue
            record, path = entry.skill, entry.path
        trust = "untrusted" if hit.id in untrusted else getattr(record, "trust", "local")
        notes = background.fact_notes(snapshot, [record]) if isinstance(record, Fact) else {}
        yield SearchResult(
            kind=ref.kind,
            id=ref.id,
            domain=getattr(record, "domain", None),
            score=round(hit.score, 6),
            text=_summary_text(record),
            path=path,
            trust=trust,
            note=notes.get(ref.id, ""),
        )


def _summary_text(record: object) -> str:
    match record:
        case Skill():
            text = record.description
        case Fact():
            text = record.text
        case Evaluation():
            text = record.key_insight or ""
        case _:
            text = ""
    return shorten(" ".join(text.split()), _MAX_TEXT)


def judge_decision(
    store: Store, shelf: Shelf, file: tuple[str, bytes], now: datetime
) -> advise.Advice:
    """Judge the decision in a file (name, bytes); a refusal is written to the inbox.

    If the judge cannot be asked, or is no better than chance in this vault, the decision may be
    carried out, with a warning.
    """
    raw = redact_value(codec.parse_incoming(*file))
    proposal, settings = advise.parse_proposal(raw, now), store.snapshot().policy.judge
    snapshot = store.snapshot()
    outcome = Receipts(snapshot, Inbox(store.root), now).resolve_applied(proposal.outcome)
    proposal = msgspec.structs.replace(proposal, outcome=outcome)
    if outcome.decision.action.lower() in settings.skip:
        return advise.Advice(proceed=True, reason="nothing is to be carried out")
    judge = policy_judge(store, settings.inline_seconds)
    skills, record = _recommended_skills(shelf, proposal), accuracy_of(judge, store.snapshot())
    if record and record.is_chance:
        return advise.chance_advice(skills)
    thorough = advise.has_high_stakes(proposal, settings)
    try:
        opinion, judge_name = judge.advise(proposal.outcome, skills, thorough=thorough)
    except (UnavailableError, NoAnswerError) as error:
        warnings = (f"not judged: {error}",)
        return advise.Advice(proceed=True, reason="not judged", warnings=warnings)
    advice = advise.advice(proposal, opinion, judge_name, settings)
    if not advice.proceed:
        text = json.dumps(advise.held_back_outcome(raw, advice, now), ensure_ascii=False)
        list(Inbox(store.root).drop([(f"held-{proposal.outcome.id}.json", text.encode())]))
    return advice


def _recommended_skills(shelf: Shelf, proposal: advise.Proposal) -> list[Skill]:
    outcome, decision = proposal.outcome, proposal.outcome.decision
    query = Query(
        domain=outcome.domain, context=outcome.context, strategy="hybrid", action=decision.action
    )
    words = (decision.task or decision.reasoning, decision.action, decision.target)
    recommended_skills = shelf.recommend(query, " ".join(filter(None, words))).recommended
    names = (skill.name for skill in recommended_skills if skill.how != "named")
    return [skill for name in names if (skill := shelf.get(name))]
