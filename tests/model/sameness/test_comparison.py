"""same, opposite: one answer for two texts, and what differs by itself is never the same."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given

from skillvault.model.sameness.comparison import is_opposite, is_same, likeness
from skillvault.model.sameness.form import Form, normal_form
from tests.model.sameness.given import texts

LESSONS = Path(__file__).resolve().parents[3] / "bench/quality/lessons.tsv"
Judges = Callable[[Form, Form], bool]


def _judge(rule: Judges, a: str, b: str) -> bool:
    return rule(normal_form(a), normal_form(b))


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Do retry failed payments.", "Do not retry failed payments."),
        ("Always run the migration first.", "Never run the migration first."),
        ("Buy when funding turns.", "Sell when funding turns."),
        ("Enter only above the average.", "Enter only below the average."),
        ("Close the position before the release.", "Close the position after the release."),
        ("Increase the batch size.", "Reduce the batch size."),
        ("Enable keep-alive.", "Disable keep-alive."),
        ("Use more workers for the import.", "Use fewer workers for the import."),
        ("Take the first row of a group.", "Take the last row of a group."),
        ("Run the loader with a lock.", "Run the loader without a lock."),
        ("Scale up at peak hours.", "Scale down at peak hours."),
        ("Keep the flag on.", "Keep the flag off."),
        ("Run the linter before the tests.", "Run the tests before the linter."),
        ("Prefer polling over webhooks.", "Prefer webhooks over polling."),
        ("Increase timeouts and lower retries.", "Lower timeouts and increase retries."),
        ("Retry scans and never retry writes.", "Retry writes and never retry scans."),
        ("部署之前运行迁移。", "部署之后运行迁移。"),
        ("要重试失败的付款。", "不要重试失败的付款。"),
    ],
)  # fmt: skip
def test_the_opposite_contradicts(a: str, b: str) -> None:
    assert _judge(is_opposite, a, b)
    assert not _judge(is_same, a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Set the timeout to 30 seconds.", "Set the timeout to 300 seconds."),
        ("Wait 500 ms between retries.", "Wait 500 s between retries."),
        ("Retry twice on a timeout.", "Retry once on a timeout."),
        ("Use v1 of the export API.", "Use v2 of the export API."),
        ("Long entries in BTC work.", "Long entries in ETH work."),
        ("Read config.yaml at the start.", "Read config.toml at the start."),
        ("Use 2 workers and 8 threads.", "Use 8 workers and 2 threads."),
        ("Sell BTC to buy ETH.", "Sell ETH to buy BTC."),
        ("Replicas lag by several seconds.", "Replicas lag by several minutes."),
        ("Check the client certificate.", "Check the server certificate."),
        ("Truncate the input of the model.", "Truncate the output of the model."),
        ("Trust a notarized package.", "Trust an unnotarized package."),
        ("Validate the webhook signature.", "Validate the webhook timestamp."),
        ("Postgres drops idle connections.", "Redis drops idle connections."),
        ("Do not disable the cache.", "Enable the cache in tests of speed."),
    ],
)
def test_another_number_name_or_thing_is_neither_the_same_nor_the_opposite(a: str, b: str) -> None:
    assert not _judge(is_same, a, b)
    assert not _judge(is_opposite, a, b)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("Run the migration before the deploy.", "Before you deploy, run the migrations."),
        ("Do not retry failed payments.", "Failed payments should never be retried."),
        ("Verify totals prior to saving.", "Before saving, check the total."),
        ("Use the median rather than the mean.", "Instead of the mean, use the median."),
        ("不要重试失败的付款。", "失败的付款不要重试。"),
    ],
)
def test_the_same_may_be_said_in_another_order(a: str, b: str) -> None:
    assert _judge(is_same, a, b)
    assert not _judge(is_opposite, a, b)


def test_of_lessons_as_agents_write_them_nine_in_ten_are_told_right() -> None:
    rows = [line.split("\t") for line in LESSONS.read_text(encoding="utf-8").splitlines()]
    right = {"same": [], "opposite": [], "different": []}  # type: dict[str, list[bool]]
    for verdict, a, b in rows:
        right[verdict].append(_judge(is_same, a, b) == (verdict == "same"))
    assert len(rows) >= 200
    assert all(sum(judged) >= 0.9 * len(judged) for judged in right.values()), right


@given(texts, texts)
def test_neither_text_comes_first(a: str, b: str) -> None:
    left, right = normal_form(a), normal_form(b)
    assert likeness(left, right) == likeness(right, left)
    assert is_same(left, right) == is_same(right, left)
    assert is_opposite(left, right) == is_opposite(right, left)


@given(texts, texts)
def test_what_is_the_same_is_not_the_opposite(a: str, b: str) -> None:
    assert not (_judge(is_same, a, b) and _judge(is_opposite, a, b))


@given(texts)
def test_a_text_says_the_same_as_itself(text: str) -> None:
    assert _judge(is_same, text, text)
    assert likeness(normal_form(text), normal_form(text)) == 1.0


def test_a_denial_is_no_opposite_of_a_text_that_does_not_say_what_it_denies() -> None:
    wide = "Because volatility is high I set the range around the price, so no swing leaves it."
    narrow = (
        "Because volatility is high I set the range around the price; it was left within hours."
    )
    assert not is_opposite(normal_form(wide), normal_form(narrow))
    assert not is_opposite(normal_form(narrow), normal_form(wide))
