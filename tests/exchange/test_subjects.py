"""The subject of a prompt is its matter: what was asked for, and of which thing."""

import pytest

from skillvault.exchange.transcripts.subjects import (
    action_of,
    action_of_deed,
    continues_task,
    target_of,
)


@pytest.mark.parametrize(
    ("task", "action", "target"),
    [
        ("please can you make the tests pass again after the upgrade to attrs 24", "fix", "attrs"),
        ("upgrade django to 5.1", "upgrade", "django"),
        ("bump lodash from 4.17.20 to 4.17.21", "upgrade", "lodash"),
        ("we went to pydantic 2.5 and everything crashes, can you fix that", "fix", "pydantic"),
        ("migrate the tests from unittest to pytest", "migrate", "pytest"),
        ("write a migration that makes sku unique", "migrate", None),
        ("delete the old endpoint /v1/users and its tests", "remove", "/v1/users"),
        ("why does GET /api/orders return 500?", "review", "/api/orders"),
        ("refactor cart.py, it is 600 lines", "refactor", "cart.py"),
        ("add type hints to src\\jobs.py", "add", "jobs.py"),
        ("export fails with KeyError", "fix", "KeyError"),
        ("mypy is not clean", "fix", "mypy"),
        ("no, still red. use quantize", "fix", None),
        ("no undo that, you changed the names. revert the refactoring", "undo", None),
        ("great, thanks. now add a test for negative discounts", "test", None),
        ("write a test that shows the bug, then fix it", "fix", None),
        ("write docs for the export command", "document", None),
        ("speed up the product list, it takes 4 s", "optimize", None),
        ("the invoice page takes 6 s to load", "optimize", None),
        ("Deploy the api to staging", "deploy", None),
        ("raise the timeout from 2 to 10 seconds", "change", None),
        ("I want to be able to log in with a key", "add", None),
        ("can you look into the failing checkout test?", "fix", None),
        ("can you explain why the cache is never hit", "review", None),
        ("ok commit", "commit", None),
    ],
)
def test_the_subject_is_what_was_asked_of_which_thing(
    task: str, action: str, target: str | None
) -> None:
    assert (action_of(task), target_of(task, {})) == (action, target)


@pytest.mark.parametrize(
    ("files", "target"),
    [
        ({"/x/shop/orders.py": 1, "/x/shop/pay.py": 2}, "pay.py"),
        ({"/x/tests/test_orders.py": 3, "/x/shop/orders.py": 1}, "orders.py"),
        ({"/x/package.json": 2, "/x/src/date.ts": 1}, "date.ts"),
        ({"/x/shop/cart/__init__.py": 1}, "cart/__init__.py"),
        ({"C:\\x\\shop\\pay.cs": 1}, "pay.cs"),
        ({"/x/tests/test_orders.py": 1}, "test_orders.py"),
        ({}, None),
    ],
)
def test_without_a_name_in_the_task_it_is_the_file_that_was_edited_most(
    files: dict[str, int], target: str | None
) -> None:
    assert target_of("make it better", files) == target


def test_without_a_file_it_is_the_error_and_then_the_check() -> None:
    assert target_of("fix it", {}, error="E  IndexError: 3", tool="pytest") == "IndexError"
    assert target_of("fix it", {}, error="1 failed", tool="pytest") == "pytest"


@pytest.mark.parametrize(
    ("text", "goes_on"),
    [
        ("go on", True),
        ("ok, continue please", True),
        ("continue until all tests pass", True),
        ("yes please", True),
        ("now the tests too", True),
        ("and the docs", True),
        ("mach weiter", True),
        ("继续", True),
        ("ok", False),
        ("thanks", False),
        ("now the tests fail", False),
        ("and the page is broken", False),
        ("also update celery to 5.4", False),
        ("now the same for ean", False),
        ("no, go on with the other one", False),
        ("go back to the old version", False),
        ("fix it", False),
    ],
)
def test_a_prompt_goes_on_with_a_task_if_it_asks_for_no_other(text: str, *, goes_on: bool) -> None:
    assert continues_task(text, "fix it", is_interrupted=False) == goes_on


def test_the_same_words_go_on_with_a_task_that_was_interrupted() -> None:
    assert continues_task("fix  it", "fix it", is_interrupted=True)


@pytest.mark.parametrize(
    ("deed", "action"),
    [
        ("Raised the timeout of the flaky test", "change"),
        ("added a column without a default", "add"),
        ("I dropped the index", "remove"),
        ("put the key into the settings", "change"),
        ("fed the cat", "work"),
    ],
)
def test_a_deed_in_the_past_has_the_action_of_its_verb(deed: str, action: str) -> None:
    assert action_of_deed(deed) == action
