"""evaluate: what the judge is asked about an outcome, and what its answer makes.

An outcome is judged among its peers, the domain's outcomes of the same action. Trusted
outcomes never see untrusted ones.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial

import msgspec

from skillvault.brief import Case, Insight, Verdict
from skillvault.change import Change
from skillvault.learning.antecedents import unrecorded, varying
from skillvault.learning.contrast import contrasts, leads
from skillvault.policy import Policy
from skillvault.records import (
    Evaluation,
    JudgeInfo,
    Outcome,
    Ref,
    Trust,
)
from skillvault.text import listed, shorten, terms

USUAL = 0.05  # share of the other reasonings from which on a word is usual


class View:
    """The outcomes of one action that outcomes of one trust are compared with.

    Of many only so many are compared, those nearest before; the windows move by half of
    their width, so that one comparison serves all that fall into the same.
    """

    def __init__(self, outcomes: Sequence[Outcome], width: int) -> None:
        self.outcomes = outcomes
        self._width = width
        self._stride = max(width // 2, 1)

    def window(self, outcome: Outcome) -> tuple[int, int]:
        """Where the peers of an outcome begin and end; itself is among them."""
        place = bisect_left(self.outcomes, outcome.order, key=lambda o: o.order)
        end = max((place // self._stride + 1) * self._stride, self._width)
        end = min(end, len(self.outcomes))
        return max(0, end - self._width), end


class Peers:
    """The outcomes of a vault, grouped so that each can be seen among its like.

    Trusted ones see only trusted ones, untrusted ones all.
    """

    def __init__(self, outcomes: Iterable[Outcome], policy: Policy) -> None:
        self._policy = policy
        self._width = policy.evaluate.peers
        self._same: dict[tuple[str, str, str | None, Trust], list[Outcome]] = {}
        groups: dict[tuple[str, str, Trust], list[Outcome]] = {}
        self._domains: dict[tuple[str, Trust], list[Outcome]] = {}
        for outcome in sorted(outcomes, key=lambda o: o.order):
            self._same.setdefault((*outcome.subject, outcome.trust), []).append(outcome)
            for trust in _seen_by(outcome):
                key = (outcome.domain, outcome.decision.action, trust)
                groups.setdefault(key, []).append(outcome)
                self._domains.setdefault((outcome.domain, trust), []).append(outcome)
        self._views = {key: View(found, self._width) for key, found in groups.items()}
        self._words: dict[tuple[str, Trust], tuple[Counter[str], int]] = {}
        # One comparison serves every outcome of a group within a window.
        self._compared: dict[tuple[str, str, Trust, int, str], Case] = {}

    def case(self, outcome: Outcome) -> Case:
        """All that a judge is told about an outcome."""
        group = group_of(outcome, self._policy)
        view = self._views[outcome.domain, outcome.decision.action, outcome.trust]
        start, end = view.window(outcome)
        key = (outcome.domain, outcome.decision.action, outcome.trust, end, group)
        if key not in self._compared:
            self._compared[key] = self._compare(outcome, group, view.outcomes[start:end])
        before, solved = self._around(outcome)
        return msgspec.structs.replace(
            self._compared[key], outcome=outcome, before=before, solved=solved
        )

    def _around(self, outcome: Outcome) -> tuple[Outcome | None, Outcome | None]:
        """The outcome before this one on the same target, and the first success after it."""
        same = self._same.get((*outcome.subject, outcome.trust), [])
        place = bisect_left(same, outcome.order, key=lambda o: o.order)
        before = same[place - 1] if place else None
        after = (same[i] for i in range(place + 1, len(same)))
        return before, next((o for o in after if o.result.status == "success"), None)

    def _compare(self, outcome: Outcome, group: str, peers: Sequence[Outcome]) -> Case:
        alike = [o for o in peers if group_of(o, self._policy) == group]
        rest = [o for o in peers if group_of(o, self._policy) != group]
        usual = partial(self._usual, outcome.domain, outcome.trust, peers)
        return Case(
            outcome=outcome,
            group=group,
            alike=(len(alike), len(peers)),
            contrasts=tuple(contrasts(alike, rest, self._policy.evaluate)),
            opposite=tuple(contrasts(rest, alike, self._policy.evaluate)),
            leads=tuple(leads(alike, rest, usual)),
            opposite_leads=tuple(leads(rest, alike, usual)),
            varying=varying(peers),
            unrecorded=unrecorded(peers),
        )

    def _usual(self, domain: str, trust: Trust, peers: Sequence[Outcome], term: str) -> bool:
        """Whether a word stands in many of the latest reasonings of the domain's other actions."""
        if (domain, trust) not in self._words:
            inside = self._domains[domain, trust][-self._width :]
            counts = Counter(t for o in inside for t in terms(o.decision.reasoning))
            self._words[domain, trust] = counts, len(inside)
        counts, total = self._words[domain, trust]
        here = sum(term in terms(o.decision.reasoning) for o in peers)
        return counts[term] - here > USUAL * (total - len(peers))


def _seen_by(outcome: Outcome) -> tuple[Trust, ...]:
    """The trusts whose outcomes are compared with this one."""
    return ("local", "untrusted") if outcome.trust == "local" else ("untrusted",)


def group_of(outcome: Outcome, policy: Policy) -> str:
    """In words, which outcomes this one is alike to: by significance, else by status."""
    score, rules = outcome.result.score, policy.generate
    if score is not None and score < rules.warning_below:
        return f"losses beyond {-rules.warning_below * 100:g} %"
    if score is not None and score > rules.pattern_above:
        return f"gains beyond {rules.pattern_above * 100:g} %"
    if score is not None:
        return {"success": "smaller gains", "failure": "smaller losses"}.get(
            outcome.result.status, "neutral outcomes"
        )
    return {"success": "successes", "failure": "failures"}.get(
        outcome.result.status, "neutral outcomes"
    )


def evaluation_of(
    outcome: Outcome, info: JudgeInfo, verdict: Verdict, insight: Insight | None, policy: Policy
) -> Evaluation:
    """The evaluation that a verdict and an insight make; too short an insight is none."""
    said = insight.key_insight.strip() if insight else ""
    if insight is None or len(said) < policy.evaluate.min_insight:
        insight = None
    return Evaluation(
        outcome=outcome.id,
        domain=outcome.domain,
        judge=info,
        was_good_decision=verdict.was_good_decision,
        quality_score=verdict.quality_score,
        key_insight=said if insight else None,
        insight_type=insight.insight_type if insight else None,
        applicability=insight.applicability if insight else None,
        strengths=verdict.strengths,
        weaknesses=verdict.weaknesses,
        missed_factors=verdict.missed_factors,
        better_approach=insight.better_approach if insight else None,
        judge_was_right=was_right(verdict, outcome),
    )


def was_right(verdict: Verdict, outcome: Outcome) -> bool | None:
    """Does the blind verdict agree with the result? None for a neutral one."""
    if outcome.result.status == "neutral":
        return None
    return verdict.was_good_decision == (outcome.result.status == "success")


def change(domain: str, evaluations: Sequence[Evaluation], info: JudgeInfo) -> Change:
    """The commit that holds a batch of one domain's evaluations."""
    rights = sum(e.judge_was_right is True for e in evaluations)
    known = sum(e.judge_was_right is not None for e in evaluations)
    silent = sum(e.key_insight is None for e in evaluations)
    counts = [f"{rights} of {known} blind verdicts agree with the result"]
    if silent:
        counts.append(f"{silent} support no insight")
    noun = "outcome" if len(evaluations) == 1 else "outcomes"
    quote = f"\n{shorten(evaluations[0].key_insight or '', 300)}" if len(evaluations) == 1 else ""
    return Change(
        step="evaluate",
        subject=f"{len(evaluations)} {noun} in {domain}",
        reason=f"{listed(counts)}.{quote}",
        writes=tuple(evaluations),
        sources=tuple(Ref("outcome", e.outcome) for e in evaluations),
        targets=tuple(Ref("evaluation", e.id) for e in evaluations),
        judge=f"{info.name} {info.version}",
    )
