"""listing: what is found in a list of the index is what git finds when it is asked for a path."""

import os
import subprocess
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillvault.api import Vault
from skillvault.vault.git.index_file import Listing
from skillvault.vault.git.trees import Entry
from tests.conftest import NOW, Person
from tests.given import as_file, raw

PATHS = ("a", "a-b", "a.md", "a/b", "a/b-c", "a/b0", "ab", "b/c/d", "tab\tin\nit", "é", "odd\udcff")
BLOB = "0123456789" * 4


def _said(entries: Mapping[str, Entry], stage: int = 0) -> bytes:
    """What git says of these entries, in its order."""
    said = {path.encode(errors="surrogateescape"): e for path, e in entries.items()}
    return b"".join(
        f"{said[path].mode} {said[path].id} {stage}\t".encode() + path + b"\0"
        for path in sorted(said)
    )


def _below(path: str, wanted: str) -> bool:
    return path == wanted or path.startswith(f"{wanted}/")


@given(st.sets(st.sampled_from(PATHS)), st.lists(st.sampled_from((*PATHS, "b", "b/c", "c"))))
def test_a_path_finds_itself_and_what_is_below_it(there: set[str], wanted: list[str]) -> None:
    entries = {path: Entry("100644", BLOB) for path in there}
    found = Listing(_said(entries)).entries(wanted)
    assert found.keys() == {p for p in there if any(_below(p, one) for one in wanted)}


def test_the_entries_are_those_of_git(person: Person) -> None:
    """Git's own list of an index is read as git shows it, names that are no text included."""
    for name in PATHS[1:]:
        place = person.root / "notes" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(name.encode(errors="surrogateescape"))
    person.git("add", "notes")
    person.git("update-index", "--chmod=+x", "notes/ab")
    command = ["git", "ls-files", "--stage", "-z"]
    said = subprocess.run(command, cwd=person.root, capture_output=True, check=True).stdout
    found = Listing(said).entries()
    assert _said(found) == said
    assert found["notes/ab"].mode == "100755"


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_an_entry_that_waits_to_be_merged_is_no_entry(stage: int) -> None:
    plain, torn = {"a": Entry("100644", BLOB)}, {"b": Entry("100644", BLOB)}
    found = Listing(_said(plain) + _said(torn, stage))
    assert (found.unmerged, Listing(_said(plain)).unmerged) == (True, False)
    assert found.entries() == plain


def test_a_path_that_looks_like_a_stage_hides_no_other() -> None:
    odd = _said({"a 0\tb": Entry("100644", BLOB)})
    torn = _said({"c": Entry("100644", BLOB)}, 2)
    assert (Listing(odd).unmerged, Listing(odd + torn).unmerged) == (False, True)


def test_an_edit_of_the_second_of_its_git_add_is_seen_after_a_publication(
    vault: Vault, person: Person
) -> None:
    """Git tells such an edit of the same size by the time of its index alone."""
    person.git("config", "core.trustctime", "false")
    mine = person.write("mine.txt", "one\n")
    os.utime(mine, (1e9, 1e9))
    person.git("add", "mine.txt")
    os.utime(vault.root / ".git/index", (1e9, 1e9))
    mine.write_text("two\n")
    os.utime(mine, (1e9, 1e9))
    vault.record([("a.json", as_file(raw()))], now=NOW)
    assert "-one\n+two" in person.git("diff", "mine.txt")
