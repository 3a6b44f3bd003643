"""Time phrases against a fixed moment: Wednesday 13 May 2026, 10:00 on the wall."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from octop_bridge.domain.moments import day_of, find_validity, find_window, instant_of, spelled

ZONES = ("Asia/Tokyo", "America/New_York", "UTC")
BERLIN = "Europe/Berlin"
NOW = "2026-05-13T10:00"


def ms(text, zone=BERLIN):
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def wall(instant, zone=BERLIN):
    if instant is None:
        return None
    return datetime.fromtimestamp(instant / 1000, ZoneInfo(zone)).strftime("%Y-%m-%dT%H:%M").removesuffix("T00:00")


def window(query, now=NOW, zone=BERLIN):
    found = find_window(query, ms(now, zone), zone)
    return found and (wall(found.from_ms, zone), wall(found.to_ms, zone))


def validity(text, at=NOW, zone=BERLIN):
    found = find_validity(text, ms(at, zone), zone)
    return found and (wall(found.valid_from_ms, zone), wall(found.valid_to_ms, zone))


WINDOWS = {
    "what did I say yesterday": ("2026-05-12", "2026-05-13"),
    "Today": ("2026-05-13", "2026-05-14"),
    "today's standup": ("2026-05-13", "2026-05-14"),
    "last night": ("2026-05-12T18:00", "2026-05-13T06:00"),
    "this morning": ("2026-05-13T04:00", "2026-05-13T12:00"),
    "yesterday evening": ("2026-05-12T18:00", "2026-05-13"),
    "the day before yesterday": ("2026-05-11", "2026-05-12"),
    "tomorrow": ("2026-05-14", "2026-05-15"),
    "this week": ("2026-05-11", "2026-05-18"),
    "last week": ("2026-05-04", "2026-05-11"),
    "last weekend": ("2026-05-09", "2026-05-11"),
    "last month": ("2026-04-01", "2026-05-01"),
    "last year": ("2025-01-01", "2026-01-01"),
    "in March": ("2026-03-01", "2026-04-01"),
    "in july": ("2025-07-01", "2025-08-01"),
    "last May": ("2025-05-01", "2025-06-01"),
    "in March 2024": ("2024-03-01", "2024-04-01"),
    "notes from May 2023": ("2023-05-01", "2023-06-01"),
    "in 2023": ("2023-01-01", "2024-01-01"),
    "3 days ago": ("2026-05-10", "2026-05-11"),
    "three days ago": ("2026-05-10", "2026-05-11"),
    "2 weeks ago": ("2026-04-27", "2026-05-04"),
    "two months ago": ("2026-03-01", "2026-04-01"),
    "a year ago": ("2025-01-01", "2026-01-01"),
    "in the last 3 days": ("2026-05-11", "2026-05-14"),
    "the past two months": ("2026-03-13", "2026-05-14"),
    "last Friday": ("2026-05-08", "2026-05-09"),
    "on Friday": ("2026-05-08", "2026-05-09"),
    "on Sunday morning": ("2026-05-10T04:00", "2026-05-10T12:00"),
    "this Friday": ("2026-05-15", "2026-05-16"),
    "next Friday": ("2026-05-22", "2026-05-23"),
    "on 8 May": ("2026-05-08", "2026-05-09"),
    "on the 8th of May": ("2026-05-08", "2026-05-09"),
    "on 8 May, 2023": ("2023-05-08", "2023-05-09"),
    "May 8, 2023": ("2023-05-08", "2023-05-09"),
    "Dec 25": ("2025-12-25", "2025-12-26"),
    "2026-05-08": ("2026-05-08", "2026-05-09"),
    "don't reboot it on 2026-05-08": ("2026-05-08", "2026-05-09"),
    "8.5.2023": ("2023-05-08", "2023-05-09"),
    "the week of 8 May": ("2026-05-04", "2026-05-11"),
    "between May and June": ("2026-05-01", "2026-07-01"),
    "between December and February": ("2025-12-01", "2026-03-01"),
    "between May and June 2023": ("2023-05-01", "2023-07-01"),
    "from 3 to 5 May 2024": ("2024-05-03", "2024-05-06"),
    "from Monday to Wednesday": ("2026-05-11", "2026-05-14"),
    "since Monday": ("2026-05-11", "2026-05-14"),
    "after 8 May": ("2026-05-09", "2026-05-14"),
    "before 8 May": ("1970-01-02", "2026-05-08"),
    "昨天我们说了什么": ("2026-05-12", "2026-05-13"),
    "前天": ("2026-05-11", "2026-05-12"),
    "今天": ("2026-05-13", "2026-05-14"),
    "昨晚": ("2026-05-12T18:00", "2026-05-13T06:00"),
    "上周": ("2026-05-04", "2026-05-11"),
    "上週五": ("2026-05-08", "2026-05-09"),
    "上周五": ("2026-05-08", "2026-05-09"),
    "这周": ("2026-05-11", "2026-05-18"),
    "上个月": ("2026-04-01", "2026-05-01"),
    "上个月3号": ("2026-04-03", "2026-04-04"),
    "三天前": ("2026-05-10", "2026-05-11"),
    "3天前": ("2026-05-10", "2026-05-11"),
    "两周前": ("2026-04-27", "2026-05-04"),
    "最近三天": ("2026-05-11", "2026-05-14"),
    "去年": ("2025-01-01", "2026-01-01"),
    "去年五月": ("2025-05-01", "2025-06-01"),
    "五月": ("2026-05-01", "2026-06-01"),
    "2024年3月": ("2024-03-01", "2024-04-01"),
    "二〇二四年": ("2024-01-01", "2025-01-01"),
    "3月5号": ("2026-03-05", "2026-03-06"),
    "星期五": ("2026-05-08", "2026-05-09"),
    "2023年5月到6月": ("2023-05-01", "2023-07-01"),
    "五月之前": ("1970-01-02", "2026-05-01"),
}


@pytest.mark.parametrize(("query", "expected"), WINDOWS.items(), ids=list(WINDOWS))
def test_a_query_means_the_time_that_its_phrase_says(query, expected):
    assert window(query) == expected


@pytest.mark.promise("R60")
@pytest.mark.parametrize(
    "query",
    [
        *(
            "todayish",
            "May I ask something",
            "may we march on",
            "we march on Washington",
            "what we said",
            "the sun sat down",
        ),
        *(
            "two weeks before my trip",
            "the day before 8 May",
            "a few days ago",
            "the other day",
            "recently",
            "on 30 February",
        ),
        *(
            "deploy Fridays",
            "every Friday",
            "Friday deploys",
            "Monday to Friday",
            "in 2000 words",
            "pve-2026-05-08",
            "v2023.1",
        ),
        *(
            "in three days",
            "10 people",
            "I second that",
            "五月天的演唱会",
            "每周五",
            "三个月",
            "目前天气怎么样",
            "旅行前两周",
            "",
            "2026",
        ),
    ],
)
def test_what_is_not_understood_is_no_time(query):
    assert find_window(query, ms(NOW), BERLIN) is None


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize(("query", "expected"), [("yesterday", 1), ("last week", 7), ("上周", 7), ("3 days ago", 1)])
def test_a_window_begins_and_ends_at_midnight_of_the_zone(zone, query, expected):
    found = find_window(query, ms(NOW, zone), zone)
    start, end = wall(found.from_ms, zone), wall(found.to_ms, zone)
    assert len(start) == len(end) == len("2026-05-12")
    assert (datetime.fromisoformat(end) - datetime.fromisoformat(start)).days == expected


@pytest.mark.parametrize(
    ("zone", "now", "hours"),
    [
        ("America/New_York", "2026-03-09T12:00", 23),
        ("America/New_York", "2026-11-02T12:00", 25),
        (BERLIN, "2026-03-30T00:30", 23),
        ("Asia/Tokyo", "2026-03-09T12:00", 24),
    ],
)
def test_a_day_is_as_long_as_daylight_saving_makes_it(zone, now, hours):
    found = find_window("yesterday", ms(now, zone), zone)
    assert found.to_ms - found.from_ms == hours * 3_600_000


def test_a_day_without_midnight_begins_at_the_jump():
    found = find_window("yesterday", ms("2018-11-05T12:00", "America/Sao_Paulo"), "America/Sao_Paulo")
    assert wall(found.from_ms, "America/Sao_Paulo") == "2018-11-04T01:00"


def test_the_same_instant_is_another_yesterday_elsewhere():
    instant = ms("2026-05-13T23:30", "UTC")
    assert day_of(find_window("yesterday", instant, "UTC").from_ms, "UTC") == "2026-05-12"
    assert day_of(find_window("yesterday", instant, "Asia/Tokyo").from_ms, "Asia/Tokyo") == "2026-05-13"


def test_a_window_names_its_phrase_and_place():
    query = "what did Hana say about the budget in March 2024?"
    found = find_window(query, ms(NOW), BERLIN)
    assert found.phrase == "in March 2024"
    assert query[slice(*found.span)] == found.phrase


VALIDITIES = {
    "I have lived in Kiel since May": ("2026-05-01", None),
    "The price is 9 euros from 1 June": ("2026-06-01", None),
    "as of 1 September the fee is 42": ("2026-09-01", None),
    "starting in July I work at Acme": ("2026-07-01", None),
    "I'm away until Friday": (None, "2026-05-16"),
    "valid until 2026-05-08": (None, "2026-05-09"),
    "I'm on leave from 1 June until 15 June": ("2026-06-01", "2026-06-16"),
    "The office is closed from 1 to 5 June": ("2026-06-01", "2026-06-06"),
    "I was in Paris in March": ("2026-03-01", "2026-04-01"),
    "I was in Paris in December": ("2025-12-01", "2026-01-01"),
    "I will be in Paris in March": ("2027-03-01", "2027-04-01"),
    "I'm in Lisbon next week": ("2026-05-18", "2026-05-25"),
    "I flew to Rome yesterday": ("2026-05-12", "2026-05-13"),
    "I lived in Oslo in 2019": ("2019-01-01", "2020-01-01"),
    "I moved to Berlin last year": ("2025-01-01", None),
    "from now on answer in German": ("2026-05-13T10:00", None),
    "自五月起我在上海工作": ("2026-05-01", None),
    "从六月开始我不吃肉": ("2026-06-01", None),
    "我请假到周五为止": (None, "2026-05-16"),
    "截至五月我们有三个客户": (None, "2026-06-01"),
    "我上周搬到了柏林": ("2026-05-04", None),
    "我去年五月在东京": ("2025-05-01", "2025-06-01"),
}


@pytest.mark.promise("R31")
@pytest.mark.parametrize(("text", "expected"), VALIDITIES.items(), ids=list(VALIDITIES))
def test_a_statement_is_true_when_it_says(text, expected):
    assert validity(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *(
            "I like tea",
            "I may go",
            "I run every Friday",
            "I work remotely from Monday to Friday",
            "I have used Vim for 3 years",
        ),
        *("two weeks before my trip I was ill", "I read 2000 pages", "我每周五跑步", "到月底"),
    ],
)
def test_a_statement_without_a_time_has_no_validity(text):
    assert validity(text) is None


@pytest.mark.promise("R31")
@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
def test_yesterday_is_told_from_the_day_of_speaking_and_not_from_the_clock(zone):
    at = ms("2024-12-31T23:30", zone)
    found = find_validity("I flew yesterday", at, zone)
    assert day_of(found.valid_from_ms, zone) == "2024-12-30"
    assert spelled(found, zone) == "on 2024-12-30"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I ran last week", "in the week of 2026-05-04"),
        ("I ran last month", "in 2026-04"),
        ("I ran last weekend", "on the weekend of 2026-05-09"),
        ("I ran two years ago", "in 2024"),
        ("I ran last night", "in the night of 2026-05-12"),
        ("I ran on 8 May 2023", None),
        ("I run since May", None),
        ("我昨天跑步了", "2026-05-12"),
        ("我上周跑步了", "2026-05-04那周"),
    ],
)
def test_a_relative_phrase_can_be_spelled_as_a_date(text, expected):
    assert spelled(find_validity(text, ms(NOW), BERLIN), BERLIN) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2026-05-08", "2026-05-08"),
        ("2026-05", "2026-05-01"),
        ("2026", "2026-01-01"),
        ("2026-05-08T10:30", "2026-05-08T10:30"),
        ("2026-05-08T10:30+09:00", "2026-05-08T03:30"),
        ("2026-05-08T10:30:00Z", "2026-05-08T12:30"),
        ("soon", None),
        ("", None),
        ("9999-99-99", None),
        (None, None),
        (7, None),
    ],
)
def test_an_iso_time_is_an_instant(value, expected):
    assert wall(instant_of(value, BERLIN)) == expected


def test_an_unknown_zone_is_read_as_utc():
    assert day_of(0, "Nowhere/Land") == day_of(0, "UTC") == "1970-01-01"
    assert day_of(0, "America/New_York") == "1969-12-31"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from([*WINDOWS, *VALIDITIES, "before", "after", "since", "到", "2023", "May", "-", "."]), max_size=4
    )
)
def test_any_mixture_of_phrases_gives_a_window_inside_its_text_or_none(parts):
    text = " ".join(parts)
    found = find_window(text, ms(NOW), BERLIN)
    if found is not None:
        assert found.from_ms < found.to_ms
        assert text[slice(*found.span)] == found.phrase
    true = find_validity(text, ms(NOW), BERLIN)
    if true is not None and true.valid_from_ms is not None and true.valid_to_ms is not None:
        assert true.valid_from_ms < true.valid_to_ms


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60), st.integers(-(2**60), 2**60), st.sampled_from([*ZONES, "x", "../etc"]))
def test_no_text_time_or_zone_breaks_it(text, now, zone):
    find_window(f"{text} last month", now, zone)
    find_validity(text, now, zone)
    assert len(day_of(now, zone)) == 10


@settings(max_examples=40, deadline=None)
@given(st.dates(date(1990, 1, 1), date(2090, 1, 1)), st.sampled_from([*ZONES, BERLIN]))
def test_a_day_is_the_day_of_its_beginning(day, zone):
    assert day_of(instant_of(day.isoformat(), zone), zone) == day.isoformat()
