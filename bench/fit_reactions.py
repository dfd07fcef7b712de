"""Set how much each sign of a user's next words weighs, from the labelled prompts to tune on.

python bench/fit_reactions.py [--write]

Prints how well prompts are read by weights that were set without them (five folds), for several
scores from which on a prompt is a failure, and a statement a rule. `--write` sets the weights of
the package from all prompts to tune on.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from skillvault.model import reaction
from skillvault.model.reaction import phrases, signs
from skillvault.model.reaction.signs import TypedPrompt

PROMPTS = Path(__file__).parent / "quality" / "next_prompts.jsonl"
WEIGHTS = Path(reaction.__file__).with_name("weights.toml")
HEADER = """\
# How much each sign of a user's next words weighs; `always` is what a prompt without any has.
# Written by `python bench/fit_reactions.py --write`, and not by hand."""
UNREAD = {"common", "filler", "invitation"}  # meanings that are no signs by themselves
FOLDS, STRENGTH = 5, 0.4  # STRENGTH: how far a weight may go
FORM, ROUNDS = "a form that the tests hold", 40  # ROUNDS: until all forms are read rightly
GROWTH, MARGIN = 1.3, 0.05  # of what a form counts; by which its score is on the right side
LEAST_SCORES = (-0.4, 0.0, 0.2, 0.6, 0.8, 1.0, 1.2, 1.4, 1.6, 2.0, 2.4)
Matrix = NDArray[np.float64]
Mask = NDArray[np.bool_]


def fit_weights(values: Matrix, truth: Mask, is_form: Mask, least: Matrix | float) -> Matrix:
    """Return weights of a logistic regression with a ridge; the last one is the constant.

    A form that the tests hold counts more after each round that reads it wrongly.
    """
    columns = np.hstack([values, np.ones((len(values), 1))])
    ridge = np.eye(columns.shape[1]) / STRENGTH
    ridge[-1, -1] = 1e-6
    counts = np.ones(len(values))
    weights = np.zeros(columns.shape[1])
    for _ in range(ROUNDS):
        for _ in range(25):
            chance = 1 / (1 + np.exp(-columns @ weights))
            slope = columns.T @ (counts * (chance - truth)) + ridge @ weights
            curve = (columns * (counts * chance * (1 - chance))[:, None]).T @ columns + ridge
            step = np.linalg.solve(curve, slope)
            weights -= step
            if np.abs(step).max() < 1e-3:
                break
        side = np.where(truth, 1, -1) * (columns @ weights - least)
        is_wrong = is_form & (side < MARGIN)
        if not is_wrong.any():
            break
        counts[is_wrong] *= GROWTH
    return weights


def score_folds(
    values: Matrix, truth: Mask, is_form: Mask, folds: NDArray[np.int_], least: Matrix
) -> Matrix:
    """Return the score of each row by the weights of the other folds."""
    scores = np.zeros(len(values))
    for fold in range(FOLDS):
        inside, outside = folds == fold, folds != fold
        weights = fit_weights(values[outside], truth[outside], is_form[outside], least[outside])
        scores[inside] = add_weights(values[inside], weights)
    return scores


def add_weights(values: Matrix, weights: Matrix) -> Matrix:
    """Return the score of each row."""
    scores: Matrix = values @ weights[:-1] + weights[-1]
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


def print_curve(name: str, scores: Matrix, truth: Mask, chosen: float) -> None:
    """Print precision and recall for several least scores; `>` marks the one that is in use."""
    for least in sorted({*LEAST_SCORES, chosen}):
        said = scores >= least
        precision, recall = truth[said].mean(), said[truth].mean()
        mark = ">" if least == chosen else " "
        print(f"{mark} {name} from {least:.1f}: precision {precision:.3f}, recall {recall:.3f}")


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
        and (prompt := reaction.read_prompt(row["text"], row["answer"])) is not None
    ]
    pairs = [(row, prompt) for row, prompt, _ in triples]
    prompts: list[TypedPrompt] = [prompt for _, prompt in pairs]
    meanings = [name for name in phrases.meanings() if name not in UNREAD]
    prompt_signs, statement_signs = signs.list_signs(meanings)
    values = read_values(signs.read_prompt_sign, prompts, prompt_signs)
    folds = np.array([fold for *_, fold in triples])
    is_form = np.array([row["why"] == FORM for row, _ in pairs])
    failed = np.array([bool(row["failed"]) for row, _ in pairs])
    corrects = np.array([row["label"] == "correction" for row, _ in pairs])
    apart = np.array([row["label"] != "rejection" for row, _ in pairs])
    least_failure = np.full(len(pairs), reaction.FAILURE)
    failure_weights = fit_weights(values, failed, is_form, reaction.FAILURE)
    failure = score_folds(values, failed, is_form, folds, least_failure)
    failure = np.where(is_form, add_weights(values, failure_weights), failure)

    places = [
        (number, statement)
        for number, prompt in enumerate(prompts)
        for statement in reaction.statements_of_prompt(prompt, float(failure[number]))
    ]
    owner = np.array([number for number, _ in places])
    statements = read_values(signs.read_statement_sign, [s for _, s in places], statement_signs)
    truth = np.array([is_labelled_rule(s.rule.text, pairs[n][0]["rule"]) for n, s in places])
    least_rule = np.array([reaction.least_rule_score(prompts[number]) for number in owner])
    forms = is_form[owner]
    scores = score_folds(statements, truth, forms, folds[owner], least_rule)
    best_rule = np.full(len(pairs), -np.inf)  # the score of the best statement of a prompt
    np.maximum.at(best_rule, owner, scores - least_rule + reaction.RULE)
    has_rule = np.array([row["rule"] is not None for row, _ in pairs])
    seen = ~is_form  # the forms of the tests are no sample
    print_curve("failure", failure[seen], failed[seen], reaction.FAILURE)
    print_curve("rule", best_rule[seen], has_rule[seen], reaction.RULE)

    tables = {
        "failure": (failure_weights, prompt_signs),
        "correction": (
            fit_weights(values[apart], corrects[apart], is_form[apart], reaction.CORRECTION),
            prompt_signs,
        ),
        "rule": (fit_weights(statements, truth, forms, least_rule), statement_signs),
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
