"""sources: what a person writes is one source, or a sentence; nothing is an option or a program."""

import pytest

from skillvault.exchange.sources import REGISTRY, SkillSource, parse_source
from skillvault.model.errors import UsageError


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("./skills", SkillSource("folder", "./skills")),
        ("/srv/skills/", SkillSource("folder", "/srv/skills")),
        ("~/skills", SkillSource("folder", "~/skills")),
        ("owner/repo", SkillSource("git", "https://github.com/owner/repo.git")),
        ("owner/repo.git", SkillSource("git", "https://github.com/owner/repo.git")),
        ("owner/repo/a/b", SkillSource("git", "https://github.com/owner/repo.git", folder="a/b")),
        ("owner/repo#v1:a", SkillSource("git", "https://github.com/owner/repo.git", "v1", "a")),
        ("https://github.com/o/r", SkillSource("git", "https://github.com/o/r")),
        (
            "https://github.com/o/r/tree/main/skills/a",
            SkillSource("git", "https://github.com/o/r.git", "main", "skills/a"),
        ),
        (
            "https://git.example/x.git#v1:a",
            SkillSource("git", "https://git.example/x.git", "v1", "a"),
        ),
        ("git+https://git.example/x", SkillSource("git", "https://git.example/x")),
        ("ssh://git@x.example:22/x.git", SkillSource("git", "ssh://git@x.example:22/x.git")),
        ("git@git.example:o/r.git", SkillSource("git", "git@git.example:o/r.git")),
        ("file:///srv/r.git", SkillSource("git", "file:///srv/r.git")),
        ("https://skills.example/", SkillSource("site", "https://skills.example")),
        ("https://skills.example#a", SkillSource("site", "https://skills.example", skill="a")),
        ("http://127.0.0.1:8000", SkillSource("site", "http://127.0.0.1:8000")),
        ("clawhub:ann/review", SkillSource("clawhub", REGISTRY, owner="ann", skill="review")),
        ("clawhub:@ann/review", SkillSource("clawhub", REGISTRY, owner="ann", skill="review")),
    ],
)  # fmt: skip
def test_a_source_is_what_its_form_says(text: str, source: SkillSource) -> None:
    assert parse_source(text) == source


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "--upload-pack=touch x",
        "-oProxyCommand=x/y",
        "ext::sh -c 'touch x'",
        "ext::sh/-c",
        "fd::17/foo",
        "git://git.example/x.git",
        "http://git.example/x.git",
        "ftp://git.example/x.git",
        "javascript:alert(1)",
        "ssh://-oProxyCommand=x/y.git",
        "ssh://git@-oProxyCommand=x/y.git",
        "ssh://git.example/-x",
        "git@-oProxyCommand=x:y",
        "-git@git.example:y",
        "git@git.example:-y",
        "https://-x.example/y.git",
        "https://user:secret@git.example/x.git",
        "https://git.example/x.git#--upload-pack=x",
        "https://git.example/x.git#a..b",
        "https://git.example/x.git#main:../x",
        "https://git.example/x.git#main:.git/hooks",
        "owner/repo/../../x",
        "file://host/x.git",
        "clawhub:review",
        "clawhub:ann/-review",
        "clawhub:ann/review/x",
        "clawhub:../x",
        "https://skills.example#../x",
        "a\nb",
        "one",
    ],
)
def test_what_is_no_source_is_a_sentence_with_the_forms(text: str) -> None:
    with pytest.raises(UsageError, match="clawhub:owner/name"):
        parse_source(text)


def test_a_folder_that_is_there_is_meant_before_anything_else() -> None:
    assert parse_source("owner/repo", is_path=True) == SkillSource("folder", "owner/repo")


def test_a_registry_without_https_address_is_a_sentence() -> None:
    with pytest.raises(UsageError, match="--registry"):
        parse_source("clawhub:ann/review", registry="ext::x")


@pytest.mark.parametrize(
    "text",
    [
        "https://git.example/x.git#v1:skills/a",
        "https://git.example/x.git#:skills/a",
        "https://skills.example#a",
        "clawhub:ann/review",
    ],
)
def test_a_skill_of_a_source_is_written_as_it_is_found_again(text: str) -> None:
    source = parse_source(text)
    assert parse_source(source.skill_address(source.folder, source.skill)) == source
