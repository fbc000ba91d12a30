"""Redaction: every common secret goes, nothing else does, and no text is too long for it."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ricordo.consolidation.redact import redact_secrets, redacted
from ricordo.consolidation.source import SourceMessage
from ricordo.errors import ConfigurationError

KEY_BODY = (
    "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj\n"
    "MzEfYyjiWA4R4/M2bS1GB4t7NXp98C3SC6dVMvDuictGeurT8jNbvJZHtCSuYEvu"
)

SECRETS = {
    "OpenAI": (
        "the key is sk-proj-abc123DEF456ghi789jkl012mno345",
        "sk-proj-abc123DEF456ghi789jkl012mno345",
        "api key",
    ),
    "Anthropic": ("KEY=sk-ant-api03-AbCdEf0123456789-xyz_AA", "sk-ant-api03-AbCdEf0123456789-xyz_AA", "api key"),
    "AWS id": ("use AKIAIOSFODNN7EXAMPLE here", "AKIAIOSFODNN7EXAMPLE", "access key"),
    "AWS secret": (
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "secret",
    ),
    "GitHub": ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "ghp_16C7e42F292c6912E7710c838347Ae178B4a", "token"),
    "GitHub OAuth": ("gho_16C7e42F292c6912E7710c838347Ae178B4a.", "gho_16C7e42F292c6912E7710c838347Ae178B4a", "token"),
    "GitHub fine": ("(github_pat_11ABCDEFG0123456789_abcdefgh)", "github_pat_11ABCDEFG0123456789_abcdefgh", "token"),
    "Slack": ("xoxb-123456789012-1234567890123-AbCdEfGhIj", "xoxb-123456789012-1234567890123-AbCdEfGhIj", "token"),
    "Slack webhook": (
        "https://hooks.slack.com/services/T0000/B0000/abcdefABCDEF1234",
        "T0000/B0000/abcdefABCDEF1234",
        "token",
    ),
    "Google": ("?key=AIzaSyA1234567890abcdefghijklmnopqrstuv", "AIzaSyA1234567890abcdefghijklmnopqrstuv", "api key"),
    "Hugging Face": ("HF: hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "token"),
    "GitLab": ("glpat-abcDEF123456_7890xyz", "glpat-abcDEF123456_7890xyz", "token"),
    "npm": ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "npm_abcdefghijklmnopqrstuvwxyz0123456789", "token"),
    "Stripe": ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "sk_live_4eC39HqLyjWDarjtT1zdp7dc", "api key"),
    "Twilio": ("SK0123456789abcdef0123456789abcdef", "SK0123456789abcdef0123456789abcdef", "api key"),
    "JWT": ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc_def-1", "eyJzdWIiOiIxMjM0In0", "token"),
    "Bearer": ("Authorization: Bearer abc.def-ghi_0123456789", "abc.def-ghi_0123456789", "token"),
    "Basic": ('-H "Authorization: Basic dXNlcjpwYXNz"', "dXNlcjpwYXNz", "token"),
    "URL": ("postgres://u:p@h/db", ":p@", "password"),
    "URL with marks": ("DATABASE_URL=mysql://app:S3cr3t!x@db:3306/app", "S3cr3t!x", "password"),
    "query": ("https://x.org/a?token=abcdef0123456789abcdef&x=1", "abcdef0123456789abcdef", "token"),
    "environment": ("export DB_PASSWORD=letmein\n", "letmein", "password"),
    "YAML": ("db:\n  password: letmein\n  user: ada", "letmein", "password"),
    "JSON": ('login({"user": "ada", "password": "correct horse", "n": 1})', "correct horse", "password"),
    "JSON in JSON": ('{"arguments": "{\\"api_key\\": \\"it\'s short\\"}"}', "it's short", "api key"),
    "Python": ('def connect(password: str = "hunter2") -> None:', "hunter2", "password"),
    "prose": ("By the way, my password is hunter2.", "hunter2", "password"),
    "Italian": ("la password è Gatto2024 e funziona", "Gatto2024", "password"),
    "option": ("mysql --password letmein -u ada", "letmein", "password"),
    "curl": ("curl -s -u admin:hunter2 https://x.org", "hunter2", "password"),
    "header": ("x-api-key: 9f86d081884c7d65", "9f86d081884c7d65", "api key"),
    "session token": ("token: 550e8400-e29b-41d4-a716-446655440000", "550e8400", "token"),
    "Visa": ("4111 1111 1111 1111 12/27", "4111 1111 1111 1111", "card number"),
    "Mastercard": ("5555-5555-5555-4444", "5555-5555-5555-4444", "card number"),
    "American Express": ("3782 822463 10005", "3782 822463 10005", "card number"),
    "Discover": ("6011111111111117", "6011111111111117", "card number"),
    "card code": ("CVV: 123", "123", "card code"),
    "PEM": (f"-----BEGIN RSA PRIVATE KEY-----\n{KEY_BODY}\n-----END RSA PRIVATE KEY-----", "MzEfYyji", "private key"),
    "PEM in JSON": (
        f'"k": "-----BEGIN PRIVATE KEY-----\\n{KEY_BODY}\\n-----END PRIVATE KEY-----\\n"',
        "MzEfYyji",
        "private key",
    ),
    "PEM cut at its end": (f"-----BEGIN OPENSSH PRIVATE KEY-----\n{KEY_BODY}\nAAAA", "AAAA", "private key"),
    "PEM cut at its beginning": (f"{KEY_BODY}\nAAAA==\n-----END PRIVATE KEY-----", "AAAA", "private key"),
}

HARMLESS = (
    "550e8400-e29b-41d4-a716-446655440000",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "order 4000123412341235 and HAT136 on 2024-05-15T15:00:00",
    "credit_card_4421486, gift_card_8190333, certificate_7504069, a Visa card ending in 7447",
    "ISBN 978-3-16-148410-0 or 9783161484100, call +39 345 678 9012, at 1700000000000",
    "password: str, token: int = 4000, max_tokens: 4000",
    "def f(password=None, token=token): self.password = password or get_password()",
    'password=os.environ["X"] or settings.password or $PW or ${PW}',
    "The password is required. Password: must have 8 characters. Is my password correct?",
    '{"password": {"type": "string"}, "api_key": null}',
    "PWD=/home/ada/project",
    "/etc/passwd:root:x:0:0:root:/root:/bin/sh",
    "src/password/reset.py:12: test_password_reset: passed",
    "secretary: Anna Ferrari; the secret is out; key-value; author: Bob; signature: def foo(x)",
    "basic economy, Basic information about Bearer authentication",
    "sk-button-primary-container scikit-learn",
    "https://example.org:8080/a/b@c and ada@example.org and git@github.com:ada/x.git",
    "access token is expired, api key: missing, credentials: incorrect, auth: none",
)


@pytest.mark.parametrize("name", SECRETS)
def test_i5_a_secret_is_replaced_by_its_kind(name: str) -> None:
    text, secret, kind = SECRETS[name]
    told = redact_secrets(f"See this:\n{text}\nThanks a lot.")
    assert secret not in told
    assert f"[redacted {kind}]" in told
    assert told.endswith("Thanks a lot.")
    assert redact_secrets(told) == told


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_secrets(text) == text


def test_what_stands_around_a_secret_stays() -> None:
    assert redact_secrets("postgres://ada:pw@db.example.org/x") == "postgres://ada:[redacted password]@db.example.org/x"
    cut = f"-----BEGIN PRIVATE KEY-----\n{KEY_BODY}"
    assert redact_secrets(f"{cut}\nThanks a lot.") == "[redacted private key]\nThanks a lot."
    assert redact_secrets('{"password":"a","n":1}') == '{"password":"[redacted password]","n":1}'


def test_a_card_needs_its_check_digit() -> None:
    assert redact_secrets("4111111111111111") != "4111111111111111"
    assert redact_secrets("4111111111111112") == "4111111111111112"


PIECES = st.sampled_from(
    [text for text, _, _ in SECRETS.values()]
    + [
        *HARMLESS,
        "[redacted password]",
        "password=",
        'token: "',
        "://a:",
        "-----BEGIN PRIVATE KEY-----",
        "\n",
        " ",
        "\\",
    ]
)


@settings(deadline=None)
@given(st.lists(PIECES | st.text(max_size=12), max_size=6))
@example(["curl -u a:", "[redacted password]"])
def test_redacting_again_changes_nothing(pieces: list[str]) -> None:
    once = redact_secrets("".join(pieces))
    assert redact_secrets(once) == once


HOSTILE = (
    "a", "sk-", "password=", "password: ", 'password="', "passwordtoken", "token token ", "://a:", "a:b@", "1", "4111 ",
    "4111111111111111 ", "-----BEGIN PRIVATE KEY-----", "-----", "ghp_", ":AA", "eyJaaaaaaaaaaaa.aaaa.", "bearer ",
    "curl ", "curl -u a", "--", "--password=", "\\", "password" + "\\" * 40, "password" + " " * 40, f"{'A' * 64}\n",
)  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_any_text_of_a_megabyte_is_read(piece: str) -> None:
    # A scan that is quadratic in any of these would not come back within the life of the test run.
    text = (piece * (1_000_000 // len(piece))) + " private key password= "
    assert len(redact_secrets(text)) > 0


def test_a_policy_sees_each_text_and_may_be_turned_off() -> None:
    messages = [SourceMessage(number=1, role="user", text="Ada", timestamp=None, tokens=1)]
    assert [one.text for one in redacted(messages, str.upper)] == ["ADA"]
    assert redacted(messages, None) is messages


def test_a_policy_that_gives_no_text_is_refused() -> None:
    messages = [SourceMessage(number=1, role="user", text="Ada", timestamp=None, tokens=1)]
    with pytest.raises(ConfigurationError, match="returned a NoneType"):
        redacted(messages, lambda _: None)  # type: ignore[arg-type, return-value]
