"""The excerpt of a guide in an answer: the lines that concern its task, each try once."""

import pytest

from skillvault.learning.recommend.disclosure import first_sections
from skillvault.learning.recommend.lines import NO_MATCH, RELATED, cut_excerpt, match_lines
from skillvault.model.text.text import count_tokens

DEED = "Chase the breakout at market with full size"
GUIDE = f"""# Guide: open_long

*open_long: 3 outcomes, the last on 2026-01-03*

## Rules and Leads

- Lead: with funding high 3 of 3 failed, otherwise 0 of 4.

## Avoid

- {DEED} → -12 % (3 of 3 runs failed).
"""


def test_a_text_that_is_too_long_keeps_its_lines() -> None:
    lines = [f"- Line {number} says what was done, and what came of it." for number in range(9)]
    body = "\n".join(["# Guide: deploy", "", "## For This Task", "", *lines])
    part = first_sections(body, count_tokens(body) / 2)
    assert body.startswith(part)
    assert part.splitlines()[-1] in lines[1:-1]


def test_a_try_that_a_guide_tells_is_not_told_again_with_its_target() -> None:
    tried = [f"- 2026-01-0{day} failed: {target}-PERP: {DEED} → -12 %." for day, target in
             ((1, "DOGE"), (2, "SOL"))]  # fmt: skip
    excerpt = cut_excerpt("Chase the breakout of AVAX", GUIDE, tried, "open long")
    assert excerpt.count(DEED) == 1


@pytest.mark.parametrize(
    "line",
    [
        "- Warm the cache before the switch → it was up at once (2 of 2 runs worked).",
        "- Read the schema first (a person says so; lesson of 2 failed runs).",
        "- 2026-11-02 open: the ledger is read again (2 runs: 1 worked, 1 open).",
    ],
)
def test_counts_and_dates_of_a_line_match_no_task(line: str) -> None:
    with_number, without = "read two caches and the schema", "read caches and the schema"
    weights = [match_lines(task, [line])[line].weight for task in (with_number, without)]
    assert weights[0] == weights[1]


DEPLOY = """# Guide: deploy

*deploy: 9 outcomes, the last on 2026-11-09*

## Rules and Leads

- Lead: with dry_run false 6 of 6 failed, otherwise 0 of 4.

## Do

- Warm the tenant cache before the switch.
- Take a snapshot of the ledger.
- Read the changelog of the library.
- Page the owner.

## Avoid

- Rotate the signing keys during the release → 401 for an hour.

## Refused

- Refused as the answer: 24 (2 runs).
"""
TRIED = [
    "- 2026-11-09 failed: billing: Drop the index of invoices → 30 s locks.",
    "- 2026-11-08 failed: Rotate the signing keys during the release (weak: no dry run).",
]


def _lines_of(excerpt: str, heading: str) -> list[str]:
    after = excerpt.partition(f"## {heading}\n\n")[2].partition("\n\n")[0]
    return after.splitlines()


def test_the_line_nearest_to_the_task_stands_first_with_its_section() -> None:
    excerpt = cut_excerpt("rotate the signing keys of the gateway", DEPLOY, TRIED, "deploy")
    assert _lines_of(excerpt, "For This Task") == [
        "- Avoid: Rotate the signing keys during the release → 401 for an hour."
    ]
    assert excerpt.startswith("# Guide: deploy\n")


def test_rules_and_refused_answers_are_given_whole_and_of_what_to_do_the_first() -> None:
    excerpt = cut_excerpt("rotate the signing keys of the gateway", DEPLOY, TRIED, "deploy")
    assert _lines_of(excerpt, "Rules and Leads") == [
        "- Lead: with dry_run false 6 of 6 failed, otherwise 0 of 4."
    ]
    assert _lines_of(excerpt, "Refused") == ["- Refused as the answer: 24 (2 runs)."]
    assert len(_lines_of(excerpt, "Do")) == 3
    assert "Page the owner" not in excerpt
    assert "## Avoid" not in excerpt


def test_a_try_that_the_text_does_not_tell_answers_too() -> None:
    excerpt = cut_excerpt("drop the unused index of invoices", DEPLOY, TRIED, "deploy")
    assert _lines_of(excerpt, "For This Task") == TRIED[:1]


@pytest.mark.parametrize(
    "line", ["- tax.py in shop: Round up.", "- 2026-11-05 failed: tax.py in shop: Up."]
)
def test_the_repository_in_a_label_matches_no_task(line: str) -> None:
    assert match_lines("add the package requests to the shop", [line])[line].weight == 0
    assert match_lines("tax.py is wrong", [line])[line].weight > 0


def test_the_words_in_the_name_of_a_file_match_a_task() -> None:
    line = "- test_checkout.py in shop: It waits for the payment."
    assert match_lines("the checkout is flaky", [line])[line].weight > 0


def test_a_try_without_a_deed_is_no_line_of_an_answer() -> None:
    bare_try = "- 2026-11-05 failed (invoices)."
    excerpt = cut_excerpt("drop the unused index of invoices", DEPLOY, [*TRIED, bare_try], "deploy")
    assert bare_try not in excerpt


def test_a_guide_that_says_nothing_of_the_task_is_given_whole() -> None:
    assert cut_excerpt("qqq zzz", DEPLOY, TRIED, "deploy") == DEPLOY


@pytest.mark.parametrize(
    ("task", "line", "is_related"),
    [
        ("rotate the signing keys", "- Rotate the signing keys at night.", True),
        ("open a long on SOL", "- Chase SOL-PERP at market → -12 %.", True),
        ("rotate the signing keys", "- Warm the tenant cache.", False),
        ("", "- Warm the tenant cache.", False),
    ],
)
def test_a_line_answers_by_what_it_says_of_the_task(task: str, line: str, is_related: bool) -> None:
    match = match_lines(task, [line]).get(line, NO_MATCH)
    assert (match.weight >= RELATED) is is_related
    assert 0.0 <= match.share <= 1.0


def test_of_two_lines_the_one_that_says_more_of_the_task_is_stronger() -> None:
    lines = ["- Rotate the signing keys at night.", "- Print the keys."]
    more, less = match_lines("rotate the signing keys", lines).values()
    assert more.strength > less.strength > 0
    assert more.share > less.share


def test_what_separates_two_lines_may_be_a_number_of_the_task() -> None:
    lines = ["- Raise max_connections to 500.", "- Raise max_connections to 100."]
    five, one = (match_lines("raise max_connections to 500", lines)[line] for line in lines)
    assert five.strength > one.strength


def test_what_to_do_about_another_target_is_left_out() -> None:
    lines = [
        "a.py in shop: Use uv.",
        "a.py in shop: Pin it.",
        "b.py in blog: Use freezegun.",
        "Ask.",
    ]
    body = "\n".join(["# Guide: fix", "", "## Do", "", *(f"- {line}" for line in lines)])
    excerpt = cut_excerpt("install it with uv", body, [], "fix")
    assert [line for line in lines if line in excerpt] == [lines[0], lines[1], lines[3]]
