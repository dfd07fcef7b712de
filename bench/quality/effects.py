"""Quality of the estimates of skills' effects: simulated decisions, real runs with and without.

The simulators are read from the labelled data, our side is the program's own: `lift` estimates,
`recommend` chooses. Only the quality of the estimate is measured, not what a skill is worth.
"""

import ast
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import correlation
from typing import Any, NamedTuple

import numpy as np
from measures import interval, mean
from msgspec.structs import replace

from skillvault.learning.effect import verdict as effect
from skillvault.learning.effect.estimate import add_up, estimate_lifts
from skillvault.learning.effect.lift import UNSEEN, Lift, Observation, Sums
from skillvault.learning.effect.verdict import Evidence
from skillvault.learning.recommend.recommend import Candidate, Query, recommend
from skillvault.loop.profiles import rules_of
from skillvault.model.policy import EffectPolicy, Policy

Rows = Iterator[str]
Array = Any  # of numpy, as the simulators hand it over

POLICY = Policy(effect=EffectPolicy(holdout=0))
STRESSES, LESSONS, SPLITS = 100, 20, 400
PRIOR = EffectPolicy(scale=POLICY.effect.scale, carry=POLICY.effect.carry)


def told(bench: Path) -> Rows:
    """The lines of the table."""
    yield from _stress(defined(bench / "simulator/stress.py"))
    yield from _cells(bench / "outcomes/cells.jsonl")
    yield from _lessons(defined(bench / "simulator/lessons.py"))


def defined(path: Path) -> dict[str, Any]:
    """Return the names that a script imports and defines, without running it."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign)
    tree.body = [node for node in tree.body if isinstance(node, kinds)]
    found: dict[str, Any] = {"__name__": path.stem}
    exec(compile(tree, str(path), "exec"), found)  # noqa: S102 (the labelled data's own code)
    return found


def _row(what: str, method: str, values: Sequence[float], more: str = "") -> str:
    low, high = interval(values, mean)
    return f"| {what} | {method} | {mean(values):.3f} | {low:.3f} to {high:.3f} | {more} |"


# ── stress: which skills help, from decisions that applied several ───────────────────


def _stress(script: Mapping[str, Any]) -> Rows:
    rules: dict[str, Callable[[Array, Array], Array]] = {
        "ours": helping,
        "seed rule": script["rule_seed"],
        "Wilson": script["rule_wilson"],
        "additive credit": lambda x, y: _additive(script, x, y),
    }
    for count, seeds in ((500, STRESSES), (2000, STRESSES // 4)):
        worlds = [script["world"](np.random.default_rng(seed), T=count) for seed in range(seeds)]
        for name, rule in rules.items():
            found = [script["metrics"](rule(x, y), good) for good, x, y in worlds]
            accuracy, false, recall = zip(*found, strict=True)
            more = f"false positives {mean(false):.3f}, recall {mean(recall):.3f}"
            yield _row(f"stress, {count} decisions, accuracy", name, accuracy, more)


def helping(x: Array, y: Array, domains: int = 4) -> Array:
    """Return True for each skill whose verdict is that it helps; decisions go round the domains."""
    known = estimate_lifts([_sums(x[d::domains], y[d::domains]) for d in range(domains)], PRIOR)
    said = [
        effect.verdict_of(_evidence(known.get((str(skill), 0)), int(x[:, skill].sum())), POLICY)
        for skill in range(x.shape[1])
    ]
    return np.array([one == "helps" for one in said])


def _sums(x: Array, y: Array) -> Sums:
    rows = [
        Observation(str(i), str(skill), "", bool(y[i]), 0, applied=True, weight=1.0)
        for i in range(len(y))
        for skill in np.flatnonzero(x[i])
    ]
    return add_up(rows, {"": (len(y), int(y.sum()))}, {}, PRIOR)


def _evidence(lift: Lift | None, times: int, successes: int = 0) -> Evidence:
    return Evidence(times, successes, times - successes, lift=lift)


def _additive(script: Mapping[str, Any], x: Array, y: Array) -> Array:
    effects, errors, _ = script["rule_ridge"](x, y)
    return effects - 0.8 * errors > 0


# ── lessons: choosing while learning ─────────────────────────────────────────────────


class _Ours:
    """A policy of the simulator that asks `recommend` and learns by `lift`."""

    credit = "applied"
    rules = POLICY

    def __init__(self, world: Any, seed: int) -> None:
        self._world, self._seed, self._asked = world, seed, 0
        self._observations: dict[int, list[Observation]] = {d: [] for d in range(world.nd)}
        self._totals = dict.fromkeys(range(world.nd), (0, 0))
        self._held: list[int] = []
        self._sums: dict[int, Sums] = {}
        self._lifts: dict[tuple[str, int], Lift] = {}
        self._counts = np.zeros((len(world.L), 3), int)  # applications, successes, shown
        self._status = dict.fromkeys(range(len(world.L)), "testing")

    def pick(self, domain: int) -> list[int]:
        """Recommend at most three of a domain's lessons."""
        self._asked += 1
        candidates = [self._candidate(int(i)) for i in np.flatnonzero(self._world.dom == domain)]
        query = Query(domain="d", limit=3, decision=f"{self._seed}-{self._asked}")
        answer = recommend(candidates, query, rules_of(self.rules), lambda _: "")
        self._held = [int(one.name) for one in answer.withheld if one.reason == "held-out"]
        return [int(one.name) for one in answer.recommended]

    def update(self, domain: int, shown: Array, applied: Array, success: float) -> None:
        """Learn from one decision; `applied` is what was detected."""
        hit, name = bool(success), f"{domain} {self._asked}"
        self._counts[list(applied)] += [1, int(hit), 0]
        self._counts[list(shown)] += [0, 0, 1]
        self._observations[domain] += [
            Observation(
                name,
                str(one),
                "",
                hit,
                self._asked,
                one in applied,
                1.0 if one in applied else UNSEEN,
                "shown",
            )
            for one in shown
        ]
        self._observations[domain] += [
            Observation(name, str(one), "", hit, self._asked, applied=False, weight=0, offer="held")
            for one in self._held
        ]
        count, hits = self._totals[domain]
        self._totals[domain] = count + 1, hits + hit
        totals = {"": self._totals[domain]}
        self._sums[domain] = add_up(self._observations[domain], totals, {}, PRIOR)
        self._lifts = estimate_lifts(self._sums.values(), PRIOR)
        for one in map(int, shown):
            known = self._candidate(one).evidence
            self._status[one] = effect.next_status(
                self._status[one], known, rules_of(self.rules)
            ).status

    def est(self) -> Array:
        """Return the lift of each lesson."""
        known = (self._lifts.get((str(i), 0)) for i in range(len(self._world.L)))
        return np.array([lift.lift if lift else 0.0 for lift in known])

    def retired(self) -> Array:
        """Return True for each lesson whose verdict is that it hurts."""
        known = (self._candidate(i).evidence for i in range(len(self._world.L)))
        return np.array([effect.verdict_of(one, self.rules) == "hurts" for one in known])

    def _candidate(self, i: int) -> Candidate:
        times, hits, shown = map(int, self._counts[i])
        known = _evidence(self._lifts.get((str(i), 0)), times, hits)
        status = self._status[i]
        return Candidate(str(i), "guide", 1, "d", status, evidence=replace(known, shown=shown))


class _WithHoldOuts(_Ours):
    rules = Policy()


def _lessons(script: Mapping[str, Any]) -> Rows:
    policies = {
        "ours": _Ours,
        "ours, a tenth held out": _WithHoldOuts,
        "seed rule": script["Seed"],
        "EMA": script["EMA"],
        "UCB1": script["UCB"],
        "Thompson": script["TS"],
        "additive lift, Thompson": script["LiftTS"],
    }
    for name, policy in policies.items():
        found = [script["run"](policy, seed, 800, False) for seed in range(LESSONS)]
        harmful, helpful = (mean([one[key] for one in found]) for key in ("harm_ret", "help_ret"))
        more = f"retired: harmful {harmful:.2f}, helpful {helpful:.3f}"
        regret = [float(one["regret"]) for one in found]
        yield _row("lessons, 800 decisions, regret", name, regret, more)


# ── cells: real runs with and without a skill ────────────────────────────────────────


class _Cell(NamedTuple):
    task: str
    agent: str
    trials: int
    without: int
    having: int


def _cells(path: Path) -> Rows:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    cells = [
        _Cell(
            r["task"],
            r["config"],
            n := r["trials"],
            round(n * r["no_skill"]),
            round(n * r["with_skill"]),
        )
        for r in rows
    ]
    agents = sorted({cell.agent for cell in cells})
    methods = {"ours": _lifted, "rate of success": _rated}
    scores: dict[str, list[tuple[float, float]]] = {name: [] for name in methods}
    chance = random.Random(1)
    for _ in range(SPLITS):
        seen = set(chance.sample(agents, len(agents) // 2))
        truth = _held_out([cell for cell in cells if cell.agent not in seen])
        for name, method in methods.items():
            found = method([cell for cell in cells if cell.agent in seen])
            scores[name].append((_ranked(found, truth), _verdicts(found, truth)))
    tasks = len({cell.task for cell in cells})
    for name, some in scores.items():
        ranks, verdicts = zip(*some, strict=True)
        more = f"verdict accuracy {mean(verdicts):.3f}"
        yield _row(f"runs of {tasks} tasks, other agents, rank correlation", name, ranks, more)


def _lifted(cells: Sequence[_Cell]) -> dict[str, tuple[float, bool]]:
    """Return, by task, the lift of its skill and True if the verdict is that it helps."""
    rows: list[Observation] = []
    totals: dict[str, tuple[int, int]] = {}
    for cell in cells:
        count, hits = totals.get(cell.task, (0, 0))
        totals[cell.task] = count + 2 * cell.trials, hits + cell.without + cell.having
        rows += [
            Observation(f"{cell} {i}", cell.task, cell.task, i < cell.having, 0, True, 1.0)
            for i in range(cell.trials)
        ]
    known = estimate_lifts([add_up(rows, totals, {}, PRIOR)], PRIOR)
    times = {task: sum(c.trials for c in cells if c.task == task) for task in totals}
    return {
        task: (lift.lift, effect.verdict_of(_evidence(lift, times[task]), POLICY) == "helps")
        for (task, _), lift in known.items()
    }


def _rated(cells: Sequence[_Cell]) -> dict[str, tuple[float, bool]]:
    """Return, by task, the success rate with its skill and True if it is at least one half."""
    rates: dict[str, list[float]] = {}
    for cell in cells:
        rates.setdefault(cell.task, []).append(cell.having / cell.trials)
    return {task: (mean(some), mean(some) >= 0.5) for task, some in rates.items()}


def _held_out(cells: Sequence[_Cell]) -> dict[str, float]:
    """Return, by task, the difference that its skill made."""
    gains: dict[str, list[float]] = {}
    for cell in cells:
        gains.setdefault(cell.task, []).append((cell.having - cell.without) / cell.trials)
    return {task: mean(some) for task, some in gains.items()}


def _ranked(found: Mapping[str, tuple[float, bool]], truth: Mapping[str, float]) -> float:
    """Return Spearman's rank correlation of the tasks' values with the truth."""
    tasks = sorted(found.keys() & truth.keys())
    ranks = [_ranks([found[task][0] for task in tasks]), _ranks([truth[task] for task in tasks])]
    return correlation(*ranks)


def _ranks(values: Sequence[float]) -> list[float]:
    """Return the rank of each value; equal values share their mean rank."""
    return [mean([i for i, v in enumerate(sorted(values)) if v == value]) for value in values]


def _verdicts(found: Mapping[str, tuple[float, bool]], truth: Mapping[str, float]) -> float:
    return mean([float(said == (truth[task] > 0)) for task, (_, said) in found.items()])
