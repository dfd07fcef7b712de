"""Find the subject of a prompt: the requested action, and the target, such as a file.

The action comes from the requests of the task. The target comes from names in the task, or else
from the edited files. The folder, branch and model are common to all prompts, so never a subject.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from skillvault.model.lazy import regex

_FLAGS = re.IGNORECASE
_MAX_OPENING = 1000  # characters of a prompt in which its subject is searched
OTHER_ACTION = "work"
_MAX_TARGET = 60  # characters

# ── actions ──────────────────────────────────────────────────────────────────────────

# The verbs of each action, in the imperative.
_VERBS: Mapping[str, str] = {
    "undo": r"undo|revert|roll (?:it |that |this )?back|take (?:it |that |this )?back|back out",
    "fix": r"(?:hot)?fix|debug|repair|mend|correct|solve|resolve|unbreak|handle|prevent",
    "optimize": r"speed up|optimi[sz]e|accelerate|reduce|shrink",
    "upgrade": r"upgrade|bump|downgrade|pin|update",
    "migrate": r"migrate|port|convert|switch|transition",
    "deploy": r"deploy|release|publish|ship|roll (?:it |that |this )?out|promote",
    "test": r"test|cover|benchmark",
    "document": r"document|docs?",
    "refactor": r"refactor|rename|clean ?(?:\w+ )?up|simplify|extract|move|split|restructure"
    r"|reorgani[sz]e|inline|dedup\w*|reformat|format|tidy|rewrite|unify|merge",
    "remove": r"remove|delete|drop|get rid of|take out|take (?:\w+ ){1,3}out|strip|disable",
    "add": r"add|implement|create|write|build|introduce|support|generate|enable|allow|export|expose"
    r"|set up|install|scaffold|extend|include|log|show|validate|cache|retry|integrate|draft",
    "change": r"change|improve|adjust|tweak|raise|lower|increase|decrease|set|use|replace|configure"
    r"|make|let|turn|get|apply|put|limit|round|sort|return|pass|keep|mark|wrap",
    "commit": r"commit|push|rebase|cherry-pick|tag|open (?:a |the )?(?:pr|pull request)",
    "review": r"review|explain|describe|look|find|check|analy[sz]e|investigate|inspect|read|search"
    r"|list|count|compare|tell|summari[sz]e|audit|reproduce|see|understand|verify|research|plan"
    r"|profile|measure|run|try|start|execute|walk|give|show me|what|why|how|where|which|who"
    r"|is|are|does|do|did|has|was",
}
_VERB_CUES = tuple(
    (name, re.compile(rf"(?:{cue})\b(?!['’])", _FLAGS)) for name, cue in _VERBS.items()
)
# Actions that only look or follow another action: any other action of the prompt counts first.
WEAK_ACTIONS = frozenset({"review", "commit", "change"})
_QUESTION = regex(
    r"\s*(?:(?:can|could|would) you (?:please )?(?:explain|tell me|describe|see why|find out)"
    r"|what|why|how (?!about)|where|which|who|when|is there|are there|do we|does|did"
    r"|explain|describe)\b",
    _FLAGS,
)
# The words with which a request may begin.
_LEAD = regex(
    r"(?:[\W_]+|(?:please|pls|plz|kindly|can|could|would|will|you|we|i|i'd|i’d|i'll|we'll|like|love"
    r"|want|wanna|need|needs|must|should|have|to|let's|let’s|lets|me|us|now|also|first|then|next"
    r"|just|again|quickly|finally|instead|go ahead and|go and|try to|try and|help me|help|start by"
    r"|ok|okay|great|perfect|nice|thanks|thank you|good|cool|hey|hi|hello|and|but|so|too|yes|no"
    r"|nope|wrong|hmm+|actually|well|maybe|do not|don['’]t|never|always|still"
    r"|your (?:task|job) is to|the (?:task|goal) is to|be able to"
    r"|it would be (?:nice|great) (?:if you could|to)|time to|todo)\b)+",
    _FLAGS,
)
_CLAUSE = regex(r"[!?;:\n—–]+|\.(?=\s|$)|,(?=\s)|\s+(?:and|then|but|so|because)\s+|\s-\s", _FLAGS)
# Requests whose object says more of the action than their verb: (verbs, request, action).
_ARTICLES = (
    r"(?:(?:an?|the|some|more|another|missing|unit|integration|regression|e2e|end-to-end|failing"
    r"|few|proper|new) )*"
)
_OBJECTS = (
    (
        {"change"},
        (
            r"(?:make|get|let|keep)\b.*\b(?:pass|work(?:s|ing)?|green|compiles?|builds?|runs?"
            r"|stable|clean(?! ?up))\b"
        ),
        "fix",
    ),
    ({"change"}, r".*\b(?:faster|quicker|less (?:memory|time)|performance)\b", "optimize"),
    (
        {"add", "change"},
        rf"\w+ (?:\w+ )?{_ARTICLES}(?:tests?(?! fixtures?| runner| settings)|coverage|specs?)\b",
        "test",
    ),
    (
        {"add", "change", "upgrade"},
        (
            r"\w+ (?:\w+ ){0,4}?(?:docs?|documentation|readme|changelog|docstrings?|comments?"
            r"|release notes|guide)\b"
        ),
        "document",
    ),
    ({"add"}, r"\w+ (?:an?|the|another) (?:\w+ )?migrations?\b", "migrate"),
)
_OBJECT_CUES = tuple((verbs, regex(cue, _FLAGS), action) for verbs, cue, action in _OBJECTS)
# A word that is a verb elsewhere, as the subject of a sentence: "export fails".
_SUBJECT_VERB = regex(
    r"\s+(?:\w+\s+)?(?:is|are|was|were|fails?|failed|do|does|doesn|did|crash\w*|hangs?|broke|breaks"
    r"|shows|has|keeps|still|never|takes?|took|runs|ran|now|again|works?)\b",
    _FLAGS,
)
_WISH = regex(r"[\w\s’',]*\b(?:need|want|like|love)\s+(?=(?:an?|some|another) )", _FLAGS)
_NOUNS = (
    (re.compile(r"(?:an?|some|more) (?:\w+ ){0,2}tests?\b", _FLAGS), "test"),
    (re.compile(r"(?:an?|the|another) (?:\w+ ){0,2}migration\b", _FLAGS), "migrate"),
    (re.compile(r"(?:an?|some|more) (?:\w+ ){0,3}(?:documentation|docs?)\b", _FLAGS), "document"),
)
# Something is not as it should be.
_SYMPTOM = regex(
    r"\b(?:fail(?:s|ed|ing|ures?)?|broken?|breaks|broke|crash(?:es|ed|ing)?|bugs?|buggy|errors?|red"
    r"|flaky|wrong|incorrect(?:ly)?|not (?:work|clean|good|right|correct|run)\w*|hangs?|leaks?"
    r"|(?:does|did|is|are|was|can|could|will|would)(?:n['’]?t| not)|cannot|can['’]?t"
    r"|no longer|missing|regression|twice|stuck|exceptions?|traceback|conflicts?|typos?)\b"
    r"|\w(?:Error|Exception)\b|\bpass again\b|\bshould (?:pass|work|compile)\b",
    _FLAGS,
)
_SLOWNESS = regex(r"\b(?:slow|takes? (?:too long|forever|\d+ ?(?:s|sec\w*|min\w*)\b))", _FLAGS)
_PAST_VERB = re.compile(r"(?:I |we )?(\w{2,}ed)\b", _FLAGS)
_CODE_BLOCK = re.compile(r"```.*?(?:```|\Z)|^\s*>.*$", re.DOTALL | re.MULTILINE)


def action_of(task: str) -> str:
    """Return the action that a task asks for, which is one of a few fixed words."""
    text = _CODE_BLOCK.sub(" ", task)[:_MAX_OPENING]
    clauses = list(_requests(text))
    requests = [action for action in clauses if action]
    specific_actions = [action for action in requests if action not in WEAK_ACTIONS]
    if specific_actions[:1] == ["test"] and "fix" in specific_actions:
        return "fix"  # the test is to show the bug
    if specific_actions:
        return specific_actions[0]
    if clauses[:1] == ["change"]:
        return "change"
    is_question = bool(_QUESTION.match(_strip_lead(text)))
    if not is_question and any(cue.search(text) for cue in (_SLOWNESS, _SYMPTOM, _ERROR)):
        return "optimize" if _SLOWNESS.search(text) else "fix"
    return requests[0] if requests else "review" if is_question else OTHER_ACTION


def action_of_deed(deed: str) -> str:
    """Return the action of a deed in the past tense, such as `I raised the timeout`."""
    verb = _PAST_VERB.match(deed)
    if verb:
        object_text = deed[verb.end() :]
        # `raised`, `added` and `dropped` lose one, two and three letters.
        actions = [action_of(verb[1][:-count] + object_text) for count in (1, 2, 3)]
        return next((action for action in actions if action != OTHER_ACTION), OTHER_ACTION)
    return action_of(deed)


def _requests(text: str) -> Iterator[str | None]:
    """Yield the action of each clause of a text, None for a clause without a request."""
    for clause in _CLAUSE.split(text):
        request = _strip_lead(clause)
        named_actions = (action for noun, action in _NOUNS if noun.match(request))
        action = _verb_action(request) or next(named_actions, None)
        if action is None and _WISH.match(clause):
            action = "add"
        if request.strip():
            yield action


def _strip_lead(clause: str) -> str:
    lead = _LEAD.match(clause)
    return clause[lead.end() :] if lead else clause


def _verb_action(request: str) -> str | None:
    for name, cue in _VERB_CUES:
        match = cue.match(request)
        tail = request[match.end() :] if match else ""
        if match and (name in WEAK_ACTIONS or not _SUBJECT_VERB.match(tail)):
            objects = (
                action
                for verbs, cue, action in _OBJECT_CUES
                if name in verbs and cue.match(request)
            )
            return next(objects, name)
    return None


# ── a task that goes on ──────────────────────────────────────────────────────────────

_OPENERS = (
    r"(?:(?:ok|okay|yes|yep|yeah|sure|please|pls|alright|right|great|good|fine|perfect|now|and|then"
    r"|so|just|you can|can you|could you|ja|dann|bitte|sí|si|oui)\b[,.!]*\s*)*"
)
_CONTINUATION_WORDS = (
    r"(?:continue|go on|go ahead|go for it|carry on|keep (?:going|at it|working)|proceed|resume"
    r"|do (?:it|that|so)|(?:finish|complete)(?: (?:it|that|this|up|the (?:rest|job|task|work)))?"
    r"|try (?:it )?(?:again|once more)|one more time|next step|the rest|pick up where you left off"
    r"|weiter(?:machen)?|mach(?: bitte)? weiter|fortfahren|continuez?|vas-y|poursuis|sigue|continúa"
    r"|adelante|prosigue|continua|继续|接着(?:做|来)?|続けて|продолжай|계속)"
    r"(?: (?:please|with (?:it|that|this|the (?:rest|task|plan|work))|then|now|from there|bitte|吧"
    r"|the (?:task|work)|where you left off|until (?:it|they|the \w+|all|everything) .{1,40}))*"
)
# A prompt that only asks to go on with the task.
_CONTINUATION = regex(
    rf"\W*(?:{_OPENERS}{_CONTINUATION_WORDS}"
    r"|(?:yes|yep|yeah|sure|ja|sí|oui|y)(?:[,.! ]+(?:please|do|bitte|por favor))?)\W*",
    _FLAGS,
)
# Another part of it, without a verb: "now the tests too".
_OTHER_PART = regex(
    r"\W*(?:ok(?:ay)?[,.]? )?(?:and |now |then |also )+(?:the(?! same)|its|their|for the"
    r"|with the|in the|on the)(?: [\w.-]+){1,4}?(?: too| as well| also| next)?\W*",
    _FLAGS,
)
_STATEMENT = regex(
    r"\b(?:is|are|was|were|has|have|does|do|did|\w+ed|crash\w*|shows?|says?)\b", _FLAGS
)
_MAX_CONTINUATION = 100  # characters


def continues_task(text: str, task: str, *, is_interrupted: bool) -> bool:
    """Return True if a prompt only continues the task of the earlier prompt.

    The same words again continue a task that was interrupted.
    """
    if is_interrupted and text.split() == task.split():
        return True
    if len(text) > _MAX_CONTINUATION:
        return False
    is_part = _OTHER_PART.fullmatch(text) and not (_SYMPTOM.search(text) or _STATEMENT.search(text))
    return bool(_CONTINUATION.fullmatch(text) or is_part)


# ── targets ──────────────────────────────────────────────────────────────────────────

_NAME = r"@?[A-Za-z][\w-]*(?:[./][\w-]+)*"
_VERSION = r"v?\d+(?:\.\w+)*"
_VERSION_SEPARATOR = r"(?:\s*(?:==|>=|~=|@|\^)\s*|\s+(?:(?:from|to|version|v)\s+){0,2})"
_UPGRADE = (
    r"(?:upgrad|updat|downgrad|bump|migrat|switch|port|mov|convert|transition|pin|install|add)"
    r"(?:e|es|ed|ing|ion|ions|ping|ning|s|ted|ting)?"
)
# A package: after the verb, or before a version.
_PACKAGE = (
    regex(
        rf"\b{_UPGRADE}\b[^.;:!?\n]{{0,60}}?\bfrom {_NAME}(?: {_VERSION})? to (?P<name>{_NAME})",
        _FLAGS,
    ),
    regex(
        rf"\b{_UPGRADE}(?:\s+(?:of|to|from|all|the|our|we|it|over|up|on))*\s+(?P<name>{_NAME})"
        rf"(?={_VERSION_SEPARATOR}{_VERSION}\b|\s+(?:package|library|dependency)\b)",
        _FLAGS,
    ),
    regex(
        r"\b(?:(?:upgrad|downgrad|bump|pin|install)(?:e|ed|ing|ping|ped|ned)?(?:\s+to)?"
        rf"|(?:upgrade|update|migration|move|switch)\s+(?:of|to))\s+(?P<name>{_NAME})",
        _FLAGS,
    ),
    regex(rf"(?P<name>{_NAME})(?:@|==|>=|~=|\s+v?)\d+\.\d+(?:\.\w+)*\b", _FLAGS),
)
# Words at the place of a package that name none.
_NO_PACKAGE_WORDS = frozenset(
    "a an all and any are be by code database db dependencies dependency deps everything file files"
    " for from http in is it latest lib libraries library max min new node_modules of on our over"
    " package packages page python's release schema server step tests the them this timeout to up"
    " version versions that with your data".split()
)
_ENDPOINT = re.compile(
    r"(?<![\w.~/\\:<-])/(?!(?:home|usr|tmp|etc|var|Users|opt|mnt|root|dev|workspace|app/src)\b)"
    r"[a-z][\w{}:.*-]*(?:/[\w{}:.*-]+)*"
)
_EXTENSIONS = (
    "py|pyi|tsx?|jsx?|mjs|cjs|go|rs|java|kts?|rb|php|cs|cc?|hh?|cpp|hpp|swift|scala|sql|sh|ya?ml|toml"
    "|ini|cfg|conf|json|md|rst|txt|html?|s?css|vue|svelte|tf|xml|gradle|proto|ipynb|ex|exs|lua|dart|env"
)
_FILE = regex(
    rf"(?<![\w/])(?:[\w.@-]*[/\\])*(?!(?:next|node|vue|express|three|d3|nuxt)\.js\b)"
    rf"(?P<name>[\w.-]*\w\.(?:{_EXTENSIONS})|Dockerfile|Makefile|Jenkinsfile|README|CHANGELOG)"
    r"(?![\w/(])",
    _FLAGS,
)
_ERROR = re.compile(
    r"\b[A-Z]\w*(?:Error|Exception|Warning|Violation)\b|\bTS\d{4}\b|\bE\d{4}\b"
    r"|\bE(?:CONN[A-Z]+|NOENT|ACCES|ADDR[A-Z]+|PIPE|TIMEDOUT)\b"
)
_TOOL = regex(
    r"\b(?:mypy|ruff|pytest|eslint|prettier|tsc|webpack|vite|jest|vitest|docker|docker-compose"
    r"|terraform|kubectl|helm|ansible|git|npm|pnpm|yarn|pip|uv|poetry|cargo|gradle|maven|celery"
    r"|redis|postgres\w*|mysql|sqlite|mongo\w*|nginx|kafka|github actions|gitlab ci|jenkins"
    r"|pre-commit|black|isort|flake8|pylint|clippy|storybook|playwright|cypress|sentry|s3|lambda)\b",
    _FLAGS,
)
_CODE_NAME = re.compile(
    r"`@?(?P<quoted>[A-Za-z_][\w.-]{2,40})(?:\(\))?`"
    r"|(?<![\w.])(?P<plain>[a-z]+_[a-z_\d]*[a-z\d]|(?!(?:Git(?:Hub|Lab)|(?:Java|Type)Script|Claude)\b)[A-Z][a-z\d]+(?:[A-Z][a-z\d]+)+)(?![\w.])"
)
_TEST_FILE = re.compile(
    r"(?:^|[/\\])(?:tests?|spec|__tests__)[/\\]|(?:^|[/\\])test_|[_.-](?:test|spec)\.|conftest"
)
# Files that change with others, and names that only their folder explains.
_MANIFEST = re.compile(
    r"(?:^|[/\\])(?:[\w.-]*lock(?:\.\w+)?|package-lock\.json|go\.sum|CHANGELOG(?:\.\w+)?"
    r"|requirements[\w.-]*|package\.json|pyproject\.toml|Cargo\.toml|go\.mod|pom\.xml)$",
    _FLAGS,
)
_PLAIN_NAME = re.compile(
    r"^(?:__init__|__main__|index|main|mod|lib|page|route|layout|models?|views?|urls|utils?|types"
    r"|README|SKILL)\.\w+$"
)
_SEPARATOR = re.compile(r"[/\\]")


def target_of(
    task: str, files: Mapping[str, int], *, error: str = "", tool: str = "", action: str = ""
) -> str | None:
    """Return the thing that a prompt is about, or None if nothing names it.

    `files` counts edits, `tool` is the last check, `error` the output of the last failed check.
    """
    text = _CODE_BLOCK.sub(" ", task)[:_MAX_OPENING]
    return (
        _package(text)
        or _first(_ENDPOINT, text.removeprefix("/"), "")
        or _first(_FILE, text, "name")
        or most_edited(files, with_tests=action == "test")
        or _first(_ERROR, text, "")
        or _code_name(text)
        or _first(_ERROR, error, "")
        or _first(_TOOL, text, "").lower()
        or tool
    )[:_MAX_TARGET] or None


def _first(pattern: re.Pattern[str], text: str, group: str) -> str:
    match = pattern.search(text)
    return match[group or 0].rstrip(".:") if match else ""


def _package(text: str) -> str:
    for pattern in _PACKAGE:
        for match in pattern.finditer(text):
            name = match["name"].rstrip(".,")
            if name.casefold() not in _NO_PACKAGE_WORDS and not _FILE.fullmatch(name):
                return name.casefold()
    return ""


def _code_name(text: str) -> str:
    match = _CODE_NAME.search(text)
    return (match["quoted"] or match["plain"]) if match else ""


def most_edited(files: Mapping[str, int], *, with_tests: bool) -> str:
    """Return the name of the most edited file, or of the first of several.

    Tests and manifests count only if nothing else was edited.
    """
    groups: Sequence[list[str]] = [
        [f for f in files if not _MANIFEST.search(f) and (with_tests or not _TEST_FILE.search(f))],
        [f for f in files if not _MANIFEST.search(f)],
        list(files),
    ]
    candidates = next(filter(None, groups), [])
    return _file_name(max(candidates, key=lambda f: files[f])) if candidates else ""


def _file_name(path: str) -> str:
    """Return the name of a file, with its folder if the name is a common one."""
    *folders, name = filter(None, _SEPARATOR.split(path))
    return f"{folders[-1]}/{name}" if folders and _PLAIN_NAME.match(name) else name
