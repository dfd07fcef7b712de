"""The evolved skill that a merge makes or lets grow: its text within its length, its commit.

Nothing that a person changed in it is written over.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import Struct

from skillvault import markdown
from skillvault.brief import Draft, Fate
from skillvault.change import Change, Edit, Move, Rewrite
from skillvault.learning import sections
from skillvault.learning.merge.accounting import Texts, kept_as
from skillvault.learning.merge.groups import STEP, Merge
from skillvault.learning.naming import free_name
from skillvault.policy import Policy
from skillvault.records import JudgeInfo, Ref, Skill, link_of, stamp
from skillvault.text import flat, listed, shorten, slug, tokens

FILE = "statements.md"  # holds what the body has no room for
_TAGS = 16


class PresentSkill(Struct, frozen=True, kw_only=True):
    """An evolved skill as it stands, and what of it is as the program left it.

    `versions` are the bodies that the program wrote, `untouched` the keys that stand as it set
    them. `files` are those in `references/` by name, `edited` the names of those that do not.
    """

    skill: Skill
    versions: tuple[sections.Version, ...]
    untouched: frozenset[str]
    files: Mapping[str, str]
    edited: frozenset[str]

    @property
    def unedited_files(self) -> list[str]:
        """The files in `references/` as the program left them."""
        return [text for name, text in sorted(self.files.items()) if name not in self.edited]


# ── the text ─────────────────────────────────────────────────────────────────────────


def fitted(
    parts: Sequence[tuple[str, str]], room: int
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Sections within so many tokens, and what has no room, under the same headings.

    The longest section gives way, from its end.
    """
    blocks = [markdown.blocks(text.strip()) for _, text in parts]
    sizes = [[tokens(block.removesuffix("\n")) + 1 for block in section] for section in blocks]
    totals = [sum(section) for section in sizes]
    overflow: list[list[str]] = [[] for _ in parts]
    while sum(totals) > room and any(blocks):
        at = max(range(len(parts)), key=lambda i: (len(blocks[i]) > 1, totals[i]))
        overflow[at].append(blocks[at].pop())
        totals[at] -= sizes[at].pop()
    names = [heading for heading, _ in parts]
    fitting = ["".join(section).rstrip() or f"- See references/{FILE}" for section in blocks]
    moved = ["".join(reversed(section)).rstrip() for section in overflow]
    return list(zip(names, fitting, strict=True)), [
        (name, text) for name, text in zip(names, moved, strict=True) if text
    ]


class _EvolvedText(Struct):
    """An evolved skill's body, and its files in references/ by name."""

    body: str
    files: dict[str, str]


def _evolved_text(draft: Draft, merge: Merge, limit: int) -> _EvolvedText:
    count = len(merge.earlier) + len(merge.fresh)
    title = f"# Evolved: {draft.title}"
    header = [f"*Stands for {count} skills, now in archive/*", f"*Domain: {merge.domain}*"]
    more = f"*More: references/{FILE}*"
    frame = "\n".join([title, *header, more, *(name for name, _ in draft.sections)])
    parts = [(name, text) for name, text in draft.sections if text.strip()]
    fitting, moved = fitted(parts, limit - tokens(frame) - 4 * len(parts))
    files = _reference_files(draft, moved)
    header += [more] if FILE in files else []
    paragraphs = [
        title,
        "\n".join(header),
        *(f"## {name}\n\n{text.strip()}" for name, text in fitting),
    ]
    return _EvolvedText("\n\n".join(paragraphs), files)


def _reference_files(draft: Draft, moved: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The files of a draft, what the body has no room for before the rest."""
    files = {f"{slug(name.removesuffix('.md')) or 'more'}.md": t for name, t in draft.references}
    lead = [f"## {name}\n\n{text}" for name, text in moved]
    if lead or FILE in files:
        parts = ["# What has no room in SKILL.md", *lead, files.get(FILE, "").strip()]
        files[FILE] = "\n\n".join(filter(None, parts)) + "\n"
    return files


# ── the changes ──────────────────────────────────────────────────────────────────────


def merge_change(
    merge: Merge,
    sources: Sequence[Skill],
    draft: Draft,
    *,
    judge: JudgeInfo,
    taken: Callable[[str], bool],
    now: datetime,
    policy: Policy,
) -> Change:
    """The commit that makes one skill of several; their own go to archive/."""
    # A title in another script has no slug; what all sources are about may still have one.
    shared = [t for t in _common_tags(sources) if all(t in s.tags for s in sources)]
    about = slug(draft.title) or "-".join(tag for tag in shared if tag != merge.domain)
    name = free_name("evolved", merge.domain, about, taken)
    text = _evolved_text(draft, merge, policy.merge.max_tokens)
    skill = Skill(
        name=name,
        description=shorten(draft.description, 1024),
        body=text.body,
        tags=_common_tags(sources),
        kind="evolved",
        domain=merge.domain,
        status="testing",
        origin="generated",
        created=stamp(now),
        expires=_expiry(now, policy),
        trust="local",
    )
    links = tuple(link_of("merged", source, Ref("skill", name), now) for source in _refs(merge))
    return Change(
        step=STEP,
        subject=name,
        reason=_merge_reason(merge, draft, name),
        writes=(skill, *links),
        files=_placed(name, text.files),
        moves=_moves(merge),
        sources=_refs(merge),
        targets=(Ref("skill", name),),
        judge=f"{judge.name} {judge.version}",
    )


def growth_change(
    merge: Merge,
    sources: Sequence[Skill],
    draft: Draft,
    present: PresentSkill,
    *,
    judge: JudgeInfo,
    now: datetime,
    policy: Policy,
) -> Change:
    """The commit by which an evolved skill takes more in; what a person changed stays."""
    name = present.skill.name
    path = f"skills/{name}/SKILL.md"
    text = _evolved_text(draft, merge, policy.merge.max_tokens)
    body = sections.rewritten(present.skill.body, present.versions, text.body)
    target = Ref("skill", name)
    links = tuple(link_of("merged", source, target, now) for source in _refs(merge))
    return Change(
        step=STEP,
        subject=f"grow {name}",
        reason=_merge_reason(merge, draft, name),
        writes=links,
        files=_placed(name, _grown_files(draft, body, text.files, present)),
        edits=tuple(_edits(draft, sources, present, _expiry(now, policy))),
        rewrites=(Rewrite(path, body),) if body != present.skill.body else (),
        moves=_moves(merge),
        sources=_refs(merge),
        targets=(target, *(Ref("link", link.id) for link in links)),
        judge=f"{judge.name} {judge.version}",
    )


def _grown_files(
    draft: Draft, body: str, files: Mapping[str, str], present: PresentSkill
) -> dict[str, str]:
    """The files to write: a person's stay, and what has no place then gets a file of its own."""
    written = {name: text for name, text in files.items() if name not in present.edited}
    spare = _spare_name(present, written)
    other_files = {
        name: text for name, text in present.files.items() if name not in (*written, spare)
    }
    standing = Texts([body, *other_files.values(), *written.values()])
    placed = (fate for fate in draft.fates if fate.fate != "dropped")
    missing = dict.fromkeys(flat(kept_as(fate)) for fate in placed if not standing.hold(fate))
    if missing:
        written[spare] = "# Not in SKILL.md\n\n" + "".join(f"- {line}\n" for line in missing)
    return written


def _spare_name(present: PresentSkill, written: Mapping[str, str]) -> str:
    """The first name of a file that neither a person nor this text has."""
    number = 2
    while (name := f"statements-{number}.md") in present.edited or name in written:
        number += 1
    return name


def _edits(
    draft: Draft, sources: Sequence[Skill], present: PresentSkill, expires: str
) -> Iterator[Edit]:
    """The named keys to set, but for those that a person changed."""
    now = present.skill
    path = f"skills/{now.name}/SKILL.md"
    description = shorten(draft.description, 1024)
    if "description" in present.untouched and now.description != description:
        yield Edit(path, ("description",), description)
    if "tags" in present.untouched and now.tags != _common_tags(sources):
        yield Edit(path, ("metadata", "tags"), " ".join(_common_tags(sources)))
    if "expires" in present.untouched and (now.expires or expires) < expires:
        yield Edit(path, ("metadata", "expires"), expires)


def _expiry(now: datetime, policy: Policy) -> str:
    return stamp(now + timedelta(days=policy.generate.evolved_days))


def _common_tags(sources: Sequence[Skill]) -> tuple[str, ...]:
    """The tags of all sources, those that most of them have first."""
    counts = Counter(tag for skill in sources for tag in skill.tags)
    return tuple(sorted(counts, key=lambda tag: -counts[tag])[:_TAGS])


def _refs(merge: Merge) -> tuple[Ref, ...]:
    return tuple(Ref("skill", name) for name in sorted(merge.fresh))


def _moves(merge: Merge) -> tuple[Move, ...]:
    return tuple(Move(f"skills/{name}", f"archive/{name}") for name in sorted(merge.fresh))


def _placed(name: str, files: Mapping[str, str]) -> tuple[tuple[str, bytes], ...]:
    return tuple(
        (f"skills/{name}/references/{file}", text.encode()) for file, text in sorted(files.items())
    )


def _merge_reason(merge: Merge, draft: Draft, name: str) -> str:
    """Which skills, how much they are alike, and what became of each statement."""
    count = len(merge.fresh)
    go = f"{count} skills that say" if count > 1 else "a skill that says"
    lines = [f"{name} takes in {go} the same; archive/ keeps what it takes in."]
    alike: dict[str, list[str]] = {skill: [] for skill in merge.fresh}
    for skill, other, value in merge.alike:
        alike[skill].append(f"{value:.2f} with {other}")
    lines += [
        f"  {skill}{': ' if with_ else ''}{', '.join(with_)}" for skill, with_ in alike.items()
    ]
    if merge.evolved:
        missing = f", of which {len(merge.missing)} are gone" if merge.missing else ""
        before = len(merge.earlier) + len(merge.missing)
        lines.append(f"Before it stood for {before}{missing}.")
    counts = Counter(fate.fate for fate in draft.fates)
    lines.append(f"Statements: {listed(f'{n} {fate}' for fate, n in sorted(counts.items()))}.")
    return "\n".join([*lines, *_fate_table(draft.fates)])


def _fate_table(fates: Sequence[Fate]) -> Iterator[str]:
    """One line a statement, under the skill that said it."""
    by_skill: dict[str, list[Fate]] = {}
    for fate in fates:
        by_skill.setdefault(fate.skill, []).append(fate)
    for name, skill_fates in by_skill.items():
        yield f"  {name}"
        yield from (f"    {fate.fate:<8} {_fate_line(fate)}" for fate in skill_fates)


def _fate_line(fate: Fate) -> str:
    statement = shorten(fate.statement, 100)
    if fate.fate == "fused":
        return f"{statement} -> {shorten(fate.note, 70)}"
    return f"{statement} ({shorten(fate.note, 70)})" if fate.fate == "dropped" else statement
