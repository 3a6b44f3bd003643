"""What is cut out of a text as a secret, what is not, and that it costs little."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octop_bridge.domain.redaction import DEPTH_MAX, compile_patterns, redact, redact_payload

PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA1234567890abcdef\nZm9vYmFy=\n-----END RSA PRIVATE KEY-----"
SECRETS = [
    ("my key is sk-sp-ABCDEFGH1234567890.abcdefgh1234567890_XYZ", "my key is [redacted:api-key]"),
    ("use sk-ant-api03-AbC_dEf-123, please", "use [redacted:api-key], please"),
    ("sk-proj-AbCd.EfGh", "[redacted:api-key]"),
    ("export AWS_ACCESS_KEY_ID=AKIAIOSFODNN7EXAMPLE", "export AWS_ACCESS_KEY_ID=[redacted:aws-key]"),
    (
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "aws_secret_access_key = [redacted:aws-secret]",
    ),
    ("push with ghp_abcdefghijklmnopqrstuvwxyz0123456789", "push with [redacted:github-token]"),
    ("github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz", "[redacted:github-token]"),
    ("glpat-abcdefghij1234567890", "[redacted:gitlab-token]"),
    ("xoxb-123456789012-abcdefABCDEF", "[redacted:slack-token]"),
    ("https://hooks.slack.com/services/T000/B000/XXXXXXXX", "https://[redacted:slack-webhook]"),
    ("AIzaSyA1234567890abcdefghijklmnopqrstuvw", "[redacted:google-key]"),
    ("sk_live_4eC39HqLyjWDarjtT1zdp7dc", "[redacted:stripe-key]"),
    ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "[redacted:npm-token]"),
    ("pypi-AgEIcHlwaS5vcmcCJDU2NmZlNjM2LTQx", "[redacted:pypi-token]"),
    ("hf_abcdefghijABCDEFGHIJ1234567890abcd", "[redacted:huggingface-token]"),
    ("bot 123456789:AAF1234567890abcdefghijklmnopqrstuv", "bot [redacted:telegram-token]"),
    ("dapi0123456789abcdef0123456789abcdef", "[redacted:access-token]"),
    ("Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln", "Authorization: Bearer [redacted:jwt]"),
    ("Bearer abcdef1234567890abcdef", "Bearer [redacted:bearer-token]"),
    (f"before\n{PEM}\nafter", "before\n[redacted:private-key]\nafter"),
    ("postgresql://user:pw@host/db", "postgresql://user:[redacted:password]@host/db"),
    ("redis://:p4ss@h:6379", "redis://:[redacted:password]@h:6379"),
    ("my password is hunter2", "my password is [redacted:password]"),
    ("the wifi password is swordfish.", "the wifi password is [redacted:password]."),
    ("Password: Tr0ub4dor&3, ok?", "Password: [redacted:password], ok?"),
    ('password: "two words here" and more', 'password: "[redacted:password]" and more'),
    ("DB_PASSWORD=Passw0rd123", "DB_PASSWORD=[redacted:password]"),
    ("password:required;password:hunter2", "password:[redacted:password]"),
    ("密码是abc12345，记住", "密码是[redacted:password]，记住"),
    ("密码：“天王 盖地虎”", "密码：“[redacted:password]”"),
    ("口令：天王盖地虎", "口令：[redacted:password]"),
    ("Passwort ist geheim12", "Passwort ist [redacted:password]"),
    ("パスワードはsakura99です", "パスワードは[redacted:password]"),
    ("api_key=abcdefgh", "api_key=[redacted:secret]"),
    ("API key: 9f8e7d6c5b4a3f2e", "API key: [redacted:secret]"),
    ("?token=abc123def456ghi&page=2", "?token=[redacted:secret]&page=2"),
    ("client_secret: 'GxYz12AbCd34'", "client_secret: '[redacted:secret]'"),
    ('{\\"password\\":\\"hunter two\\"}', '{\\"password\\":\\"[redacted:password]\\"}'),
    ("card 4111 1111 1111 1111 thanks", "card [redacted:card] thanks"),
    ("4111-1111-1111-1111", "[redacted:card]"),
    ("amex 3782 822463 10005", "amex [redacted:card]"),
    ("卡号5555555555554444。", "卡号[redacted:card]。"),
]
HARMLESS = [
    "I forgot my password",
    "My secret: I am scared of spiders",
    "token: max_tokens",
    "password reset",
    "the password is required",
    "risk-assessment-document",
    "ask-me",
    "sk-learn-1.2-compatible-pipeline",
    "the token is expired",
    "password: required",
    "password: string",
    "password: ${DB_PASS}",
    "password: ********",
    "My password is not working",
    "password is stored in the vault",
    "the secret is to whisk it slowly",
    "secret=os.environ['X']",
    "token: process.env.TOKEN",
    "max_tokens=4096",
    "the API key is missing",
    "my key takeaway: patience",
    "how do I parse -----BEGIN PRIVATE KEY----- lines?",
    "call me at +49 170 1234567890",
    "order 1234567890123456",
    "timestamp 1796071673771",
    "card 4111 1111 1111 1112",
    "commit 0123456789abcdef0123456789abcdef01234567",
    "550e8400-e29b-41d4-a716-446655440000",
    "http://localhost:3000/users/@me",
    "Bearer of bad news",
    "密码错误",
    "密码是必填的",
    "密码：请输入6位",
]


@pytest.mark.promise("PUB-23")
@pytest.mark.promise("R101")
@pytest.mark.promise("octop-H1")
@pytest.mark.parametrize(("text", "expected"), SECRETS, ids=range(len(SECRETS)))
def test_a_secret_goes_and_the_words_around_it_stay(text, expected):
    redacted, kinds = redact(text)
    assert redacted == expected
    assert kinds == tuple(part.split("]")[0] for part in expected.split("[redacted:")[1:])
    assert redact(redacted) == (redacted, ()), "redacting twice changes nothing"


@pytest.mark.promise("PUB-23")
@pytest.mark.promise("R101")
@pytest.mark.parametrize("text", HARMLESS)
def test_talk_about_secrets_stays(text):
    assert redact(text) == (text, ())


def test_kinds_come_in_the_order_of_the_text():
    text = "card 4111111111111111, then AKIAIOSFODNN7EXAMPLE, then password: hunter22"
    assert redact(text)[1] == ("card", "aws-key", "password")


def test_capitals_that_grow_when_lowered_do_not_shift_a_secret():
    assert redact("İİ PASSWORD: geheim12 İ ok")[0] == "İİ PASSWORD: [redacted:password] İ ok"


def test_a_key_block_that_was_cut_short_goes_as_far_as_it_reaches():
    text = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEF\n" * 3 + "That was it."
    assert redact(text)[0] == "[redacted:private-key]\nThat was it."


def test_payload_keys_that_name_secrets_hide_their_values():
    payload = {
        "headers": {"Authorization": "x", "Set-Cookie": "y", "x-api-key": ["z"], "accept": "json"},
        "usage": {"max_tokens": 10, "prompt_tokens": 3.5},
        "items": [{"clientSecret": {"a": 1}}, "my password is hunter2", None, True, 7],
        "token": None,
        "password": 1234,
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789": 1,
    }
    assert redact_payload(payload) == {
        "headers": {
            "Authorization": "[redacted:key]",
            "Set-Cookie": "[redacted:key]",
            "x-api-key": "[redacted:key]",
            "accept": "json",
        },
        "usage": {"max_tokens": 10, "prompt_tokens": 3.5},
        "items": [{"clientSecret": "[redacted:key]"}, "my password is [redacted:password]", None, True, 7],
        "token": None,
        "password": "[redacted:key]",
        "[redacted:github-token]": 1,
    }


def test_a_payload_is_cut_where_it_is_too_deep():
    payload = {}
    for _ in range(5_000):
        payload = {"a": payload}
    redacted, depth = redact_payload(payload), 0
    while isinstance(redacted, dict):
        redacted, depth = redacted["a"], depth + 1
    assert (redacted, depth) == ("[redacted:depth]", DEPTH_MAX)


ACCEPTED = [
    (r"EMP-\d+", "see EMP-12345 now", "see [redacted:custom] now"),
    (r"\b[A-Z]{2}\d{6}\b", "id DE123456.", "id [redacted:custom]."),
    (r"(?i)project\s+\w+", "the PROJECT falcon", "the [redacted:custom]"),
    (r"\w+\.\w+@corp\.example", "ana.b@corp.example", "[redacted:custom]"),
    (r"(?:\d{1,3}\.){3}\d{1,3}", "at 10.0.0.12 it is", "at [redacted:custom] it is"),
    (r"[^]]+x|[a[]+y", "abx", "[redacted:custom]"),
    (r"x*", "nothing empty", "nothing empty"),
]
REFUSED = [
    "(a+)+$",
    "(x+x+)+y",
    "(a|a)*b|(a|ab)*c",
    r"(\w+\s?)*x",
    ".*.*x",
    r"\w*\d*\w*x",
    "(?:a?){50}a{50}",
    "(a{1,9}){9}",
    "([^a]|A)+b",
    r"(\w)\1+",
    "((((a{16}b?){16}){16}){16}){16}",
    "(?:(?:a{128}){128}){128}",
    ".{0,5000}",
    "(",
    "[",
    "x" * 201,
]


@pytest.mark.parametrize(("pattern", "text", "expected"), ACCEPTED, ids=range(len(ACCEPTED)))
def test_a_persons_own_patterns_are_redacted(pattern, text, expected):
    assert redact(text, compile_patterns([pattern]))[0] == expected


@pytest.mark.promise("octop-P12")
@pytest.mark.parametrize("pattern", REFUSED)
def test_a_pattern_that_may_run_away_is_refused_by_name(pattern):
    with pytest.raises(ValueError, match="redact pattern") as refused:
        compile_patterns(["EMP-[0-9]+", pattern])
    assert repr(pattern)[:20] in str(refused.value)


@pytest.mark.promise("octop-P12")
@settings(max_examples=80, deadline=None)
@given(st.from_regex(r"([ab.]|\\d|\\w|[ab][+*?]|\(a[+*]?\)[+*?]|\(a\|b\)[*+]|\.[*+]){1,7}", fullmatch=True))
def test_whatever_pattern_is_accepted_is_fast_on_a_hostile_text(pattern):
    try:
        compiled = compile_patterns([pattern])
    except ValueError:
        return
    began = time.perf_counter()
    redact("a" * 500 + "!", compiled)
    assert time.perf_counter() - began < 1


def test_open_ended_repeats_are_capped_and_longer_runs_go_all_the_same():
    [pattern] = compile_patterns([r"\d{3,}?[.+*]{1,}"])
    assert pattern.pattern == r"\d{3,128}?[.+*]{1,128}"
    assert redact("9" * 500, compile_patterns([r"\d+"]))[0].replace("[redacted:custom]", "") == ""


HOSTILE = [
    *("password ", "password:", "password is ", "api_key=a", "token = ", "bearer ", 'password:"', "密码是", "key"),
    *("sk-", "eyJ", "eyJabcdefgh.", "xoxb-", "ghp_.", "-----BEGIN PRIVATE KEY-----", "-----BEGIN ", "http://a:b"),
    *("1", "1234 ", "123456789:", "token" + " " * 50, "a", "_v1_"),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_more_than_linear_time(piece):
    text = (piece * 60_000)[:60_000] + "@"
    began = time.perf_counter()
    redact(text)
    assert time.perf_counter() - began < 1


def test_a_plain_line_costs_microseconds():
    line = "I always book the 7:40 train to Geneva on Mondays because the later one is crowded, and so on. " * 2
    began = time.perf_counter()
    for _ in range(500):
        redact(line)
    assert (time.perf_counter() - began) / 500 < 300e-6


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60), st.sampled_from([text for text, _ in SECRETS]), st.text(max_size=60))
def test_redaction_never_fails_and_settles(before, secret, after):
    redacted, kinds = redact(f"{before}\n{secret}\n{after}")
    assert kinds
    assert redact(redacted)[0] == redacted
