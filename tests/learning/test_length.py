"""length: a text within its length, and nothing of what it says lost."""

from hypothesis import given
from hypothesis import strategies as st

from skillvault.learning.length import OVERFLOW, fit_body, fit_sections
from skillvault.model.text.markdown import statements
from skillvault.model.text.text import count_tokens

BULLETS = st.lists(
    st.text("ab \n-c。", min_size=1, max_size=60).map(lambda t: "- x" + t), max_size=12
)
PARTS = st.lists(st.tuples(st.sampled_from("ABCD"), BULLETS.map("\n".join)), min_size=1, max_size=5)
HEAD = ("# Warning: Long", "*head*\n*Domain: coding*")
LINES = "\n".join(f"- Statement {number} of a rather long list." for number in range(80))


def bare(texts: list[tuple[str, str]]) -> list[str]:
    """The lines of texts under their headings, without those that point elsewhere."""
    lines = ((name, line.strip()) for name, text in texts for line in text.splitlines())
    return sorted(
        f"{name} {line}" for name, line in lines if line and "- See references" not in line
    )


@given(PARTS, st.integers(0, 400))
def test_what_has_no_room_moves_and_is_not_lost(
    given_parts: list[tuple[str, str]], room: int
) -> None:
    kept, moved = fit_sections(given_parts, room)
    assert bare([*kept, *moved]) == bare(given_parts)
    told = [text for _, text in kept if "See references" not in text]
    assert not told or sum(count_tokens(t) for t in told) <= room


@given(PARTS)
def test_what_has_room_stays_as_it_is(given_parts: list[tuple[str, str]]) -> None:
    texts = [(name, text.strip()) for name, text in given_parts if text.strip()]
    assert fit_sections(texts, 10**6) == (texts, [])


def test_a_block_of_code_moves_whole() -> None:
    code = "```sh\nmake\n\n# - no item\nmake test\n```"
    text = f"- Build first.\n- Then so:\n\n{code}"
    assert fit_sections([("A", text)], 12) == ([("A", "- Build first.\n- Then so:")], [("A", code)])


def test_the_first_statement_of_a_section_is_the_last_to_go() -> None:
    kept, moved = fit_sections([("A", LINES)], 60)
    assert kept[0][1].startswith("- Statement 0 of")
    assert moved[0][1].endswith("- Statement 79 of a rather long list.")


def test_a_text_has_at_most_so_many_tokens_and_names_the_file_of_the_rest() -> None:
    body, rest = fit_body(HEAD, [("Insight", "- One."), ("Principles", LINES)], 300)
    assert count_tokens(body) <= 300
    assert body.startswith("# Warning: Long\n\n*head*\n*Domain: coding*\n*More: references/")
    assert rest.startswith(f"{OVERFLOW}\n\n## Principles\n\n- Statement")
    assert [f"Statement {n} of a rather long list." for n in range(80)] == [
        line for line in (*statements(body), *statements(rest)) if line.startswith("Statement")
    ]


def test_what_the_first_section_says_first_stays_though_others_are_shorter() -> None:
    body, rest = fit_body(
        HEAD, [("Insight", f"- {'best ' * 60}"), ("Checklist", "- [ ] Short?")], 110
    )
    assert "best" in body
    assert "Short?" in rest
    assert "## Checklist" not in body


def test_the_body_names_the_file_that_the_rest_is_in() -> None:
    body, _ = fit_body(HEAD, [("Principles", LINES)], 300, "statements-2.md")
    assert "*More: references/statements-2.md*" in body


def test_a_short_text_has_no_file() -> None:
    body, rest = fit_body(HEAD, [("Insight", "- One."), ("Empty", " \n")], 300)
    assert body == "# Warning: Long\n\n*head*\n*Domain: coding*\n\n## Insight\n\n- One."
    assert rest == ""


PARTS_OF_LINES = st.lists(
    st.tuples(st.sampled_from(["Insight", "Checklist"]),
              st.lists(st.text("abc d。", min_size=1, max_size=60).map("- x{}".format), min_size=1,
                       max_size=20).map("\n".join)),
    min_size=1, max_size=4, unique_by=lambda part: part[0],
)  # fmt: skip


@given(PARTS_OF_LINES, st.integers(60, 400))
def test_whatever_is_written_is_within_its_length(parts: list[tuple[str, str]], limit: int) -> None:
    body, rest = fit_body(HEAD, parts, limit)
    assert count_tokens(body) <= limit
    lines = {line for _, text in parts for line in statements(text)}
    assert lines <= {*statements(body), *statements(rest)}
