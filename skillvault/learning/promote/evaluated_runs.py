"""The claim of each evaluated run, in a form that can be compared with other runs.

A claim is the statement or the lesson that an insight quotes, else the insight itself. The ground
of a claim is the quoted statement, else the deed: what the run did.
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

CROWDED = 5  # facts on one ground; runs on it are linked with the first so many
_QUOTED = 8  # words by which a quotation is found again
_TELLING = 4  # characters of a target by which a word is known to be named after it
_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r"[-+−]?\d+(?:[.,:]\d+)*|\w+")
_QUOTE = re.compile("“([^”]*)")
_FIGURE = re.compile(r"[-+]?\d+(?:[.,:]\d+)*(?: ?(?:%|[a-z]{1,2}\b))?")
_MEASURED = re.compile(
    r"\b\d+ (?:of|out of) \d+\b"
    r"|\b(?:took|fell|rose|reached|measured|showed)(?: \w+)? [-+]?\d\S*(?: \S+)?"
)


class Saying(NamedTuple):
    """A run that makes a claim, with its result and its session."""

    evaluation: str
    status: Status
    session: str


class EvaluatedRun(Struct, frozen=True, kw_only=True):
    """The claim and the statements of an evaluated run.

    `claim` is the claim without the outcome's own values, `words` the digest of the claim, and
    `about` the name for a fact with this claim. `states` are digests of the statements of its
    reasoning and its deed; `grounds` are the statements that the claim rests on. `tells_more` is
    False if the insight only says how the run ended.
    """

    evaluation: Evaluation
    outcome: Outcome
    claim: Form
    words: str
    about: str
    states: frozenset[str]
    grounds: frozenset[str]
    tells_more: bool

    @property
    def id(self) -> str:
        """The id of the evaluation."""
        return self.evaluation.id

    @property
    def domain(self) -> str:
        """The domain of the evaluation."""
        return self.evaluation.domain

    @property
    def ending(self) -> Status:
        """The status of the run."""
        return self.outcome.result.status

    @property
    def slot(self) -> str:
        """The digest of the claim without numbers and names, which all its versions share."""
        return _digest(["slot", *sorted(self.claim.stems)])

    @property
    def saying(self) -> Saying:
        """The run in the form that is stored for its words."""
        return Saying(self.id, self.ending, self.session)

    @property
    def order(self) -> tuple[datetime, str]:
        """The end time of the run, and its id."""
        return self.outcome.order

    @property
    def session(self) -> str:
        """The session of the run, or the run itself without a session."""
        return self.outcome.source.session or self.id

    @property
    def named_fact(self) -> str | None:
        """The fact that the run repeats or contradicts, as its judge says."""
        return self.evaluation.repeats or self.evaluation.contradicts


def evaluated_run(evaluation: Evaluation, outcome: Outcome | None) -> EvaluatedRun | None:
    """Return a run with its claim; None for a run that makes no claim or does not count."""
    if outcome is None or outcome.trust != "local" or not evaluation.key_insight:
        return None
    if outcome.result.status == "neutral":
        return None
    quoted = _quoted_insight(evaluation.key_insight, outcome)
    claim = _claim(evaluation.key_insight, quoted, outcome)
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
        words=_form_digest(claim),
        about=_fact_label(evaluation, quoted, outcome),
        states=reasoning_digests.union(*statements.values()),
        grounds=grounds,
        tells_more=quoted is not None or _has_content(evaluation.key_insight, outcome),
    )


def _quoted_insight(text: str, outcome: Outcome) -> Insight | None:
    """Return the statement or the lesson of a run that an insight quotes."""
    quotes = [_WORD.findall(quote.casefold())[:_QUOTED] for quote in _QUOTE.findall(text)]
    return next(
        (
            insight
            for insight in insights_of(outcome)
            if insight.kind in (*REASONED, "lesson")
            and _WORD.findall(insight.quote.casefold())[:_QUOTED] in quotes
        ),
        None,
    )


def _claim(text: str, quoted: Insight | None, outcome: Outcome) -> Form:
    """Return a claim without the values of the run, except figures of a deed or a lesson."""
    if quoted is not None:
        return normal_form(quoted.quote, _quotation_values(quoted, outcome))
    values = (
        *specific_values(outcome),
        *_reported_figures(outcome),
        *_words_with_target(text, outcome),
    )
    return normal_form(_strip_ending(text, outcome), values)


def _quotation_values(quoted: Insight, outcome: Outcome) -> tuple[str, ...]:
    """Return the values in a quotation that only this run has."""
    target = (outcome.decision.target,) if outcome.decision.target else ()
    if quoted.kind == "lesson":
        return target
    target_words = _words_with_target(quoted.quote, outcome)
    # Figures that the statement does not call measured belong to the deed.
    measured = (f for m in _MEASURED.finditer(quoted.quote) for f in _FIGURE.findall(m[0]))
    return (*target, *_observed_figures(outcome), *measured, *target_words)


def _fact_label(evaluation: Evaluation, quoted: Insight | None, outcome: Outcome) -> str:
    """Return a name for a fact: the judge's, else from the quotation, the action or the domain."""
    if evaluation.slug or quoted is None:
        action = outcome.decision.action
        subject = action if action in (evaluation.key_insight or "") else evaluation.domain
        return evaluation.slug or subject
    words = {word for value in _quotation_values(quoted, outcome) for word in _WORD.findall(value)}
    return " ".join(word for word in _WORD.findall(quoted.quote) if word not in words)


def _observed_figures(outcome: Outcome) -> list[str]:
    """Return the numbers of the context. Its words may have guided the decision, so they stay."""
    values = (value for value in outcome.context.values() if isinstance(value, int | float))
    return [str(value) for value in values if not isinstance(value, bool)]


def _strip_ending(insight: str, outcome: Outcome) -> str:
    """Remove the words that the run succeeded or failed, because results are compared apart."""
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
    """Yield the words that contain the name of the target, such as a test of it."""
    target = _squash(outcome.decision.target or "")
    if len(target) >= _TELLING:
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
    """Return the digests of a text with the values of the outcome and without them.

    Runs with the same words say the same, whatever their values.
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


# ── what is known ────────────────────────────────────────────────────────────────────


class RunHistory(Struct, frozen=True, kw_only=True):
    """Queries about the runs of earlier weighings; words are digests, by domain.

    `claims` returns a run for each claim under lookup keys. `makers` returns the (words, fact,
    evaluation) of the first facts on some words. `tellers` returns the runs that state a fact.
    """

    load: Callable[[Collection[str]], Mapping[str, EvaluatedRun]]
    known: Callable[[Collection[str]], Collection[str]]
    claims: Callable[[str, Collection[str]], Collection[str]]
    sayings: Callable[[str, Collection[str]], Sequence[tuple[str, Status, str]]]
    tallies: Callable[[str, Collection[str]], Sequence[tuple[Status, int, str, str]]]
    makers: Callable[[str, Collection[str]], Sequence[tuple[str, str, str]]]
    tellers: Callable[[str, datetime], Collection[str]]


class RunBook:
    """The new runs, and the runs of earlier weighings."""

    def __init__(self, history: RunHistory) -> None:
        self.history = history
        self.new: dict[str, EvaluatedRun] = {}
        self.makers: dict[str, set[str]] = defaultdict(set)  # evaluation -> the facts that it made
        self._sayings: dict[tuple[str, str], dict[str, Saying]] = defaultdict(dict)
        self._claims: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
        self._made: dict[tuple[str, str], set[tuple[str, str]]] = defaultdict(set)

    def add_runs(self, runs: Iterable[EvaluatedRun]) -> None:
        """Add the runs that are new to the book."""
        by_id = {run.id: run for run in runs}
        known_ids = self.history.known([*by_id])
        for run in by_id.values():
            if run.id in known_ids or run.id in self.new:
                continue
            self.new[run.id] = run
            for words in (run.words, *run.states):
                self._sayings[run.domain, words][run.id] = run.saying
            for key in lookup_keys(run.claim):
                self._claims[run.domain, key].setdefault(run.words, run.id)

    def add_fact(self, run: EvaluatedRun, fact: str) -> None:
        """Note that a run made a fact."""
        self.makers[run.id].add(fact)
        for words in (run.words, run.slot, *run.grounds):
            self._made[run.domain, words].add((run.id, fact))

    def load(self, evaluations: Iterable[str]) -> dict[str, EvaluatedRun]:
        """Return the runs of these evaluations by id."""
        names = list(dict.fromkeys(evaluations))
        stored_runs = self.history.load([name for name in names if name not in self.new])
        runs = {**stored_runs, **self.new}
        return {name: runs[name] for name in names if name in runs}

    def find_similar(self, run: EvaluatedRun) -> dict[str, Form]:
        """Return the claims, by words, that may repeat or contradict the claim of a run."""
        keys = lookup_keys(run.claim)
        names = {*self.history.claims(run.domain, keys)}
        names.update(name for key in keys for name in self._claims[run.domain, key].values())
        return {run.words: run.claim} | {r.words: r.claim for r in self.load(names).values()}

    def sayings(self, domain: str, words: Collection[str]) -> dict[str, Saying]:
        """Return the runs, by id, that make a claim with any of these words."""
        sayings = {row[0]: Saying(*row) for row in self.history.sayings(domain, words)}
        for digest in words:
            sayings |= self._sayings.get((domain, digest), {})
        return sayings

    def count(self, domain: str, words: Collection[str], status: Status) -> tuple[int, set[str]]:
        """Return the number of runs with this status and these words, and some of the sessions."""
        tallies = [tally for tally in self.history.tallies(domain, words) if tally[0] == status]
        sayings = [s for digest in words for s in self._sayings.get((domain, digest), {}).values()]
        matching_sayings = [saying for saying in sayings if saying.status == status]
        sessions = {session for tally in tallies for session in tally[2:]}
        sessions.update(saying.session for saying in matching_sayings)
        return sum(runs for _, runs, *_ in tallies) + len(matching_sayings), sessions

    def first_facts(self, domain: str, words: Collection[str]) -> dict[str, str]:
        """Return fact -> the run that made it, for the first facts on each of these words."""
        by_words: dict[str, set[tuple[str, str]]] = defaultdict(set)
        for digest, fact, evaluation in self.history.makers(domain, words):
            by_words[digest].add((evaluation, fact))
        for digest in words:
            by_words[digest] |= self._made.get((domain, digest), set())
        pairs = (pair for makers in by_words.values() for pair in sorted(makers)[:CROWDED])
        return {fact: evaluation for evaluation, fact in pairs}
