"""Set how much each sign of a user's next words weighs, from the labelled prompts to tune on.

python bench/fit_reactions.py [--write]

Prints how well prompts are read by weights that were set without them: five folds, the mean and
the spread of the folds. `--write` sets the weights of the package from all prompts to tune on.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skillvault.model import next_words
from skillvault.model.next_words import phrases, signs
from skillvault.model.next_words.signs import TypedPrompt

PROMPTS = Path(__file__).parent / "quality" / "next_prompts.jsonl"
WEIGHTS = Path(next_words.__file__).with_name("weights.toml")
HEADER = """\
# How much each sign of a user's next words weighs; `always` is what a prompt without any has.
# Written by `python bench/fit_reactions.py --write`, and not by hand."""
UNREAD = {"common", "filler", "invitation"}  # meanings that are no signs by themselves
FOLDS, STRENGTH, LEAST = 5, 0.4, 0.02  # STRENGTH: how far a weight may go; LEAST: what matters
FORM, FORM_WEIGHT = "a form that the tests hold", 7.0
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]


def fit_weights(values: Matrix, truth: Mask, counts: Matrix) -> Matrix:
    """Return weights of a logistic regression with a ridge; the last one is the constant."""
    chosen = np.flatnonzero(values.std(0) > 0)
    for least in (LEAST / 2, LEAST, 0.0):  # signs that change little go first
        columns = np.hstack([values[:, chosen], np.ones((len(values), 1))])
        ridge = np.eye(columns.shape[1]) / STRENGTH
        ridge[-1, -1] = 1e-6
        weights = np.zeros(columns.shape[1])
        for _ in range(25):
            chance = 1 / (1 + np.exp(-columns @ weights))
            slope = columns.T @ (counts * (chance - truth)) + ridge @ weights
            curve = (columns * (counts * chance * (1 - chance))[:, None]).T @ columns + ridge
            step = np.linalg.solve(curve, slope)
            weights -= step
            if np.abs(step).max() < 1e-4:
                break
        result = np.zeros(values.shape[1] + 1)
        result[chosen], result[-1] = weights[:-1], weights[-1]
        spread = np.maximum(values[:, chosen].std(0), 0.05)
        chosen = chosen[np.abs(weights[:-1]) * spread > least]
    return result


def score_folds(values: Matrix, truth: Mask, counts: Matrix, folds: NDArray[np.int_]) -> Matrix:
    """Return the score of each row by the weights of the other folds."""
    scores = np.zeros(len(values))
    for fold in range(FOLDS):
        inside, outside = folds == fold, (folds != fold) & (counts > 0)
        weights = fit_weights(values[outside], truth[outside], counts[outside])
        scores[inside] = values[inside] @ weights[:-1] + weights[-1]
    return scores


def is_labelled_rule(statement: str, rule: str | None) -> bool:
    """Return True if a statement and the labelled rule are mostly the same words."""
    if not rule:
        return False
    words, rule_words = statement.casefold().split(), rule.casefold().split()
    shared = len({*words} & {*rule_words})
    is_part = statement in rule or rule in statement
    return is_part or 2 * shared >= min(len(words), len(rule_words))


def read_values(read: Callable[[Any, str], float], items: list[Any], names: list[str]) -> Matrix:
    """Return the signs of items as a table."""
    return np.array([[read(item, name) for name in names] for item in items], dtype=float)


def print_figures(name: str, said: Mask, truth: Mask, folds: NDArray[np.int_]) -> None:
    """Print precision and recall over all folds, and their spread between folds."""
    shares = []
    for fold in [*range(FOLDS), None]:
        chosen = folds == fold if fold is not None else folds >= 0
        hits = int((said & truth & chosen).sum())
        shares.append((hits / (said & chosen).sum(), hits / (truth & chosen).sum()))
    spread = np.std(shares[:-1], axis=0)
    for number, measure in enumerate(("precision", "recall")):
        print(f"{name} {measure}: {shares[-1][number]:.2f}, folds +-{spread[number]:.2f}")


def main() -> None:
    """Measure by folds, and write the weights if asked to."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true", help="set the weights of the package")
    options = parser.parse_args()
    rows = [json.loads(line) for line in PROMPTS.read_text(encoding="utf-8").splitlines()]
    drawn = np.random.RandomState(0).randint(0, FOLDS, len(rows))
    triples = [
        (row, prompt, fold)
        for row, fold in zip(rows, drawn, strict=True)
        if row["half"] == "tune"
        and (prompt := next_words.read_prompt(row["text"], row["answer"])) is not None
    ]
    pairs = [(row, prompt) for row, prompt, _ in triples]
    prompts: list[TypedPrompt] = [prompt for _, prompt in pairs]
    meanings = [name for name in phrases.meanings() if name not in UNREAD]
    prompt_signs, statement_signs = signs.list_signs(meanings)
    values = read_values(signs.read_prompt_sign, prompts, prompt_signs)
    folds = np.array([fold for *_, fold in triples])
    is_form = np.array([row["why"] == FORM for row, _ in pairs])
    counts = np.where(is_form, FORM_WEIGHT, 1.0)
    failed = np.array([bool(row["failed"]) for row, _ in pairs])
    corrects = np.array([row["label"] == "correction" for row, _ in pairs])
    told_apart = np.array([row["label"] != "rejection" for row, _ in pairs])
    failure = score_folds(values, failed, counts, folds)

    places = [
        (number, statement)
        for number, prompt in enumerate(prompts)
        for statement in next_words.statements_of_prompt(prompt, float(failure[number]))
    ]
    owner = np.array([number for number, _ in places])
    statements = read_values(signs.read_statement_sign, [s for _, s in places], statement_signs)
    truth = np.array([is_labelled_rule(s.rule.text, pairs[n][0]["rule"]) for n, s in places])
    rule_scores = score_folds(statements, truth, counts[owner], folds[owner])
    has_rule = np.zeros(len(pairs), dtype=bool)
    has_rule[owner[rule_scores >= next_words.RULE]] = True
    seen = np.where(is_form, -1, folds)  # the forms of the tests are no sample
    rules = np.array([row["rule"] is not None for row, _ in pairs])
    print_figures("failure", failure >= next_words.FAILURE, failed, seen)
    print_figures("rule", has_rule, rules, seen)

    tables = {
        "failure": (fit_weights(values, failed, counts), prompt_signs),
        "correction": (
            fit_weights(values[told_apart], corrects[told_apart], counts[told_apart]),
            prompt_signs,
        ),
        "rule": (fit_weights(statements, truth, counts[owner]), statement_signs),
    }
    lines = [HEADER]
    for judgment, (weights, names) in tables.items():
        lines += ["", f"[{judgment}]", f"always = {weights[-1]:.2f}"]
        lines += [
            f'"{name}" = {weight:.2f}'
            for name, weight in zip(names, weights[:-1], strict=True)
            if abs(weight) >= 0.005
        ]
    if options.write:
        WEIGHTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
