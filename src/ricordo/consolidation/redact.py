"""Redaction: what a summariser must not see, so that no model, summary, recall key or embedding ever holds it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ricordo.consolidation.source import SourceMessage
from ricordo.errors import ConfigurationError

Redact: TypeAlias = Callable[[str], str]
"""A policy: takes the readable text of one message and returns what may be summarised of it."""

Accept: TypeAlias = Callable[[re.Match[str]], bool]

_MARKED = "[redacted"


@dataclass(frozen=True, slots=True)
class _Rule:
    """A kind of secret: the group `secret` of each accepted match is replaced.

    A text without any of the `hints`, in lower case, holds no match and is not searched.
    """

    kind: str
    pattern: re.Pattern[str]
    hints: tuple[str, ...] = ("",)
    accept: Accept = lambda _: True

    def applied(self, text: str) -> str:
        return self.pattern.sub(self._mark, text)

    def _mark(self, match: re.Match[str]) -> str:
        if _MARKED in match["secret"] or not self.accept(match):
            return match[0]
        start, end = (place - match.start() for place in match.span("secret"))
        return f"{match[0][:start]}{_MARKED} {self.kind or _kind_of(match['label'])}]{match[0][end:]}"


def redact_secrets(text: str) -> str:
    """Return a text in which each common secret is replaced by its kind, such as `[redacted api key]`.

    Recognised are keys and tokens by their issuers' prefixes, JSON Web Tokens, `Authorization` values, private keys
    (cut off ones too), passwords in URLs, what is assigned to a name such as `password` or `api_key` in prose, code,
    JSON or an environment, and payment card numbers with a valid check digit. All else stays as it is, and redacting
    again changes nothing. Takes time linear in the length of any text.
    """
    lowered = text.lower()
    for rule in _RULES:
        if any(hint in lowered for hint in rule.hints):
            text = rule.applied(text)
    return text


def redacted(messages: Sequence[SourceMessage], policy: Redact | None) -> Sequence[SourceMessage]:
    """Return the messages with their texts as the policy leaves them; raises ConfigurationError where it gives no text.

    What the policy itself raises is not caught: then nothing is summarised.
    """
    return messages if policy is None else [replace(one, text=_checked(policy(one.text))) for one in messages]


def _checked(text: object) -> str:
    if not isinstance(text, str):
        raise ConfigurationError(
            f"the redaction policy returned a {type(text).__name__}",
            hint="`redact` takes the text of a message and returns the text that may be summarised",
        )
    return text


# Issuers' prefixes: as each documents them, and as the secret scanners gitleaks and detect-secrets know them.
_PREFIXED: dict[str, dict[str, str]] = {
    "api key": {
        "sk-": r"sk-(?=[A-Za-z_-]*\d)[\w-]{16,}+",  # OpenAI, Anthropic, OpenRouter, DeepSeek
        "aiza": r"AIza[\w-]{30,}+",  # Google
        "_live_": r"[sr]k_live_[A-Za-z0-9]{10,}+",  # Stripe
        "_test_": r"[sr]k_test_[A-Za-z0-9]{10,}+",
        "whsec_": r"whsec_[A-Za-z0-9+/=]{16,}+",
        "sk": r"SK[0-9a-f]{32}",  # Twilio
        "sg.": r"SG\.[\w-]{16,}+\.[\w-]{16,}+",  # SendGrid
        "key-": r"key-[0-9a-f]{32}",  # Mailgun
        "-us": r"[0-9a-f]{32}-us\d{1,2}",  # Mailchimp
        "gsk_": r"gsk_[A-Za-z0-9]{20,}+",  # Groq
        "xai-": r"xai-(?=[A-Za-z_-]*\d)[\w-]{20,}+",
        "r8_": r"r8_[A-Za-z0-9]{20,}+",  # Replicate
        "pplx-": r"pplx-[A-Za-z0-9]{20,}+",  # Perplexity
        "nvapi-": r"nvapi-[\w-]{20,}+",
        "lin_api_": r"lin_api_[A-Za-z0-9]{20,}+",
        "ntn_": r"ntn_[A-Za-z0-9]{20,}+",  # Notion
    },
    "access key": {name.lower(): f"{name}[A-Z0-9]{{16,20}}" for name in ("AKIA", "ASIA", "ABIA", "ACCA")},  # Amazon
    "token": {
        "gh": r"gh[pousr]_[A-Za-z0-9]{20,}+",
        "github_pat_": r"github_pat_\w{20,}+",
        "gl": r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[\w.-]{16,}+",  # GitLab
        "xox": r"xox[a-z]-[A-Za-z0-9-]{10,}+",  # Slack
        "xapp-": r"xapp-\d-[A-Za-z0-9-]{10,}+",
        "hf_": r"hf_[A-Za-z0-9]{20,}+",
        "npm_": r"npm_[A-Za-z0-9]{30,}+",
        "pypi-": r"pypi-AgE[\w-]{16,}+",
        "ya29.": r"ya29\.[\w-]{20,}+",  # Google OAuth
        "gocspx-": r"GOCSPX-[\w-]{20,}+",
        ":aa": r"\d{8,10}:AA[\w-]{30,36}",  # Telegram
        "_v1_": r"do[opr]_v1_[0-9a-f]{40,}+",  # DigitalOcean
        "shp": r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",  # Shopify
        "dapi": r"dapi[0-9a-f]{32}",  # Databricks
        "hvs.": r"hvs\.[\w-]{20,}+",  # Vault
        "dp.pt.": r"dp\.pt\.[A-Za-z0-9]{30,}+",  # Doppler
        "sntry": r"sntry[us]_[\w=+/]{30,}+",
        "atatt": r"ATATT[\w=-]{50,}+",  # Atlassian
        "eyj": r"eyJ[\w-]{10,}+\.[\w-]{4,}+(?:\.[\w-]*+){0,3}",  # JSON Web Token, RFC 7519
    },
    "private key": {"age-secret-key-": r"AGE-SECRET-KEY-1[A-Z0-9]{50,}+"},
}

_KEY_BEGINS = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_KEY_ENDS = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_BREAK = r"(?:\s|\\{1,4}[nr]){1,4}+"
_WHOLE_KEY = rf"{_KEY_BEGINS}[^-]*+(?:-(?!----)[^-]*+)*+{_KEY_ENDS}"
_CUT_AT_ITS_END = (
    rf"{_KEY_BEGINS}(?:{_BREAK}[A-Za-z0-9+/]{{16,}}+={{0,2}})*+"
    # The rest of a last line, which stands by itself.
    rf"(?:{_BREAK}[A-Za-z0-9+/]{{1,15}}+={{0,2}}(?=[\r\n\\\"'`…]|\.{{3}}|\Z))?"
)
_CUT_AT_ITS_BEGINNING = (
    rf"(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/]{{16,80}}+={{0,2}}{_BREAK}){{1,64}}+"
    rf"(?:[A-Za-z0-9+/]{{1,15}}+={{0,2}}{_BREAK})?{_KEY_ENDS}"
)

_STRONG = (
    r"pass(?:word|wd|phrase|code)|pwd|secret(?:[_ -]?(?:access[_ -]?)?key)?|client[_ -]?secret|api[_ -]?key"
    r"|(?:account|service|private|signing|encryption|master)[_-]?key|(?:auth|access|refresh|bearer|api|bot)[_ -]?token"
    r"|credentials?|chiave (?:api|segreta|privata)"
)
_WEAK = r"token|jwt|auth|authorization|signature"
_QUOTE = r"\\{0,7}[\"'`]"
_VALUE = r"[^\s\"'`,;&<>(){}\[\]|\\]"
_NAMED = (
    rf"(?<!/)(?P<label>{_STRONG}|(?<![a-z0-9])(?P<weak>{_WEAK}))(?:[_-]?(?:value|old|new|confirm(?:ation)?|\d))?+"
    rf"(?:(?:{_QUOTE})?+\s{{0,3}}(?:=>|:=|(?::\s?\w{{1,20}}\s?)?={{1,3}}|:)\s{{0,3}}|(?P<prose> (?:is|was|è|era):? ))"
    r"(?P<scheme>(?:bearer|basic|token|apikey)\s{1,3})?+"
)

_UNTOLD = re.compile(
    r"[*xX.•#_…-]+|\$\w+|%\w+|%\(\w+\)s|[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+|none|null|nil|true|false|str(?:ing)?|bytes|int|bool|any"
    r"|optional|required|empty|missing|wrong|invalid|incorrect|correct|undefined|self|test|example|changeme"
    r"|\w{0,40}(?:password|passwd|secret|api_?key|token|credentials?)[a-z_]{0,40}",
    re.IGNORECASE,
)
"""Values that tell nothing: masks, variables, attributes, types, and names of what is assigned."""


def _is_assigned(match: re.Match[str]) -> bool:
    """Whether a bare value after a label is a secret rather than the next word of a sentence or of a program."""
    value, rest = match["secret"], match.string[match.end() : match.end() + 1]
    if _UNTOLD.fullmatch(value) or rest in ("(", "[") or (match["label"].lower() == "pwd" and value[0] in "/~"):
        return False
    if match["scheme"]:
        return True
    if match["weak"]:
        return _is_random(value)
    stands_alone = not match["prose"] and (rest in ("", "\n", "\r", *",;&\"'`}\\") or match[0][-len(value) - 1] in "=:")
    return stands_alone or _is_mixed(value)


def _is_quoted_secret(match: re.Match[str]) -> bool:
    value = match["secret"]
    return not _UNTOLD.fullmatch(value) and (not match["weak"] or bool(match["scheme"]) or _is_random(value))


def _is_random(value: str) -> bool:
    """Whether a value could be a generated one: 16 characters or more, with figures and letters, without spaces."""
    return len(value) >= 16 and _is_mixed(value) and not re.search(r"\s", value) and bool(re.search(r"\d", value))


def _is_mixed(value: str) -> bool:
    return bool(re.search(r"\d|[a-z][A-Z]|\w[^\w.'’-]+\w", value)) and bool(re.search(r"[^\W\d]", value))


def _is_authorisation(match: re.Match[str]) -> bool:
    """Whether what follows "Bearer" or "Basic" is a value: a random one, or in Base64 a name with a password."""
    value = match["secret"]
    if match["label"].lower() == "bearer":
        return _is_random(value)
    try:
        return b":" in base64.b64decode(value, validate=True)
    except binascii.Error:
        return False


_CARD_RANGES: tuple[tuple[int, int, frozenset[int]], ...] = (
    (4, 4, frozenset({13, 16, 19})),
    (51, 55, frozenset({16})),
    (2221, 2720, frozenset({16})),
    (34, 34, frozenset({15})),
    (37, 37, frozenset({15})),
    (300, 305, frozenset({14, 16, 19})),
    (36, 36, frozenset({14, 16, 19})),
    (38, 39, frozenset({14, 16, 19})),
    (3528, 3589, frozenset({16, 17, 18, 19})),
    (6011, 6011, frozenset({16, 19})),
    (644, 659, frozenset({16, 19})),
    (62, 62, frozenset({16, 17, 18, 19})),
    (5018, 5038, frozenset(range(13, 20))),
    (6304, 6763, frozenset(range(13, 20))),
)
"""First digits and lengths: Visa, Mastercard, American Express, Diners, JCB, Discover, UnionPay, Maestro."""


def _is_card(match: re.Match[str]) -> bool:
    """Whether digits are a payment card's: an issuer's range and length (ISO/IEC 7812) and the check digit (Luhn)."""
    digits = [int(c) for c in match["secret"] if c.isdigit()]
    ranged = any(
        low <= int("".join(map(str, digits[: len(str(low))]))) <= high and len(digits) in lengths
        for low, high, lengths in _CARD_RANGES
    )
    doubled = (sum(divmod(2 * digit, 10)) for digit in digits[-2::-2])
    return ranged and (sum(digits[::-2]) + sum(doubled)) % 10 == 0


def _kind_of(label: str) -> str:
    label = label.lower()
    kinds = {"pass": "password", "pwd": "password", "api": "api key", "private": "private key", "secret": "secret"}
    named = next((kind for part, kind in kinds.items() if part in label), None)
    return named or ("token" if re.search("token|jwt|auth|signature", label) else "secret")


def _rule(kind: str, pattern: str, *hints: str, accept: Accept = lambda _: True, ignore_case: bool = False) -> _Rule:
    return _Rule(kind, re.compile(pattern, re.IGNORECASE if ignore_case else 0), hints or ("",), accept)


_LABEL_HINTS = ("pass", "pwd", "secret", "key", "token", "credential", "chiave", "jwt", "auth", "signature")
_GAP = r"[ \u00a0.-]"

_RULES = (
    _rule("private key", rf"(?P<secret>{_WHOLE_KEY}|{_CUT_AT_ITS_END}|{_CUT_AT_ITS_BEGINNING})", "private key"),
    *(
        _rule(kind, rf"(?<![\w-])(?P<secret>{pattern})(?![\w-])", hint)
        for kind, patterns in _PREFIXED.items()
        for hint, pattern in patterns.items()
    ),
    _rule(
        "password",
        r"://[^\s/:@\"'<>`]{0,100}:(?P<secret>[^\s/\"'<>`]{1,200})(?=@[\w\[.-])",
        "://",
        accept=lambda match: not _UNTOLD.fullmatch(match["secret"]),
    ),
    _rule("token", r"hooks\.slack\.com/(?:services|workflows)/(?P<secret>[\w/-]{20,200}+)", "hooks.slack.com"),
    _rule(
        "token",
        r"(?<![\w-])(?P<label>bearer|basic)\s{1,3}(?P<secret>[A-Za-z0-9._~+/-]{8,}+={0,2})",
        "bearer",
        "basic",
        accept=_is_authorisation,
        ignore_case=True,
    ),
    _rule(
        "",
        rf"{_NAMED}(?P<quote>{_QUOTE})(?P<secret>(?:(?!(?P=quote))(?:\\.|[^\n])){{1,500}})(?=(?P=quote))",
        *_LABEL_HINTS,
        accept=_is_quoted_secret,
        ignore_case=True,
    ),
    _rule(
        "",
        rf"{_NAMED}(?P<secret>{_VALUE}{{3,500}}(?<![.!?:]))",
        *_LABEL_HINTS,
        accept=_is_assigned,
        ignore_case=True,
    ),
    _rule(
        "",
        rf"(?<![\w-])--(?P<label>[\w-]{{0,30}}(?:{_STRONG}|{_WEAK}|pass))[ =](?P<secret>{_VALUE}{{3,500}}(?<![.!?:]))",
        "--",
        accept=lambda match: not _UNTOLD.fullmatch(match["secret"]) and not match["secret"].startswith("-"),
        ignore_case=True,
    ),
    _rule(
        "password",
        r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,100}:(?P<secret>[^\s\"']{2,200})",
        "curl",
    ),
    _rule(
        "card code",
        r"\b(?:cvv2?|cvc2?|card security code)(?: code| number)?(?: is|[\"']?\s?[:=])?\s?[\"']?"
        r"(?P<secret>\d{3,4})(?!\w)",
        "cv",
        "card security",
        ignore_case=True,
    ),
    _rule(
        "card number",
        rf"(?<![\w.+-])(?P<secret>\d{{4}}(?P<gap>{_GAP})(?:\d{{4}}(?P=gap)){{3}}\d{{3}})(?![\w-])",
        accept=_is_card,
    ),
    _rule(
        "card number",
        rf"(?<![\w.+-])(?P<secret>\d{{4}}(?P<gap>{_GAP})(?:\d{{4}}(?P=gap)){{2}}\d{{4}})(?![\w-])",
        accept=_is_card,
    ),
    _rule(
        "card number",
        rf"(?<![\w.+-])(?P<secret>\d{{4}}(?P<gap>{_GAP})\d{{6}}(?P=gap)\d{{4,5}})(?![\w-])",
        accept=_is_card,
    ),
    _rule("card number", r"(?<![\w.+-])(?P<secret>\d{13,19})(?![\w-])", accept=_is_card),
)
