"""Secrets cut out of text by their shape: a value goes, the words around it stay.

Every rule names spans of the original text; spans that overlap are merged under the kind found first, so that no rule
sees what another has already cut. All patterns are linear, and a plain line passes a few substring tests and no more.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from octop_bridge.domain.redaction_patterns import compile_patterns

__all__ = ["compile_patterns", "redact", "redact_payload"]

Span = tuple[int, int, str]

CUSTOM_KIND = "custom"
DEPTH_MAX = 64
"""Payloads nested deeper are cut there: nobody reads them, and the recursion must end."""

_MARK = "[redacted:"
_TOKEN_CHARS_MIN = 12
"""No issuer's token, and no card number in one run, is shorter."""
_LONG_MATCH = 300
_LONG_RUN = re.compile(rf"[!-~]{{{_TOKEN_CHARS_MIN}}}")

_TOKENS: tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...] = tuple(
    (kind, tuple(triggers.split()), re.compile(rf"(?<![A-Za-z0-9])(?:{pattern})"))
    for kind, triggers, pattern in (
        ("aws-key", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,124}(?![A-Za-z0-9])"),
        ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9_.-]{15,}[A-Za-z0-9]"),
        ("github-token", "github_pat_", r"github_pat_[A-Za-z0-9_]{16,}"),
        (
            "gitlab-token",
            "gl",
            r"gl(?:pat|ptt|dt|rtr?|cbt|soat|imt|f?fct|ft|agent|oas|wt)-[A-Za-z0-9_.-]{15,}[A-Za-z0-9_-]",
        ),
        ("slack-token", "xox xapp-", r"(?:xox[a-z](?:\.xox[a-z])?|xapp)-[A-Za-z0-9-]{10,}"),
        ("slack-webhook", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{10,}"),
        ("google-key", "AIza", r"AIza[A-Za-z0-9_-]{30,}"),
        ("google-token", "ya29. GOCSPX-", r"ya29\.[A-Za-z0-9_.-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}"),
        ("stripe-key", "k_live_ k_test_ whsec_", r"(?:[rs]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{10,}"),
        ("npm-token", "npm_", r"npm_[A-Za-z0-9]{20,}"),
        ("pypi-token", "pypi-A", r"pypi-A[A-Za-z0-9_-]{30,}"),
        ("huggingface-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{20,}"),
        ("telegram-token", ":", r"\d{6,12}:[A-Za-z0-9_-]{30,}"),
        ("jwt", "eyJ", r"(?<![_-])eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){1,4}"),
        ("sendgrid-key", "SG.", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
        ("age-key", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-1[A-Z0-9]{30,}"),
        (
            "api-key",
            "gsk_ xai- pplx- r8_ tvly- nvapi- csk- fw_",
            r"(?:gsk_|xai-|pplx-|r8_|tvly-(?:dev-)?|nvapi-|csk-|fw_)[A-Za-z0-9_-]{20,}",
        ),
        (
            "access-token",
            "_v1_ shpat_ shpss_ ntn_ lin_api_ dckr_pat_ sbp_ hvs. dp.pt. tskey- atlasv1. ATATT3 glc_ dapi",
            r"(?:(?:do[opr]_v1|shp(?:at|ss)|ntn|lin_api|dckr_pat|sbp|glc)_|(?:hvs|dp\.pt|atlasv1)\.|tskey-[a-z]{3,8}-|ATATT3|dapi)[\w=-]{20,}",
        ),
    )
)
_SK = re.compile(r"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_.-]{12,}")
_SK_ISSUED = re.compile(r"sk-(?:proj|svcacct|admin|ant|or|sp|lf|live|test)-(?=.*[A-Z0-9])")
_AWS_SECRET = re.compile(r"(?<![A-Za-z0-9/+=_-])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-])")
_PEM_OPEN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_PEM_CLOSE = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_PEM_LINES = re.compile(r"(?:(?:\s|\\[nr])*[A-Za-z0-9+/=]{24,})+")
_KEY_MATERIAL = re.compile(r"[A-Za-z0-9+/=]{16}")
_URL_PASSWORD = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]{1,24}://[^\s:/@\"'<>]{0,200}:([^\s/@\"'<>][^\s/\"'<>]{0,255})@(?=[A-Za-z0-9_\[.%$-])"
)
_CARD = re.compile(
    r"(?<![A-Za-z0-9_])(?<!\d[.,])(?:\d{13,19}|\d{4}([ \u00a0-])\d{4}\1\d{4}\1\d{1,4}(?:\1\d{3}(?!\d))?"
    r"|\d{4}([ \u00a0-])\d{6}\2\d{4,5})(?![A-Za-z0-9_])"
)

_PASSWORD_WORDS = ("passw", "pwd", "passphrase", "passcode", "kennwort", "contraseña", "mot de passe", "senha")
_PASSWORD_WORDS_WIDE = ("парол", "パスワード", "비밀번호", "암호")
_PASSWORD_WORDS_HAN = ("密码", "密碼", "口令")
_ASSIGNMENT_WORDS = ("token", "secret", "key", "credential")
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "「": "」", "『": "』", "«": "»", "`": "`"}
_QUOTED = r"\\?(?:" + "|".join(rf"{left}[^{right}\n]{{1,256}}{right}" for left, right in _QUOTES.items()) + ")"
_PASSWORD = re.compile(
    r"(?:passwor[dt]s?|passwd|pwd|passphrase|passcode|kennwort|contraseña|mot de passe|senha|парол[ья]|パスワード|비밀번호|암호)"
    r"\\?[\"']?(?:(?P<copula>\s*[は는은]\s*|\s+(?:is|was|ist|es|est|é|это)\s+(?:(?:now|still|currently|set to|just)\s+)?)"
    r"|\s{0,3}(?::=|=>|[:=：])\s{0,3})"
    rf"(?P<value>{_QUOTED}|[^\s\"'“「<>{{}}，。；]+)"
)
_PASSWORD_HAN = re.compile(
    r"(?:密码|密碼|口令)(?:(?P<copula>\s?(?:[是为為]|改成了?|改为了?|换成了?|设为|设成)\s?[:：]?\s?)|\s?[:：=]\s?)"
    rf"(?P<value>{_QUOTED}|[!-~]{{3,128}}|[\u4e00-\u9fff]{{2,20}})"
)
_ASSIGNMENT = re.compile(
    r"(?P<key>(?:token|secret|key|credential)s?)\\?[\"']?(?P<sign>\s{0,3}(?::=|=>|[:=：])\s{0,3}|\s+(?:is|was)\s+|\s*是\s*)"
    rf"(?P<value>{_QUOTED}|[^\s,;&\"'“「<>{{}}()]+)"
)
_KEY_OWNER = re.compile(r"(?:api|access|secret|private|account|encryption)[ _-]?$")
_BEARER = re.compile(
    r"(?<![a-z0-9])(?:bearer|authorization\s{0,3}:\s{0,3}(?:basic|token))\s{1,3}(?P<value>[A-Za-z0-9._~+/=-]{8,})"
)

_PLAIN_WORDS = """
a an the not no none null nil undefined empty blank missing required optional mandatory necessary needed wrong right
incorrect correct invalid valid weak strong short long secure insecure safe unsafe different same identical new old
default hidden visible secret private public unknown known too very so quite only also never always already easy
hard simple complex good bad fine ok okay great nice awful weird funny silly stupid random unique obvious useless
ready gone lost stolen broken taken written shown found kept sent told given forgotten set active inactive here
there where what when how why which that this it its my your his her their our mine yours in on at for to of by from
like as if or and but being been string str text bool boolean int integer number varchar any true false yes min max
must should may can will case sensitive plain plaintext confidential stuff out up down off about above below part
one something someone nothing everything just still now currently
"""
_NOT_A_PASSWORD = frozenset(_PLAIN_WORDS.split())
_ADJECTIVE_ENDS = ("ed", "ing", "able", "ible", "ly")
_NOT_A_PASSWORD_HAN = re.compile(r"[请請不必无無空错錯是长長至少需忘我你哪已未可由要在和或与]|什么|什麼|多少|为空")
_PLACEHOLDER = re.compile(
    r"\$[{(A-Z_]|%\(|\*{3}|x{4,}$|\.{3}|…|<|\{|\[redacted|your[_-]|changeme$|placeholder|process\.env|os\.environ|import\.meta"
    r"|env\.|getenv|config\.|settings\.|self\.|this\.|vault:|file:|/(?:etc|run|home|var|tmp|usr)/"
)
_CLAUSE_END = re.compile(r"\s*(?:$|[.,;!?。，；！？)\n]|(?:and|but|for|so|which|please|thanks)\b)")
_ALNUM = re.compile(r"[A-Za-z0-9]+")
_SECRET_KEYS = (
    *(
        "apikey",
        "token",
        "secret",
        "password",
        "passwd",
        "passphrase",
        "passcode",
        "authorization",
        "cookie",
        "credential",
    ),
    *("privatekey", "accesskey", "pwd", "密码", "口令"),
)
_COUNT_KEYS = ("tokens", "tokencount", "tokenlimit", "tokenbudget")


def redact(text: str, patterns: Sequence[re.Pattern[str]] = ()) -> tuple[str, tuple[str, ...]]:
    """Return the text with each secret replaced by `[redacted:<kind>]`, and the kinds in order of place.

    `patterns` come from `compile_patterns`; they rank first, so that a person's own kind of secret keeps its name.
    """
    spans = [(*found.span(), CUSTOM_KIND) for pattern in patterns for found in pattern.finditer(text) if found[0]]
    _find_builtin(text, spans)
    if not spans:
        return text, ()
    merged = _merged(spans)
    parts: list[str] = []
    at = 0
    for start, end, kind in merged:
        parts += (text[at:start], f"{_MARK}{kind}]")
        at = end
    parts.append(text[at:])
    return "".join(parts), tuple(kind for _, _, kind in merged)


def redact_payload(value: Any, patterns: Sequence[re.Pattern[str]] = (), depth: int = 0) -> Any:
    """Return a JSON value with secrets gone: whole values under a secret-looking key, matches inside other strings."""
    if isinstance(value, str):
        return redact(value, patterns)[0]
    if isinstance(value, dict | list | tuple) and depth >= DEPTH_MAX:
        return f"{_MARK}depth]"
    if isinstance(value, dict):
        return {
            (redact(key, patterns)[0] if isinstance(key, str) else key): (
                f"{_MARK}key]" if _names_secret(key, item) else redact_payload(item, patterns, depth + 1)
            )
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [redact_payload(item, patterns, depth + 1) for item in value]
    return value


def _names_secret(key: object, value: object) -> bool:
    """Whether a key names a secret. Flags and token counts are none: `max_tokens: 100` says nothing about anyone."""
    if value is None or isinstance(value, bool):
        return False
    folded = str(key).lower().replace("_", "").replace("-", "").replace(" ", "")
    if isinstance(value, int | float) and any(word in folded for word in _COUNT_KEYS):
        return False
    return any(word in folded for word in _SECRET_KEYS)


def _merged(spans: list[Span]) -> list[Span]:
    """Spans by place, overlapping ones joined under the kind that was found first."""
    merged: list[tuple[int, int, int, str]] = []
    for rank, (start, end, kind) in sorted(enumerate(spans), key=lambda pair: (pair[1][0], pair[0])):
        if merged and start < merged[-1][1]:
            before_start, before_end, before_rank, before_kind = merged[-1]
            merged[-1] = (before_start, max(before_end, end), *min((before_rank, before_kind), (rank, kind)))
        else:
            merged.append((start, end, rank, kind))
    return [(start, end, kind) for start, end, _, kind in merged]


def _find_builtin(text: str, spans: list[Span]) -> None:
    """Add the spans of the built-in rules, the more specific kinds first."""
    lowered = text.lower()
    if len(lowered) != len(text):
        # A few capitals grow when lowered; offsets found in one text must hold in the other.
        lowered = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    wide = not text.isascii()
    words = text.split()
    long_run = bool(_LONG_RUN.search(text)) if wide else max(map(len, words), default=0) >= _TOKEN_CHARS_MIN
    if long_run:
        _find_tokens(text, lowered, spans)
    if "-----BEGIN" in text:
        _find_pem(text, spans)
    if "://" in text and "@" in text:
        found_urls = _URL_PASSWORD.finditer(text)
        spans += [(*found.span(1), "password") for found in found_urls if not _is_placeholder(found[1])]
    if "bearer" in lowered or "authorization" in lowered:
        for found in _BEARER.finditer(lowered):
            start, end = found.span("value")
            if _looks_random(text[start:end]) or text[end - 1] == "=":
                spans.append((start, end, "bearer-token"))
    _find_passwords(text, lowered, spans, wide=wide)
    _find_assigned(text, lowered, spans)
    # A number in groups has at least two words of digits alone; one in a single run is a long run.
    if long_run or sum(map(str.isdigit, words)) > 1:
        _find_cards(text, spans)


def _find_tokens(text: str, lowered: str, spans: list[Span]) -> None:
    """Add tokens that carry the mark of their issuer."""
    aws = "aws" in lowered
    for kind, triggers, pattern in _TOKENS:
        for trigger in triggers:
            if trigger in text:
                spans += [(*found.span(), kind) for found in pattern.finditer(text)]
                aws = aws or kind == "aws-key"
                break
    if "sk-" in text:
        for found in _SK.finditer(text):
            value = found[0].rstrip(".-")
            if _looks_random(value[3:]) or _SK_ISSUED.match(value):
                spans.append((found.start(), found.start() + len(value), "api-key"))
    if aws:
        for found in _AWS_SECRET.finditer(text):
            if not (found[0].islower() or found[0].isupper() or found[0].isalpha()):
                spans.append((*found.span(), "aws-secret"))


def _find_pem(text: str, spans: list[Span]) -> None:
    """Add private key blocks, closed or cut short; a header without key material is talk about one."""
    opens = [found.span() for found in _PEM_OPEN.finditer(text)]
    closes = list(_PEM_CLOSE.finditer(text))
    at = 0
    for (start, body), (following, _) in pairwise([*opens, (len(text), len(text))]):
        while at < len(closes) and closes[at].start() < body:
            at += 1
        if at < len(closes) and closes[at].start() < following:
            if _KEY_MATERIAL.search(text, body, closes[at].start()):
                spans.append((start, closes[at].end(), "private-key"))
        elif lines := _PEM_LINES.match(text, body, following):
            spans.append((start, lines.end(), "private-key"))


def _at_words(text: str, words: tuple[str, ...], pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """The matches of a pattern that start at one of the words: much faster than a search where no word stands."""
    for word in words:
        at = text.find(word)
        while at >= 0:
            after = at + len(word)
            if found := pattern.match(text, at):
                yield found
                # Another word may stand inside a short match; past a long one, so that the time stays linear.
                after = after if found.end() - at < _LONG_MATCH else found.end()
            at = text.find(word, after)


def _find_passwords(text: str, lowered: str, spans: list[Span], *, wide: bool) -> None:
    """Add what the words before it call a password."""
    for found in _at_words(lowered, _PASSWORD_WORDS + _PASSWORD_WORDS_WIDE if wide else _PASSWORD_WORDS, _PASSWORD):
        start, end = _inside(text, *found.span("value"))
        quoted = found.start("value") < start
        if not _is_placeholder(text[start:end]) and (quoted or _is_password(lowered, text[start:end], end)):
            spans.append((start, end, "password"))
    for found in _at_words(text, _PASSWORD_WORDS_HAN, _PASSWORD_HAN) if wide else ():
        start, end = _inside(text, *found.span("value"))
        value, quoted = text[start:end], found.start("value") < start
        said = not quoted and value[0] >= "\u4e00" and (found["copula"] or _NOT_A_PASSWORD_HAN.match(value))
        if not said and value.lower() not in _NOT_A_PASSWORD and not _is_placeholder(value):
            spans.append((start, end, "password"))


def _find_assigned(text: str, lowered: str, spans: list[Span]) -> None:
    """Add the values of `api_key=`, "token: " and the like."""
    for found in _at_words(lowered, _ASSIGNMENT_WORDS, _ASSIGNMENT):
        start, end = _inside(text, *found.span("value"))
        at = found.start()
        key = bool(_KEY_OWNER.search(lowered, max(0, at - 12), at)) and found["key"].startswith("key")
        if _is_assigned_secret(found["sign"], text[start:end], key=key):
            spans.append((start, end, "secret"))


def _inside(text: str, start: int, end: int) -> tuple[int, int]:
    """The bounds of a value without its quotes, or without the punctuation that ends its sentence."""
    if text[start] == "\\" and end - start > 1:
        start += 1
    if end - start > 2 and _QUOTES.get(text[start]) == text[end - 1]:
        return start + 1, end - 1 - (text[end - 2] == "\\" and end - start > 3)
    while end > start + 1 and text[end - 1] in ".,;:!?)]。，；！？）":
        end -= 1
    return start, end


def _is_placeholder(value: str) -> bool:
    return bool(_PLACEHOLDER.match(value)) or not value.strip("*•·● ")


def _is_password(lowered: str, value: str, end: int) -> bool:
    """Whether what follows "password is" or "password:" is one, and no word about passwords.

    A plain word counts only where the clause ends with it: "the password is swordfish", not "the password is kept in".
    """
    word = value.lower()
    if word in _NOT_A_PASSWORD or len(value) < 3 or value[0] in "/(":
        return False
    plain = word.replace("-", "")
    if plain.isalpha() and value[1:].islower() and word.count("-") < 2:
        return not word.endswith(_ADJECTIVE_ENDS) and bool(_CLAUSE_END.match(lowered, end))
    return len(value) >= 4 and not ("passw" in word and word.replace("_", "").replace(".", "").isalpha())


def _is_assigned_secret(sign: str, value: str, *, key: bool) -> bool:
    """Whether the right side of `token=…` is a value. Names in code, settings and sentences are not."""
    if _is_placeholder(value) or any(char.isspace() for char in value) or value.lower() in _NOT_A_PASSWORD:
        return False
    if _looks_random(value):
        return True
    if sign not in ("=", ":", "：") or not value.isalnum():
        return False
    return len(value) >= (8 if key else 16) and (key or not value.isdigit())


def _looks_random(value: str) -> bool:
    """Whether a value looks made by a machine: some part is very long or mixes letters with digits or cases."""
    for segment in _ALNUM.findall(value) if len(value) >= 8 else ():
        digits = sum(map(str.isdigit, segment))
        if len(segment) >= 6 and 0 < digits < len(segment) and (len(segment) >= 8 or digits > 1):
            return True
        flips = sum(left.isupper() != right.isupper() for left, right in pairwise(segment))
        if digits < len(segment) >= (12 if flips > len(segment) // 3 else 16):
            return True
    return False


def _find_cards(text: str, spans: list[Span]) -> None:
    """Add payment card numbers: an issuer's prefix, its length, and the Luhn sum of ISO/IEC 7812-1."""
    for found in _CARD.finditer(text):
        start, end = found.span()
        # A security code may follow the sixteen digits in the same style.
        for stop in (end, start + 19) if end - start > 19 else (end,):
            if _is_card("".join(filter(str.isdigit, text[start:stop]))):
                spans.append((start, stop, "card"))
                break


def _is_card(digits: str) -> bool:
    length, two, four = len(digits), int(digits[:2]), int(digits[:4])
    issued = (
        (digits[0] == "4" and length in (13, 16, 19))
        or (length == 16 and (51 <= two <= 55 or 2221 <= four <= 2720 or two in (35, 65) or four == 6011))
        or (length == 16 and 6440 <= four <= 6499)
        or (length == 15 and two in (34, 37))
        or (length == 14 and two in (30, 36, 38, 39))
        or (16 <= length <= 19 and two in (50, 56, 57, 58, 62, 63, 67))
    )
    if not issued or len(set(digits)) == 1:
        return False
    total = 0
    for place, char in enumerate(reversed(digits)):
        number = int(char) * (1 + place % 2)
        total += number - 9 * (number > 9)
    return total % 10 == 0
