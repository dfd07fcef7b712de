"""Find the rules and how-tos in instruction files (AGENTS.md) and guides (CONTRIBUTING.md).

The path tells the kind of file. Lists of dos and don'ts give rules; steps or commands a how-to.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from skillvault.model.lazy import regex
from skillvault.model.reaction import states_rule
from skillvault.model.text import managed_block, markdown

_INSTRUCTION_FILE = regex(
    r"(?:^|/)(?:(?:AGENTS|AGENTS\.override|CLAUDE|CLAUDE\.local|GEMINI|QWEN|WARP|CRUSH"
    r"|copilot-instructions)\.md|\.(?:\w+rules|rules|goosehints|junie/guidelines\.md)"
    r"|\.(?:[\w-]+/(?:rules|steering)|clinerules)/.*\.mdc?|[^/]+\.(?:mdc|instructions\.md))$"
)
_GUIDE = regex(
    r"(?:^|/)(?:(?:contributing|development|developing|hacking|conventions|guidelines"
    r"|\w*style\w*|runbook|playbook)[^/]*\.(?:md|markdown)"
    r"|(?:runbooks?|playbooks?|how-?tos?|guidelines|conventions)/.*\.(?:md|markdown))$",
    re.IGNORECASE,
)
# The beginning of a comment, or a piece of code, where `<!--` begins no comment.
_COMMENT_OR_CODE = re.compile(
    r"<!--"
    r"|^[ \t]*(?P<fence>`{3,}|~{3,})(?:.*?^[ \t]*(?P=fence)|.*\Z)"
    r"|(?<!`)(?P<ticks>`+)(?!`)[^\n]{1,400}?(?<!`)(?P=ticks)(?!`)",
    re.DOTALL | re.MULTILINE,
)
_CODE_FENCE = re.compile(r"^(?:```|~~~)", re.MULTILINE)
_NUMBERED_STEP = re.compile(r"^\d+[.)]\s", re.MULTILINE)
# A step that is a command and nothing else, and a sentence that only greets.
_COMMAND = regex(
    r"(?:then |please )?(?:run|execute|type|führe|starte|lance[rz]?|ejecuta|запустите?|运行"
    r"|执行)[ :]*`[^`]+`(?: aus)?\W*",
    re.IGNORECASE,
)
_COURTESY = regex(
    r"(?:many |big )?(?:thanks|thank you|welcome|danke|vielen dank|willkommen|merci|bienvenue"
    r"|gracias|bienvenid\w+|спасибо|добро пожаловать)\b|(?:非常)?(?:感谢|谢谢|欢迎)",
    re.IGNORECASE,
)
_CELL_END = re.compile(r"(?<!\\)\|")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
# A title that tells what not to do, and an item that says so by itself.
_NEGATING_TITLE = regex(
    r"\b(?:don['’]?ts?|\w+n['’]t|not|no|never|cannot|avoid\w*|forbid\w*|prohibi\w*|disallowed|taboos?"
    r"|bad|wrong|anti-?patterns?|nicht|nie|niemals|kein\w*|verboten\w*|vermeide\w*|unzulässig"
    r"|ne|pas|jamais|interdi\w*|évite[rz]?|nunca|evita\w*|не|нельзя|никогда|запре\w*|избега\w*)\b"
    r"|禁止|禁忌|不要|不得|不能|不可|避免|切勿|请勿|しない|금지",
    re.IGNORECASE,
)
_PROHIBITION = regex(
    r"\W*(?:(?:please|bitte|we|you|wir) )*(?:don['’]?t|do not|never|avoid|no|nicht|nie|niemals"
    r"|kein\w*|vermeide\w*|ne|jamais|évite[rz]?|nunca|evita[r]?|не|нельзя|никогда|избега\w*)\b"
    r"|(?:\W*\w+){1,2} (?:must|should|may|shall)(?: not|n['’]t)\b"
    r"|\W*(?:禁止|不要|不得|不能|不可|避免|切勿|请勿)",
    re.IGNORECASE,
)
_MIXED_TITLE = regex(
    r"\b(?:do['’]?s?|good|allowed|erlaubt)\W+(?:(?:and|or|vs|und)\W+)?(?:don['’]?t|bad|forbid|verbot)",
    re.IGNORECASE,
)
_RULES_TITLE = regex(
    r"\b(?:rules?|conventions?|guidelines?|standards?|principles|dos?|always"
    r"|regeln|konventionen|richtlinien|vorgaben|grundsätze|règles|consignes|reglas|normas|convenciones"
    r"|правила|соглашения|требования|стандарты|принципы)\b"
    r"|规则|規則|规范|規約|约定|准则|原则|要求|注意事项|ルール|規範|방침|규칙",
    re.IGNORECASE,
)
_IMPERATIVE = regex(
    r"(?:please )?(?:add|analyze|apply|ask|avoid|be|check|choose|commit|configure|confirm|consider"
    r"|create|declare|define|delete|demonstrate|document|do|don['’]t|enable|encapsulate|ensure|explain"
    r"|extract|favor|focus on|follow|format|generate|group|handle|implement|include|install"
    r"|integrate|keep|leave|leverage|limit|log|maintain|make|mark|minimize|monitor|move|name"
    r"|optimize|organize|pin|place|prefer|prioritize|provide|put|read|reduce|refactor|register"
    r"|rely on|remove|replace|respect|restrict|return|reuse|run|separate|set|show|sort|split|start"
    r"|store|suggest|test|treat|update|use|utilize|validate|verify|wrap|write"
    r"|(?:verwende|nutze|benutze|schreibe?|führe|halte|prüfe|achte|vermeide|füge|lösche?|keine?[nrms]?"
    r"|utilise[rz]?|évite[rz]?|écri[srv]e?[rz]?|usa|usar|evita|evitar|escribe|não|no uses?)"
    r"|(?:используйте?|пишите?|запускайте?|проверяйте?|избегайте?|добавляйте?|не \w+|нельзя))\b"
    r"|(?:请|請|使用|避免|不要|不得|禁止|必须|确保|保持|优先|尽量|遵循|编写|添加|运行|检查|提交前)",
    re.IGNORECASE,
)
_BOILERPLATE = regex(
    r"(?:attribution|license|licence|credits|acknowledge?ments?|contributors|authors|sponsors"
    r"|(?:table of )?contents|code of conduct|contact|questions\??|support|lizenz|danksagung(?:en)?"
    r"|mitwirkende|inhalt(?:sverzeichnis)?|лицензия|авторы|благодарности|содержание|许可证?|致谢|目录"
    r"|贡献者|ライセンス|謝辞|目次)$",
    re.IGNORECASE,
)
_STOCK_SENTENCE = regex(r"^This file (?:provides|gives) guidance to .{0,120}$", re.MULTILINE)
_POINTER = regex(
    r"@[\w./~-]+"
    r"|(?:please )?(?:see|read|refer to|follow|use|siehe|voir|ver)\b.{0,60}?"
    r"[\w./-]+\.(?:md|mdc|txt)\b.{0,80}"
    r"|[^\n]{0,80}\b(?:AGENTS|CLAUDE|GEMINI|CONTRIBUTING|copilot-instructions)\.md(?![\w/]).{0,80}",
    re.IGNORECASE,
)

SectionKind = Literal["rules", "how-to", "notes", "boilerplate", "empty"]


class DocumentSection(NamedTuple):
    """A section of a document. Its structure decides its kind."""

    title: str
    text: str
    kind: SectionKind


def is_instruction_file(path: str) -> bool:
    """Return True for instructions to agents, such as CLAUDE.md or .cursor/rules/a.mdc."""
    return _INSTRUCTION_FILE.search(path) is not None


def is_document(path: str) -> bool:
    """Return True for a file with rules and how-tos, for agents or for people."""
    return is_instruction_file(path) or _GUIDE.search(path) is not None


def clean_text(text: str) -> str:
    """Remove comments, the block of skillvault and stock sentences from a text."""
    return _STOCK_SENTENCE.sub("", _remove_comments(managed_block.without_block(text)))


def _remove_comments(text: str) -> str:
    parts: list[str] = []
    start = position = 0
    while match := _COMMENT_OR_CODE.search(text, position):
        position = match.end()
        if match[0] != "<!--":
            continue
        end = text.find("-->", position)
        if end < 0:  # no later comment ends either
            break
        parts.append(text[start : match.start()])
        start = position = end + len("-->")
    return "".join([*parts, text[start:]])


def find_pointer(text: str) -> str | None:
    """Return the first line of a page that only points to other files, or None."""
    lines = [line.strip("-*> \t") for line in text.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]
    return lines[0] if lines and all(map(_POINTER.fullmatch, lines)) else None


def split_sections(text: str) -> Iterator[DocumentSection]:
    """Yield the sections of a text."""
    for section in markdown.sections(text):
        title = section.heading or next(iter(markdown.titles(section.text)), "")
        yield DocumentSection(title, section.text, _kind_of(title, section.text))


def find_rules(section: DocumentSection) -> list[str]:
    """Return the rules of a section: each item of a list, and each sentence that states one.

    A heading or a line before a list that says what not to do is put before each rule of it,
    unless the rule is a prohibition by itself.
    """
    rules: list[str] = []
    part = lead = ""
    for block in markdown.blocks(section.text):
        if headings := markdown.headings(block):
            part, lead = headings[0], ""
            continue
        is_item = _ITEM.match(block) is not None
        statements = [("", _ITEM.sub("", block))] if is_item else _statements_of(block)
        if not is_item:
            _, line = (statements or [("", block)])[-1]  # an emphasised line alone is no sentence
            lead = line if not statements or _introduces_list(line) else ""
        for column, statement in statements:
            titles = (title.strip("*_:：. \n") for title in (column, lead, part, section.title))
            prefix = next((f"{t}: " for t in titles if _is_negating(t)), "")
            rule = " ".join(statement.split())
            if rule.strip("*_`: ") and (is_item or _is_rule(rule)):
                rules.append(rule if _PROHIBITION.match(rule) else prefix + rule)
    # A list of dos and don'ts that does not tell them apart gives nothing.
    is_unclear = _MIXED_TITLE.search(section.title) and not any(map(_NEGATING_TITLE.search, rules))
    return [] if is_unclear else rules


def _statements_of(block: str) -> list[tuple[str, str]]:
    """Return the sentences of a block, or the rules of a table, each with its column's heading.

    Other cells of a row stand behind the rule in parentheses.
    """
    if not block.lstrip().startswith("|"):
        return [("", sentence) for sentence in markdown.statements(block)]
    columns, *rows = [
        [cell.strip() for cell in _CELL_END.split(line.strip().strip("|"))]
        for line in block.strip().splitlines()
    ]
    statements: list[tuple[str, str]] = []
    for row in rows:
        row_start = len(statements)
        for column, cell in zip(columns, row, strict=False):
            if _is_rule(cell):
                statements.append((column, cell))
            elif len(statements) > row_start and re.search(r"\w", cell):
                statements[-1] = (statements[-1][0], f"{statements[-1][1]} ({cell})")
    return statements


def _is_negating(title: str) -> bool:
    return bool(_NEGATING_TITLE.search(title)) and not _MIXED_TITLE.search(title)


def _introduces_list(text: str) -> bool:
    return text.strip("*_ ").endswith((":", "："))


def _kind_of(title: str, text: str) -> SectionKind:
    if _BOILERPLATE.fullmatch(title.strip(" :*")):
        return "boilerplate"
    blocks = _blocks_of(text)
    if not any(re.search(r"\w", block) for block in blocks):
        return "empty"
    steps = [_ITEM.sub("", block) for block in blocks if _NUMBERED_STEP.match(block)]
    rule_count = sum(states_rule(step) and not _COMMAND.fullmatch(step.strip()) for step in steps)
    if _CODE_FENCE.search(text) or (len(steps) > 1 and 2 * rule_count <= len(steps)):
        return "how-to"
    items = [block for block in blocks if _ITEM.match(block)]
    candidates = items or [text for block in blocks for _, text in _statements_of(block)]
    count = sum(_is_rule(_ITEM.sub("", candidate)) for candidate in candidates)
    is_titled = _RULES_TITLE.search(title) or _NEGATING_TITLE.search(title)
    return "rules" if (items and is_titled) or 2 * count > len(candidates) else "notes"


def _blocks_of(text: str) -> list[str]:
    return [block for block in markdown.blocks(text) if not block.lstrip().startswith("#")]


def _is_rule(text: str) -> bool:
    plain = text.strip("*_ ")
    if _introduces_list(plain) or _COURTESY.match(plain):
        return False
    return _IMPERATIVE.match(plain) is not None or states_rule(plain)
