"""Find the claim of each evaluated run, in a form that can be compared with other runs.

A claim is the statement or the lesson that an insight quotes, or else the insight itself. The
ground of a claim is the quoted statement, or else the whole reasoning. `support` compares runs by
their claims and grounds; the `RunBook` finds earlier runs by digests.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from hashlib import blake2b
from typing import NamedTuple

from msgspec import Struct

from skillvault.learning.tries.insight import REASONED, insights_of, specific_values
from skillvault.model.brief import Insight
from skillvault.model.reasoning import read_statements
from skillvault.model.records import Evaluation, Outcome, Status
from skillvault.model.sameness.comparison import lookup_keys
from skillvault.model.sameness.form import Form, normal_form
from skillvault.model.text.text import make_inert

MAX_FIRST_FACTS = 5  # facts of one digest to which later runs are linked
_QUOTATION_WORDS = 8  # first words by which a quotation is recognized
_MIN_TARGET = 4  # characters; a shorter target occurs in other words by chance
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"[-+−]?\d+(?:[.,:]\d+)*|\w+")
_QUOTE = re.compile("“([^”]*)")
_FIGURE = re.compile(r"[-+]?\d+(?:[.,:]\d+)*(?: ?(?:%|[a-z]{1,2}\b))?")
_MEASURED = re.compile(
    r"\b\d+ (?:of|out of) \d+\b"
    r"|\b(?:took|fell|rose|reached|measured|showed)(?: \w+)? [-+]?\d\S*(?: \S+)?"
)


class RunSummary(NamedTuple):
    """The evaluation, result and session of a run, as stored for each of its digests."""

    evaluation: str
    status: Status
    session: str


class EvaluatedRun(Struct, frozen=True, kw_only=True):
    """The claim and the statements of an evaluated run.

    `claim` is the claim without values that only this outcome has. `label` names a fact with this
    claim. `statement_digests` has the digests of all statements in the reasoning, and
    `ground_digests` those of the statements that the claim rests on. `has_content` is False if the
    insight only says how the run ended.
    """

    evaluation: Evaluation
    outcome: Outcome
    claim: Form
    claim_digest: str
    label: str
    statement_digests: frozenset[str]
    ground_digests: frozenset[str]
    has_content: bool

    @property
    def id(self) -> str:
        """The id of the evaluation."""
        return self.evaluation.id

    @property
    def domain(self) -> str:
        """The domain of the evaluation."""
        return self.evaluation.domain

    @property
    def outcome_status(self) -> Status:
        """The status of the outcome."""
        return self.outcome.result.status

    @property
    def slot_digest(self) -> str:
        """The digest of the claim without numbers and names, which all versions of a fact share."""
        return _digest(["slot", *sorted(self.claim.stems)])

    @property
    def summary(self) -> RunSummary:
        """The summary that the index stores."""
        return RunSummary(self.id, self.outcome_status, self.session)

    @property
    def order(self) -> tuple[datetime, str]:
        """The end time of the run, and its id."""
        return self.outcome.order

    @property
    def session(self) -> str:
        """The session of the run, or the id of the run without a session."""
        return self.outcome.source.session or self.id

    @property
    def named_fact(self) -> str | None:
        """The fact that the run repeats or contradicts according to its judge, or None."""
        return self.evaluation.repeats or self.evaluation.contradicts


def evaluated_run(evaluation: Evaluation, outcome: Outcome | None) -> EvaluatedRun | None:
    """Return a run with its claim, or None if it makes no claim.

    Untrusted and neutral outcomes make no claim.
    """
    insight = evaluation.key_insight
    if not insight or outcome is None or outcome.trust != "local":
        return None
    if outcome.result.status == "neutral":
        return None
    quoted = _quoted_insight(insight, outcome)
    claim = _claim(insight, quoted, outcome)
    reasoning_digests = _digests(outcome.decision.reasoning, outcome)
    statements = {
        text: _digests(text, outcome) for text in read_statements(outcome.decision.reasoning)
    }
    grounds = reasoning_digests
    if quoted and quoted.kind != "lesson":
        grounds = statements.get(quoted.quote) or _digests(quoted.quote, outcome)
    return EvaluatedRun(
        evaluation=evaluation,
        outcome=outcome,
        claim=claim,
        claim_digest=_form_digest(claim),
        label=_fact_label(evaluation, quoted, outcome),
        statement_digests=reasoning_digests.union(*statements.values()),
        ground_digests=grounds,
        has_content=quoted is not None or _has_content(insight, outcome),
    )


def _quoted_insight(text: str, outcome: Outcome) -> Insight | None:
    quotes = [_first_words(quote) for quote in _QUOTE.findall(text)]
    insights = (i for i in insights_of(outcome) if i.kind in (*REASONED, "lesson"))
    return next((insight for insight in insights if _first_words(insight.quote) in quotes), None)


def _first_words(quote: str) -> list[str]:
    return _WORD.findall(quote.casefold())[:_QUOTATION_WORDS]


def _claim(text: str, quoted: Insight | None, outcome: Outcome) -> Form:
    """Return the form of a claim without values that only this run has."""
    if quoted is not None:
        return normal_form(quoted.quote, _quotation_values(quoted, outcome))
    values = (
        *specific_values(outcome),
        *_reported_figures(outcome),
        *_words_with_target(text, outcome),
    )
    return normal_form(_strip_ending(text, outcome), values)


def _quotation_values(quoted: Insight, outcome: Outcome) -> tuple[str, ...]:
    """Return the values in a quotation that only this run has; figures of a lesson stay."""
    target = (outcome.decision.target,) if outcome.decision.target else ()
    if quoted.kind == "lesson":
        return target
    target_words = _words_with_target(quoted.quote, outcome)
    # Other figures belong to the deed, and stay.
    figures = (f for m in _MEASURED.finditer(quoted.quote) for f in _FIGURE.findall(m[0]))
    return (*target, *_observed_figures(outcome), *figures, *target_words)


def _fact_label(evaluation: Evaluation, quoted: Insight | None, outcome: Outcome) -> str:
    """Return a name for a fact: from the judge, the quotation, the action or the domain."""
    if evaluation.slug:
        return evaluation.slug
    if quoted is None:
        action = outcome.decision.action
        return action if action in (evaluation.key_insight or "") else evaluation.domain
    words = {word for value in _quotation_values(quoted, outcome) for word in _WORD.findall(value)}
    return " ".join(word for word in _WORD.findall(quoted.quote) if word not in words)


def _observed_figures(outcome: Outcome) -> list[str]:
    """Return the numbers of the context; its words may have guided the decision."""
    values = (value for value in outcome.context.values() if isinstance(value, int | float))
    return [str(value) for value in values if not isinstance(value, bool)]


def _strip_ending(insight: str, outcome: Outcome) -> str:
    """Remove `succeeded` or `failed` from an insight, because results are compared apart."""
    subject = re.escape(make_inert(outcome.decision.target or outcome.decision.action, 60))
    return re.sub(rf"(?i)({subject}) (?:succeeded|failed)\b", r"\1", insight, count=1)


def _has_content(insight: str, outcome: Outcome) -> bool:
    """Return True if an insight says more than the decision and its result."""
    decision, result = outcome.decision, outcome.result
    recorded_texts = (*outcome.context, decision.action, result.summary, result.evidence)
    values = (*specific_values(outcome), *recorded_texts, "ended at")
    form = normal_form(_strip_ending(insight, outcome), values)
    return bool(form.stems or form.numbers or form.names)


def _words_with_target(text: str, outcome: Outcome) -> Iterator[str]:
    target = _squash(outcome.decision.target or "")
    if len(target) >= _MIN_TARGET:
        for word in text.split():
            if target in _squash(word):
                yield word.strip("“”\"'().,:;")


def _squash(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _reported_figures(outcome: Outcome) -> Iterator[str]:
    figures = set(_FIGURE.findall(outcome.decision.reasoning))
    for text in (outcome.result.summary, outcome.result.evidence):
        yield from (figure for figure in _FIGURE.findall(text or "") if figure not in figures)


def _digests(text: str, outcome: Outcome) -> frozenset[str]:
    """Return two digests of a text: with the values of the outcome, and without them.

    By the second digest, runs are the same if only their values differ.
    """
    tokens = frozenset(_TOKEN.findall(text.casefold()))
    values = (outcome.decision.target or "", *_observed_figures(outcome))
    common_tokens = tokens.difference(*(_TOKEN.findall(value.casefold()) for value in values))
    return frozenset(_digest(sorted(subset)) for subset in (tokens, common_tokens) if subset)


def _form_digest(form: Form) -> str:
    parts = (form.stems, form.numbers, form.names, form.sides, form.places, form.side_places)
    return _digest([str(form.negated), *(str(sorted(map(str, part))) for part in parts)])


def _digest(parts: Iterable[str]) -> str:
    return blake2b(" ".join(parts).encode(), digest_size=8).hexdigest()


# ── the runs that were weighed before ────────────────────────────────────────────────


class RunHistory(Struct, frozen=True, kw_only=True):
    """Queries to the index about runs that were weighed earlier, by domain and digests.

    `claims` returns a run for each claim with one of the lookup keys. `makers` returns (digest,
    fact, evaluation) for the first facts. `supporters_at` returns the runs that support a fact and
    ended at a time.
    """

    load: Callable[[Collection[str]], Mapping[str, EvaluatedRun]]
    stored_ids: Callable[[Collection[str]], Collection[str]]
    claims: Callable[[str, Collection[str]], Collection[str]]
    summaries: Callable[[str, Collection[str]], Sequence[tuple[str, Status, str]]]
    tallies: Callable[[str, Collection[str]], Sequence[tuple[Status, int, str, str]]]
    makers: Callable[[str, Collection[str]], Sequence[tuple[str, str, str]]]
    supporters_at: Callable[[str, datetime], Collection[str]]


class RunBook:
    """The runs that were weighed earlier, and the new runs."""

    def __init__(self, history: RunHistory) -> None:
        self.history = history
        self.new: dict[str, EvaluatedRun] = {}
        self.maker_ids: set[str] = set()  # the runs that made facts
        # keys: (domain, digest or lookup key)
        self._summaries: dict[tuple[str, str], dict[str, RunSummary]] = defaultdict(dict)
        self._claims: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        self._makers: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)

    def add_runs(self, runs: Iterable[EvaluatedRun]) -> None:
        """Add the runs that are new to the book."""
        by_id = {run.id: run for run in runs}
        stored_ids = self.history.stored_ids([*by_id])
        for run in by_id.values():
            if run.id in stored_ids or run.id in self.new:
                continue
            self.new[run.id] = run
            for digest in (run.claim_digest, *run.statement_digests):
                self._summaries[run.domain, digest][run.id] = run.summary
            for key in lookup_keys(run.claim):
                self._claims[run.domain, key].setdefault(run.claim_digest, run.id)

    def add_fact(self, run: EvaluatedRun, fact: str) -> None:
        """Note that a run made a fact."""
        self.maker_ids.add(run.id)
        for digest in (run.claim_digest, run.slot_digest, *run.ground_digests):
            self._makers[run.domain, digest].add((run.id, fact))

    def load(self, evaluations: Iterable[str]) -> dict[str, EvaluatedRun]:
        """Return the runs of these evaluations by id."""
        ids = list(dict.fromkeys(evaluations))
        stored_runs = self.history.load([key for key in ids if key not in self.new])
        runs = {**stored_runs, **self.new}
        return {key: runs[key] for key in ids if key in runs}

    def find_similar(self, run: EvaluatedRun) -> dict[str, Form]:
        """Return the claims, by digest, that may repeat or contradict the claim of a run."""
        keys = lookup_keys(run.claim)
        run_ids = {*self.history.claims(run.domain, keys)}
        run_ids.update(run_id for key in keys for run_id in self._claims[run.domain, key].values())
        similar_runs = self.load(run_ids).values()
        return {member.claim_digest: member.claim for member in (run, *similar_runs)}

    def summaries(self, domain: str, digests: Collection[str]) -> dict[str, RunSummary]:
        """Return the runs, by id, with any of these digests."""
        summaries = {row[0]: RunSummary(*row) for row in self.history.summaries(domain, digests)}
        for digest in digests:
            summaries |= self._summaries.get((domain, digest), {})
        return summaries

    def count(self, domain: str, digests: Collection[str], status: Status) -> tuple[int, set[str]]:
        """Return the number of runs with a status and any of the digests, and some sessions."""
        tallies = [row for row in self.history.tallies(domain, digests) if row[0] == status]
        new_runs = (run for d in digests for run in self._summaries.get((domain, d), {}).values())
        new_sessions = [run.session for run in new_runs if run.status == status]
        sessions = {session for _, _, *pair in tallies for session in pair}
        count = sum(count for _, count, *_ in tallies) + len(new_sessions)
        return count, sessions.union(new_sessions)

    def first_facts(self, domain: str, digests: Collection[str]) -> dict[str, str]:
        """Map the first facts of each digest to the runs that made them."""
        by_digest: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for digest, fact, evaluation in self.history.makers(domain, digests):
            by_digest[digest].add((evaluation, fact))
        for digest in digests:
            by_digest[digest] |= self._makers.get((domain, digest), set())
        pairs = (pair for makers in by_digest.values() for pair in sorted(makers)[:MAX_FIRST_FACTS])
        return {fact: evaluation for evaluation, fact in pairs}
