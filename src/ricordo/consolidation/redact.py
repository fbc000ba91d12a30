"""Redaction: what a summariser must not see, and so no summary, recall key or embedding can hold."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from ricordo.errors import ConfigurationError

Redact: TypeAlias = Callable[[str], str]
"""A policy: takes the readable text of one message and returns what may be summarised of it."""

MARK = re.compile(r"\[redacted [a-z ]{1,40}\]")
"""What stands for a secret: its kind only, so that a summary may still say that one was given."""

_START, _END = r"(?<![A-Za-z0-9_-])", r"(?![A-Za-z0-9_-])"

_PREFIXED = {
    "api key": (
        r"sk-(?=[A-Za-z_-]{0,40}[0-9A-Za-z_-]*\d)[A-Za-z0-9_-]{16,}+",  # OpenAI, Anthropic, OpenRouter and the like
        r"AIza[\w-]{30,}+",  # Google
        r"(?:sk|rk)_(?:live|test)_[A-Za-z0-9]{10,}+|whsec_[A-Za-z0-9+/=]{16,}+",  # Stripe
        r"SK[0-9a-f]{32}",  # Twilio
        r"SG\.[\w-]{16,}+\.[\w-]{16,}+",  # SendGrid
        r"key-[0-9a-f]{32}|[0-9a-f]{32}-us\d{1,2}",  # Mailgun, Mailchimp
        r"(?:gsk|r8|lin_api|pplx|xai|nvapi|tvly|ntn|phx|re|rnd|sbp|fw)[_-](?=[A-Za-z_-]{0,40}\d)[A-Za-z0-9_-]{20,}+",
    ),
    "access key": (r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",),  # Amazon
    "token": (
        r"gh[pousr]_[A-Za-z0-9]{20,}+|github_pat_\w{20,}+",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|imt|agent|oas)-[\w.-]{16,}+",
        r"xox[a-z]-[A-Za-z0-9-]{10,}+|xapp-\d-[A-Za-z0-9-]{10,}+",
        r"hf_[A-Za-z0-9]{20,}+|npm_[A-Za-z0-9]{30,}+|pypi-AgE[\w-]{16,}+|rubygems_[0-9a-f]{40,}+",
        r"ya29\.[\w-]{20,}+|GOCSPX-[\w-]{20,}+|1//0[\w-]{30,}+",
        r"\d{8,10}:AA[\w-]{30,36}",  # Telegram
        r"do[opr]_v1_[0-9a-f]{40,}+|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}|dapi[0-9a-f]{32}|hv[sb]\.[\w-]{20,}+",
        r"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9]{30,}+|sntr[yu]s_[\w=+/]{30,}+|ATATT[\w=-]{50,}+|PMAK-[0-9a-f-]{50,}+",
        r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}+",  # Discord
        r"eyJ[\w-]{10,}+\.[\w-]{4,}+(?:\.[\w-]*+){0,3}",  # JSON Web Token (RFC 7519)
    ),
    "private key": (r"AGE-SECRET-KEY-1[A-Z0-9]{50,}+",),
}
"""Secrets that their issuers marked with a prefix, as documented by each and collected by the secret scanners gitleaks
and detect-secrets."""

_QUOTE = r"\\{0,7}[\"'`]"
_SIGN = rf"(?:{_QUOTE})?+\s{{0,3}}(?:=>|:=|[:=])\s{{0,3}}"
_WORDS = r"[^\s\"'`,;&<>(){}\[\]|\\]"
_STRONG = (
    r"pass(?:word|wd|phrase|code)|pwd|secret(?:[_ -]?(?:access[_ -]?)?key)?|client[_ -]?secret|api[_ -]?key|account[_-]?key"
    r"|(?:private|signing|encryption|master)[_-]?key|(?:auth|access|refresh|bearer|api|bot)[_ -]?token"
    r"|credentials?|chiave (?:api|segreta|privata)"
)
_LABEL = re.compile(
    rf"(?<!/)(?:(?P<strong>{_STRONG})|(?<![a-z0-9])(?P<weak>token|jwt|auth|authorization|signature))"
    rf"(?P<more>[_-]?(?:value|old|new|confirm(?:ation)?|\d))?+(?P<sign>{_SIGN}| (?:is|was|è|era)(?: now)?:? )"
    rf"(?:(?P<scheme>bearer|basic|token|apikey)\s{{1,3}})?+"
    rf"(?:(?P<open>{_QUOTE})(?P<quoted>[^\"'`\n\\]{{1,500}})(?={_QUOTE})|(?P<bare>{_WORDS}{{4,500}}))",
    re.IGNORECASE,
)
_OPTION = re.compile(
    rf"(?<![\w-])(?P<head>--?(?:{_STRONG}|token|pass)[ =])(?P<bare>{_WORDS}{{4,500}}+)", re.IGNORECASE
)
_CURL_USER = re.compile(r"(?P<head>\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =]?[\"']?[^\s:\"']{1,100}:)(?P<bare>[^\s\"']{2,200})")
_SCHEME = re.compile(r"(?<![\w-])(?P<head>(?:bearer|basic)\s{1,3})(?P<bare>[A-Za-z0-9._~+/=-]{8,4000}+)", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"(?P<head>://[^\s/:@\"'<>`]{0,100}:)(?P<bare>[^\s/\"'<>`]{1,200})(?=@[\w\[.-])")
_WEBHOOK = re.compile(r"(?P<head>hooks\.slack\.com/(?:services|workflows)/)(?P<bare>[\w/-]{20,200}+)")
_CARD_CODE = re.compile(r"(?P<head>\b(?:cvv2?|cvc2?|card security code)(?: code| number)?[\"']?(?: is|:|=)?[ \"']{1,3})(?P<bare>\d{3,4})(?!\w)", re.IGNORECASE)

_KEY_OPENS = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_BREAK = r"(?:\s|\\{1,4}[nr])"
_PRIVATE_KEY = re.compile(
    rf"{_KEY_OPENS}[^-]*+(?:-(?!----)[^-]*+)*+-----END [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----"
    # A key that is cut off: its full lines and the rest of the last one.
    rf"|{_KEY_OPENS}(?:{_BREAK}{{1,4}}+[A-Za-z0-9+/]{{16,}}+={{0,2}})*+(?:{_BREAK}{{1,4}}+[A-Za-z0-9+/]{{1,64}}+(?=…|\.{{3}}|\Z))?"
    rf"|(?<![A-Za-z0-9+/])(?:[A-Za-z0-9+/=]{{16,80}}+{_BREAK}{{1,4}}+){{1,64}}+(?:[A-Za-z0-9+/=]{{1,80}}+{_BREAK}{{1,4}}+)?"
    r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
)

_CARD = re.compile(
    r"(?<![\w.+-])(?:\d{13,19}|\d{4}(?P<gap>[ \u00a0.-])\d{4}(?P=gap)\d{4}(?P=gap)\d{4}(?:(?P=gap)\d{3}(?!\d))?"
    r"|\d{4}(?P<space>[ \u00a0.-])\d{6}(?P=space)\d{4,5})(?![\w-])"
)
_CARD_RANGES = (
    ((16,), 51, 55), ((16,), 2221, 2720), ((13, 16, 19), 4, 4), ((15,), 34, 34), ((15,), 37, 37), ((14, 16, 19), 36, 36),
    ((14, 16, 19), 38, 39), ((14, 16, 19), 300, 305), ((16, 17, 18, 19), 3528, 3589), ((16, 17, 18, 19), 6011, 6011),
    ((16, 17, 18, 19), 644, 649), ((16, 17, 18, 19), 65, 65), ((16, 17, 18, 19), 62, 62), ((13, 14, 15, 16, 17, 18, 19), 5018, 5893),
    ((13, 14, 15, 16, 17, 18, 19), 6304, 6763),
)  # fmt: skip
