"""Technical tokens: URLs, e-mail addresses, paths, error codes and identifiers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ricordo.consolidation.atoms.atom import Atom, AtomKind, fold
from ricordo.consolidation.atoms.lexicon import word_set
from ricordo.consolidation.atoms.numbers import is_quantity, is_unit

LONGEST_TOKEN = 300
"""A run of characters longer than this is a blob (base64, minified code), not a token that a summary repeats."""

_EXTENSIONS = word_set(
    "py pyi ipynb js jsx mjs ts tsx rs go java kt c h cc cpp hpp cs rb php swift scala sh bash zsh ps1 bat sql html "
    "htm css scss json jsonl yaml yml toml ini cfg conf env lock xml csv tsv txt md rst tex log pdf doc docx xls xlsx "
    "ppt pptx odt png jpg jpeg gif svg webp mp3 mp4 wav zip tar gz tgz bz2 xz 7z whl parquet db sqlite pem key crt bak "
    "patch diff traj"
)
_URL = re.compile(r"(?:https?|ftp|wss?|s3|postgres(?:ql)?|file)://[^\s<>\"'“”«»`|\\^{}]++", re.IGNORECASE)
_SCHEME = re.compile(r"^[a-z0-9]+://(?:www\.)?")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,5}[A-Za-z]{2,24}\b")
_WINDOWS = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z]:\\|\\\\[A-Za-z][\w.-]{1,60}\\(?=\w))[\w.\\$~+-]{0,300}")
_IN_TOKEN = "[A-Za-z0-9_À-ɏ@#~./+:=&$%-]"
_ORDINARY = r"(?!(?i:docker|make)file)[A-Za-zÀ-ɏ][a-zÀ-ɏ-]*+[.:]?|[0-9]++"
"""A word without inner capitals, or a figure: neither is a token of any kind."""

_CHUNK = re.compile(rf"(?<!{_IN_TOKEN})(?!(?:{_ORDINARY})(?!{_IN_TOKEN}|\(\))){_IN_TOKEN}++(?:\(\))?")
_PART = re.compile(r"(?:::|[^=&:])+")
_EDGES = ".,:;=&+$/%-#"
_DOMAIN = re.compile(
    r"(?:[a-z0-9-]+\.)+(?:(?:com|org|net|io|it|dev|ai|eu|uk|de|fr|edu|gov)(?:/.*)?|[a-z]{2,6}/.+)", re.IGNORECASE
)
_ABSOLUTE = re.compile(r"(?:~|\.{1,2})?(?:/[\w.@+~=-]+)+/?")
_RELATIVE = re.compile(r"[\w.@+-]+(?:/[\w.@+-]+)+/?")
_FILE = re.compile(rf"[\w.+-]*\w\.(?:{'|'.join(sorted(_EXTENSIONS))})|\.env|Dockerfile|Makefile", re.IGNORECASE)
_ROOTS = re.compile(
    r"(?:src|lib|apps?|tests?|docs?|bin|etc|usr|var|home|tmp|opt|packages|scripts|data)/", re.IGNORECASE
)
_ERROR_NAME = re.compile(
    r"(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Warning|Fault)|ERR_\w+|E\d{3,5}|SIG[A-Z]{3,5}|E[A-Z]{2,4}(?:CONN|ADDR|HOST|NET)\w*"
    r"|ECONN\w+|ENOENT|EACCES|EPERM|EPIPE|ETIMEDOUT|ORA-\d+|0x[0-9A-Fa-f]{6,}"
)
_ERROR_CODE = re.compile(
    r"\b(?:HTTP|error|errore|errno|sqlstate|exit|status|stato|codice)"
    r"(?:[ ](?:code|codice|status|errore|error|di|stato)){0,2}"
    r"[ ]?[:#=]?[ ]?(?P<code>[A-Z]{0,4}-?\d[\dA-Z]{1,5})(?!\w|\.\d)",
    re.IGNORECASE,
)
_STATUS_FIRST = re.compile(
    r"(?P<code>[45](?<![\w.,]\d)\d\d)[ ](?:error|errore|status|response|not found|internal)\b", re.IGNORECASE
)
_NAMED_THING = re.compile(
    r"\b(?:project|branch|repo|repository|bucket|queue|topic|cluster|namespace|slot|service|table|database|image|package"
    r"|module|container|host|tag|progetto|ramo|tabella|servizio)\s(?P<name>[a-z]\w*(?:-\w+)+)(?!\w)"
)
_CAMEL = re.compile(r"[a-z]{1,40}[A-Z]\w*|[A-Z][a-z]{1,40}[A-Z]\w*|[A-Z]{2,20}[a-z]\w*[A-Z]\w*|[A-Z]{2,}[a-z]{2,}\w*")
_DOTTED = re.compile(r"[A-Za-z_]\w+(?:\.[A-Za-z_]\w+)+")
_ABBREVIATION = re.compile(r"\w+\.(?:ssa|ra|na|mo|ma|le|so|ri|ss)", re.IGNORECASE)
_VERSION = r"(?!\d{1,3}(?:\.\d{3})+$)\d+(?:\.\d+){2,}\w*|v\d+(?:\.\d+)*"
_SYMBOLS = re.compile(rf"{_VERSION}|@\w[\w.-]*|\w+(?:::\w+)+", re.IGNORECASE)
_BRANCH = re.compile(r"(?:fix|feat|feature|bugfix|hotfix|release|chore|refactor|origin|upstream)/[\w./#-]+")
_REFERENCE = re.compile(r"[A-Z]{1,6}[-/]?\d[\w-]*/[\w-]+(?:/[\w-]+)*|\d+/\d+-\w+|[A-Z]{1,6}(?:/\d+){1,4}")
_SOFT_PREFIX = re.compile(r"(?:mid|pre|post|sub|non|early|late|over|under|top)-(?=\d)", re.IGNORECASE)
_PLAIN_FIGURE = re.compile(r"[#$]?\d+(?:[-/.,:x]\d+)*[%€$]?", re.IGNORECASE)
_DECADE = re.compile(r"\d{2,4}s|'?\d0s")


def addresses(text: str) -> Iterator[Atom]:
    """Yield the URLs and e-mail addresses of a text."""
    for match in _URL.finditer(text) if "://" in text else ():
        yield _atom("url", match.group().rstrip(".,;:!?)]*'"), match.start())
    for match in _EMAIL.finditer(text) if "@" in text else ():
        yield _atom("url", match.group(), match.start())


def find(text: str) -> Iterator[Atom]:
    """Yield error codes, then paths and identifiers; where two overlap, the first one counts."""
    for match in _WINDOWS.finditer(text) if "\\" in text else ():
        written = match.group().rstrip(".\\")
        if len(written) > 3:
            yield _atom("path", written, match.start())
    for pattern in (_ERROR_CODE, _STATUS_FIRST):
        for match in pattern.finditer(text):
            yield Atom("error", match.group(), fold(match["code"]), match.start(), match.end())
    for match in _NAMED_THING.finditer(text):
        yield _atom("identifier", match["name"], match.start("name"))
    for match in _CHUNK.finditer(text):
        yield from _chunk(match.group(), match.start())


def _chunk(chunk: str, start: int) -> Iterator[Atom]:
    """Yield what a run without spaces holds: one token, or several joined by "=", "&", ":" or a line number."""
    if len(chunk) > LONGEST_TOKEN:
        return
    for part in _PART.finditer(chunk):
        token, offset = _trimmed(part.group())
        kind = _kind(token)
        if kind:
            yield _atom(kind, token, start + part.start() + offset)


def _trimmed(part: str) -> tuple[str, int]:
    lead = len(part) - len(part.lstrip(".,:;=&+$%")) if not part.startswith(("./", "../", ".env")) else 0
    token = part[lead:].rstrip(_EDGES)
    if token.startswith(("-", "#")) and not token.startswith("--"):
        lead, token = lead + 1, token[1:]
    soft = _SOFT_PREFIX.match(token)
    return (token[soft.end() :], lead + soft.end()) if soft else (token, lead)


def _kind(token: str) -> AtomKind | None:
    if len(token) < 2 or token.isdigit() or is_unit(token):
        return None
    if _DOMAIN.fullmatch(token):
        return "url"
    if _is_path(token):
        return "path"
    if _ERROR_NAME.fullmatch(token):
        return "error"
    return "identifier" if _is_identifier(token) else None


def _is_path(token: str) -> bool:
    if _FILE.fullmatch(token):
        return True
    if "/" not in token:
        return False
    if _ABSOLUTE.fullmatch(token):
        return True
    return bool(_RELATIVE.fullmatch(token)) and bool(_FILE.fullmatch(token.rsplit("/", 1)[-1]) or _ROOTS.match(token))


def _is_identifier(token: str) -> bool:
    if token.startswith("--"):
        return len(token) > 3 and token[2].isalpha()
    if token.endswith("()") or _SYMBOLS.fullmatch(token):
        return True
    if _PLAIN_FIGURE.fullmatch(token) or is_quantity(token) or _DECADE.fullmatch(token):
        return False
    if "/" in token:
        return bool(_BRANCH.fullmatch(token) or _REFERENCE.fullmatch(token))
    return any(map(str.isalpha, token)) and _is_technical(token)


def _is_technical(word: str) -> bool:
    """Whether a word is built as no ordinary word is: with digits, underscores, inner capitals or inner dots."""
    if any(map(str.isdigit, word)) or "_" in word.strip("_") or _CAMEL.fullmatch(word):
        return True
    return bool(_DOTTED.fullmatch(word)) and not _ABBREVIATION.fullmatch(word)


def _atom(kind: AtomKind, written: str, start: int) -> Atom:
    return Atom(kind, written, _key(kind, written), start, start + len(written))


def _key(kind: AtomKind, written: str) -> str:
    key = fold(written)
    if kind == "url":
        return _SCHEME.sub("", key).rstrip("/")
    if kind == "path":
        return key.replace("\\", "/").removeprefix("./").rstrip("/")
    return key.removesuffix("()")
