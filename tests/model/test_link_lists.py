"""The links of one record as the lines of one file."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from skillvault.model.link_lists import diff_links, edit_links, owner_of, read_links
from skillvault.model.records import LINK_TYPES, Link, LinkType, Ref, link_of
from tests.given import NOW

OWNER = Ref("evaluation", "20261120t101500z-0123456789")
SKILL = Ref("skill", "review")
PATH = "evaluations/perps/2026/11/20/20261120t101500z-0123456789.links.yaml"


def to(name: str, link_type: LinkType = "promoted", at: datetime = NOW) -> Link:
    """A link from the owner to a fact."""
    return link_of(link_type, OWNER, Ref("fact", name), at)


def read(text: bytes | None, owner: Ref = OWNER) -> tuple[Link, ...]:
    """The links of a list in which every line can be read."""
    found = read_links(PATH, owner, text or b"")
    assert found.problems == ()
    return found.links


@given(st.lists(st.sampled_from("abcd"), unique=True), st.sampled_from(LINK_TYPES))
def test_links_read_back_sorted_whatever_their_order(names: list[str], kind: LinkType) -> None:
    made = [to(name, kind) for name in names]
    text = edit_links(b"", OWNER, made, [])
    assert read(text) == tuple(to(name, kind) for name in sorted(names))
    assert text == edit_links(b"", OWNER, made[::-1], [])


def test_one_line_says_all_of_a_link() -> None:
    assert edit_links(b"", OWNER, [to("a")], []) == (
        b"- {type: promoted, to: fact/a, at: '2026-11-20T12:00:00Z'}\n"
    )


def test_a_link_from_an_origin_stands_in_the_list_of_the_skill_with_what_is_known_of_it() -> None:
    link = link_of("installed", Ref("origin", "0123456789abcdef"), SKILL, NOW)
    link = replace(link, metadata={"url": "https://x.test/a, b: {c}", "files": 2, "note": "a\nb"})
    assert owner_of(link) == SKILL
    text = edit_links(b"", SKILL, [link], [])
    assert text is not None
    assert text.startswith(b"- {type: installed, from: origin/0123456789abcdef, at: ")
    assert text.count(b"\n") == 1
    assert read(text, SKILL) == (link,)


def test_only_a_slug_becomes_an_end() -> None:
    with pytest.raises(ValueError, match="cannot be written"):
        edit_links(b"", OWNER, [to("a, to: b")], [])


EDITED = b"""\
# mine
- {type: promoted, to: fact/a, at: 2026-11-20T12:00:00Z}   # checked
- { to: 'fact/c', at: 2026-11-20T13:00:00+01:00, type: promoted, note: why }
- {type: married, to: fact/x, at: 2026-11-20T12:00:00Z}

"""


def test_what_a_person_wrote_in_a_list_stays_byte_for_byte() -> None:
    text = edit_links(EDITED, OWNER, [to("b"), to("a")], [])
    assert text is not None
    new = b"- {type: promoted, to: fact/b, at: '2026-11-20T12:00:00Z'}\n"
    assert new in text
    assert text.replace(new, b"").rstrip() == EDITED.rstrip()
    ends = [link.target.id for link in read_links(PATH, OWNER, text).links]
    assert sorted(ends) == ["a", "b", "c"]


def test_a_line_goes_with_its_link_and_a_list_with_its_last_line() -> None:
    text = edit_links(b"", OWNER, [to("a"), to("b")], [])
    assert read(edit_links(text or b"", OWNER, [], [to("a").id])) == (to("b"),)
    assert edit_links(text or b"", OWNER, [], [to("a").id, to("b").id]) is None


def test_a_link_written_twice_counts_once_with_the_earlier_time() -> None:
    early, late = to("a", at=datetime(2026, 1, 1, tzinfo=UTC)), to("a")
    lines = [edit_links(b"", OWNER, [link], []) or b"" for link in (late, early)]
    assert read(b"".join(lines)) == (early,)
    assert read(edit_links(lines[1], OWNER, [late], [])) == (early,)
    assert read(edit_links(lines[0], OWNER, [early], [])) == (early,)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (b"<<<<<<< HEAD", "write `- {type: promoted"),
        (b"- {type: promoted, to: fact/a", "write `- {type: promoted"),
        (b"type: promoted", "not a link"),
        (b"- {type: married, to: fact/a, at: 2026-11-20T12:00:00Z}", "'married' is not one of"),
        (b"- {type: promoted, to: a, at: 2026-11-20T12:00:00Z}", "to: expected KIND/ID"),
        (b"- {type: promoted, at: 2026-11-20T12:00:00Z}", "from: expected KIND/ID"),
        (b"- {type: promoted, to: fact/a}", "at: None is not a time"),
        (b"- {type: promoted, to: fact/a, at: 2026-11-20T12:00:00}", "not a time with a time zone"),
        (b"- {type: promoted, to: fact/a, at: 2026-13-20T12:00:00Z}", "is not a time"),
        (b"- {type: promoted, to: fact/a, at: 2026-11-20T12:00:00Z, metadata: x}", "metadata:"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_damaged_line_is_named_and_the_others_are_read(line: bytes, says: str) -> None:
    good = edit_links(b"", OWNER, [to("b")], []) or b""
    found = read_links(PATH, OWNER, good + line + b"\n")
    assert found.links == (to("b"),)
    (problem,) = found.problems
    assert problem.path == PATH
    assert problem.message.startswith("line 2: ")
    assert says in problem.message
    assert line in (edit_links(good + line + b"\n", OWNER, [to("a")], [to("b").id]) or b"")


def test_what_changed_between_two_versions_is_what_one_of_them_has_alone() -> None:
    old = edit_links(b"", OWNER, [to("a"), to("b")], []) or b""
    new = edit_links(old, OWNER, [to("c")], [to("a").id]) or b""
    assert sorted(link.target.id for link in diff_links(OWNER, old, new)) == ["a", "c"]
