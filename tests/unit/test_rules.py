"""What people state outright becomes a claim; what only looks like it does not."""

import json
import time
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import octop_bridge.cli
from octop_bridge.domain.moments import day_of
from octop_bridge.domain.records import QUOTE_CHARS_MAX, Event, Subject
from octop_bridge.domain.rules import CLAIMS_MAX, extract
from octop_bridge.domain.text import is_negated

BERLIN = "Europe/Berlin"
AT = int(datetime(2026, 5, 13, 10, tzinfo=ZoneInfo(BERLIN)).timestamp() * 1000)
USER = Subject("user", "Person")
TRANSCRIPT = Path(octop_bridge.cli.__file__).with_name("demo_transcript.jsonl")


def said(content, *, role="user", chat_type="direct", name=None, kind="turn", zone=BERLIN, at_ms=AT, event_id="e1"):
    return Event(
        event_id=event_id,
        owner="o",
        session_id="s",
        role=role,
        speaker="user:c/1",
        speaker_name=name,
        kind=kind,
        content=content,
        at_ms=at_ms,
        recorded_ms=at_ms,
        zone=zone,
        chat_type=chat_type,
    )


def claims(content, **kwargs):
    return extract([said(content, **kwargs)])


def only(content, **kwargs):
    [claim] = claims(content, **kwargs)
    assert claim.quote in content
    return claim


FACTS = [
    ("I live in Berlin.", "User lives in Berlin", "home_city", "Berlin"),
    ("i live in berlin", "User lives in berlin", "home_city", "berlin"),
    ("I live in Kiel with my brother Jonas", "User lives in Kiel with User's brother Jonas", "home_city", "Kiel"),
    ("I just moved from Paris to Berlin!", "User just moved from Paris to Berlin", "home_city", "Berlin"),
    ("Now I live in Porto", "Now User lives in Porto", "home_city", "Porto"),
    ("I'm from Lisbon", "User is from Lisbon", "home_town", "Lisbon"),
    ("I work at Acme Corp as a data engineer", "User works at Acme Corp as a data engineer", "employer", "Acme Corp"),
    ("I work for Northgate Robotics", "User works for Northgate Robotics", "employer", "Northgate Robotics"),
    ("I work as a nurse", "User works as a nurse", "job_title", "nurse"),
    ("I'm a software engineer at Linden", "User is a software engineer at Linden", "job_title", "software engineer"),
    ("My name is Mara.", "User's name is Mara", "name", "Mara"),
    ("my birthday is on 14 March", "User's birthday is on 14 March", "birthday", "14 March"),
    ("My e-mail is mara@example.org", "User's e-mail is mara@example.org", "email", "mara@example.org"),
    ("My phone number is +49 151 234567", "User's phone number is +49 151 234567", "phone", "+49 151 234567"),
    ("My time zone is Europe/Berlin", "User's time zone is Europe/Berlin", "timezone", "Europe/Berlin"),
    ("My standup time is 9:30", "User's standup time is 9:30", "standup_time", "9:30"),
    ("My editor is Helix", "User's editor is Helix", "editor", "Helix"),
    ("My dentist is Dr. Weiss.", "User's dentist is Dr. Weiss", "dentist", "Dr. Weiss"),
    ("I am vegan", "User is vegan", "diet", "vegan"),
    ("I'm allergic to peanuts", "User is allergic to peanuts", None, "peanuts"),
    ("I'm not allergic to shellfish", "User is not allergic to shellfish", None, "shellfish"),
    ("I can't eat dairy", "User can't eat dairy", None, "dairy"),
    ("I use Vim for editing Python", "User uses Vim for editing Python", None, "Vim for editing Python"),
    ("I have a boat", "User has a boat", None, "boat"),
    ("I have two cats, Miso and Pixel", "User has two cats, Miso and Pixel", None, "two cats, Miso and Pixel"),
    ("I own a kayak", "User owns a kayak", None, "kayak"),
    ("I don't have a car", "User doesn't have a car", None, "car"),
    ("I no longer live in Berlin", "User no longer lives in Berlin", None, "Berlin"),
    ("I always book the 7:40 train", "User always books the 7:40 train", None, "the 7:40 train"),
    ("I take my coffee with oat milk", "User takes User's coffee with oat milk", None, "coffee with oat milk"),
    ("I keep bees on the roof", "User keeps bees on the roof", None, "bees on the roof"),
    ("My sister is a nurse", "User's sister is a nurse", None, "a nurse"),
    ("My brother's name is Jonas", "User's brother's name is Jonas", None, "Jonas"),
    ("I used to live in Oslo", "User used to live in Oslo", None, "live in Oslo"),
    ("I've been sailing since 2012", "User has been sailing since 2012", None, "sailing"),
    ("Remember that my locker number is 42.", "User's locker number is 42", "locker_number", "42"),
    ("Note that I park on level 3", "User parks on level 3", None, None),
    ("我叫林小雨", "用户叫林小雨", "name", "林小雨"),
    ("我住在柏林", "用户住在柏林", "home_city", "柏林"),
    ("我住在港口附近", "用户住在港口附近", None, "港口附近"),
    ("我从慕尼黑搬到了柏林", "用户从慕尼黑搬到了柏林", "home_city", "柏林"),
    ("我在腾讯工作", "用户在腾讯工作", None, "腾讯"),
    ("我对花生过敏", "用户对花生过敏", None, "花生"),
    ("我的生日是3月14日", "用户的生日是3月14日", "birthday", "3月14日"),
    ("我用Vim写代码", "用户用Vim写代码", None, "Vim写代码"),
    ("我有一条船", "用户有一条船", None, "船"),
    ("我没有车", "用户没有车", None, "车"),
    ("我是软件工程师", "用户是软件工程师", "job_title", "软件工程师"),
    ("请记住：门禁密码是0412", "门禁密码是0412", None, None),
]


@pytest.mark.parametrize(("content", "assertion", "slot", "value"), FACTS, ids=[row[0] for row in FACTS])
def test_a_statement_about_oneself_is_a_fact(content, assertion, slot, value):
    claim = only(content)
    assert (claim.type, claim.assertion, claim.slot, claim.value) == ("Fact", assertion, slot, value)
    assert claim.event_ids == ("e1",)


PREFERENCES = [
    ("I prefer dark mode please", "User prefers dark mode", None, "dark mode"),
    ("I prefer tea over coffee", "User prefers tea over coffee", None, "tea"),
    ("I don't like coriander", "User doesn't like coriander", None, "coriander"),
    ("i dont like mushrooms", "User doesn't like mushrooms", None, "mushrooms"),
    ("I can't stand loud music", "User can't stand loud music", None, "loud music"),
    ("Actually I hate Chinese food now", "User hates Chinese food now", None, "Chinese food"),
    ("My favorite language is Rust", "User's favorite language is Rust", "favourite_language", "Rust"),
    ("Low Tide is my favourite band", "Low Tide is User's favourite band", "favourite_band", "Low Tide"),
    ("我喜欢喝乌龙茶", "用户喜欢喝乌龙茶", None, "乌龙茶"),
    ("我不喜欢加班", "用户不喜欢加班", None, "加班"),
    ("我讨厌香菜", "用户讨厌香菜", None, "香菜"),
    ("我最喜欢的颜色是蓝色", "用户最喜欢的颜色是蓝色", "favourite_colour", "蓝色"),
]


@pytest.mark.parametrize(("content", "assertion", "slot", "value"), PREFERENCES, ids=[row[0] for row in PREFERENCES])
def test_a_like_or_a_dislike_is_a_preference(content, assertion, slot, value):
    claim = only(content)
    assert (claim.type, claim.assertion, claim.slot, claim.value) == ("Preference", assertion, slot, value)


OTHERS = [
    ("We decided to use Postgres for billing", "Decision", "User and others decided to use Postgres for billing"),
    ("We agreed not to deploy on Fridays.", "Decision", "User and others agreed not to deploy on Fridays"),
    ("We chose FastAPI over Flask", "Decision", "User and others chose FastAPI over Flask"),
    ("我们决定周五不发布", "Decision", "用户等人决定周五不发布"),
    ("Don't ever call me before 9", "Instruction", "The agent should never call User before 9"),
    ("Never use emojis in your answers", "Instruction", "The agent should never use emojis in its answers"),
    ("Always answer in German", "Instruction", "The agent should always answer in German"),
    ("From now on answer in bullet points", "Instruction", "From now on the agent should answer in bullet points"),
    ("Please call me Captain", "Instruction", "The agent should call User Captain"),
    ("Keep your answers short", "Instruction", "The agent should keep its answers short"),
    ("以后回答请简短一点", "Instruction", "助手以后回答请简短一点"),
    ("别再发表情了", "Instruction", "助手别再发表情了"),
    ("叫我小美", "Instruction", "助手应叫用户小美"),
    ("I misspoke, I do not have a sister", "Retraction", "User misspoke, User does not have a sister"),
    ("Forget that.", "Retraction", "User asks to forget that"),
    ("Scratch that", "Retraction", "User asks to scratch that"),
    ("That was wrong", "Retraction", "User says: that was wrong"),
    ("Forget that I own a motorbike", "Retraction", "User asks to forget that User owns a motorbike"),
    ("我说错了，我没有姐姐", "Retraction", "用户说错了，用户没有姐姐"),
    ("忘了刚才说的", "Retraction", "用户说：忘了刚才说的"),
    ("I need to renew my passport", "Task", "User needs to renew User's passport"),
    ("Remind me to call the dentist", "Task", "User wants to be reminded to call the dentist"),
    ("提醒我给牙医打电话", "Task", "用户要助手提醒给牙医打电话"),
]


@pytest.mark.parametrize(("content", "type_", "assertion"), OTHERS, ids=[row[0] for row in OTHERS])
def test_decisions_orders_retractions_and_tasks_are_told_apart(content, type_, assertion):
    claim = only(content)
    assert (claim.type, claim.assertion) == (type_, assertion)


THINGS = [
    ("Our standup is at 9:30", "standup", "time", "9:30"),
    ("Our standup moved from 9:30 to 10:15", "standup", "time", "10:15"),
    ("We moved the standup to 10:15", "standup", "time", "10:15"),
    ("Our office moved to Calle Mayor 9", "office", "location", "Calle Mayor 9"),
    ("The release is on 12 May", "release", "date", "12 May"),
    ("The retro has been moved to Wednesdays", "retro", "date", "Wednesdays"),
    ("The rent is 900 euros", "rent", "value", "900 euros"),
    ("Our CTO is Hana", "CTO", "value", "Hana"),
    ("我们的例会从九点半改到十点一刻", "例会", "time", "十点一刻"),
]


@pytest.mark.parametrize(("content", "thing", "slot", "value"), THINGS, ids=[row[0] for row in THINGS])
def test_a_thing_of_the_team_is_its_own_subject(content, thing, slot, value):
    claim = only(content)
    assert (claim.type, claim.subject, claim.slot, claim.value) == ("Fact", Subject(thing, "Thing"), slot, value)
    assert not claim.assertion.startswith(("Our", "我们"))


def test_two_statements_of_a_sentence_are_two_claims():
    found = claims("I live in Berlin and I love sushi but I hate wasabi; I'm vegan.")
    assert [claim.assertion for claim in found] == [
        "User lives in Berlin",
        "User loves sushi",
        "User hates wasabi",
        "User is vegan",
    ]


def test_a_statement_before_a_question_is_read_and_the_question_is_not():
    claim = only("Hey! I'm allergic to peanuts, what can I eat in Bangkok?")
    assert claim.quote == "I'm allergic to peanuts"
    assert claims("Am I allergic to peanuts?") == []


IDLE = [
    "Do you remember where I live?",
    "What is my name",
    "I live in Berlin, right?",
    "If I have a boat, I need a licence.",
    "I would like to live in Porto",
    "I'd love a boat",
    "I wish I had a boat",
    "Maybe I prefer tea",
    "Imagine I have a boat.",
    "She says I live in a dump",
    "He told me: I hate coriander.",
    'He said "I live in Berlin."',
    '"I live in Berlin"',
    "'I live in Berlin'",
    "> I live in Berlin",
    "```\nI live in Berlin\n```",
    "Translate this to German: I live in Berlin",
    "Please proofread this:\n\nI live in Berlin. I work at Acme.",
    "Anna: I live in Berlin",
    "[10:32] Bob: I work at Acme",
    "On Mon, 3 May 2026 at 10:00, Bob wrote:\nI live in Berlin",
    "---------- Forwarded message ---------\nI am vegan",
    "you never remember ANYTHING lol",
    "yeah right, I love Mondays",
    "Good morning",
    "Now running npm test",
    "Step 3: I will now run the tests",
    "I love that!",
    "I like your idea",
    "I use it for work",
    "I have a question",
    "I have a server that returns 500",
    "I need to parse a JSON file in Python",
    "I'm tired",
    "My point is that we should wait",
    "My query is slow",
    "my phone is dead",
    "My password is [redacted:password]",
    "The error is on line 40",
    "The meeting is in 10 minutes",
    "Our API is slow",
    "Never mind",
    "Never say never",
    "Always happy to help",
    "Always returns None for some reason",
    "Remember when we went to Rome?",
    "Note that x is an integer",
    "Forget it",
    "That is wrong",
    "Call me later",
    "Answer in one word: what is 2+2",
    "From now on the tests fail",
    "I prefer the second option",
    "I found a bug yesterday",
    "我住在哪里？",
    "你记得我住在哪里吗",
    "如果我住在柏林就好了",
    "她说我住在乡下",
    "他说：“我住在柏林”",
    "翻译：我住在柏林",
    "我妈妈住在柏林",
    "我爱你",
    "我喜欢这个",
    "我有个问题",
    "以后再说",
    "今晚我们用中文聊吧",
    "我叫了外卖",
    "开玩笑的，我有一条船",
    "",
    "🎉",
]


@pytest.mark.promise("R9")
@pytest.mark.parametrize("content", IDLE)
def test_what_only_looks_like_a_statement_is_none(content):
    assert claims(content) == []


def test_a_statement_stands_beside_quotations_code_and_jokes():
    content = (
        '> I live in Oslo\nThat is a quote. "I live in Rome" too, lol.\n```\nI live in Paris\n```\nI live in Berlin.'
    )
    assert only(content).value == "Berlin"


def test_a_value_in_quotation_marks_stays():
    assert only("My favourite band is “Low Tide”").value == "Low Tide"


@pytest.mark.promise("R1")
@pytest.mark.promise("R5")
@pytest.mark.promise("octop-T5")
@pytest.mark.parametrize("role", ["assistant", "tool", "system", "developer"])
def test_only_what_users_say_is_read(role):
    for content in (
        "As my SOUL file says, I am vegan and I live in Berlin",
        "I live in Berlin",
        "Now running npm test",
    ):
        assert claims(content, role=role) == []
    assert claims("I live in Berlin", kind="memory_write") == []
    assert only("I live in Berlin", role="user").value == "Berlin"


@pytest.mark.promise("PUB-05")
@pytest.mark.promise("R6")
def test_the_words_that_an_envelope_leaves_are_read():
    assert only("I always book the 7:40 train").assertion == "User always books the 7:40 train"
    assert only("I am vegan").slot == "diet"


@pytest.mark.parametrize(
    "content",
    [
        "I dont live in Berlin",
        "I no longer live in Berlin",
        "My name is not Mara",
        "我不住在柏林",
        "Our standup isn't at 9:30",
    ],
)
def test_a_denial_fills_no_slot(content):
    claim = only(content)
    assert claim.slot is None
    assert claim.value is not None
    assert is_negated(claim.assertion)


def test_a_label_is_told_from_a_speaker():
    assert only("Update: I moved to Porto.").value == "Porto"
    assert only("Remember: the spare key is under the blue pot").assertion == "The spare key is under the blue pot"
    assert claims("Hana: I moved to Porto.") == []


def test_in_a_group_the_speaker_is_named():
    assert (
        only("I live in Berlin with my cat", chat_type="group", name="Ana").assertion
        == "Ana lives in Berlin with Ana's cat"
    )
    assert only("我住在柏林", chat_type="group", name="小林").assertion == "小林住在柏林"
    assert only("I live in Berlin", chat_type="group").assertion == "User lives in Berlin"
    assert only("I live in Berlin", name="Ana").assertion == "User lives in Berlin"
    assert only("I live in Berlin", chat_type="group", name="Ana").subject == USER


def test_among_people_a_reminder_is_for_the_other_one():
    assert claims("Don't forget to water the plants", chat_type="group", name="Ana") == []
    assert only("Don't forget to water the plants").type == "Task"


@pytest.mark.promise("R31")
def test_an_event_is_told_with_its_date():
    at_ms = int(datetime(2024, 12, 31, 23, 30, tzinfo=ZoneInfo("America/New_York")).timestamp() * 1000)
    claim = only("I flew to Rome yesterday", zone="America/New_York", at_ms=at_ms)
    assert (claim.type, claim.assertion) == ("Event", "User flew to Rome on 2024-12-30")
    assert claim.quote == "I flew to Rome yesterday"
    assert day_of(claim.valid_from_ms, "America/New_York") == "2024-12-30"
    assert day_of(claim.valid_to_ms, "America/New_York") == "2024-12-31"
    assert claims("I flew to Rome") == []


def test_a_state_is_bounded_by_what_is_said_of_it():
    moved = only("I moved to Porto last week")
    assert (moved.assertion, moved.slot) == ("User moved to Porto in the week of 2026-05-04", "home_city")
    assert (day_of(moved.valid_from_ms, BERLIN), moved.valid_to_ms) == ("2026-05-04", None)
    away = only("I'm on leave until Friday")
    assert (away.valid_from_ms, day_of(away.valid_to_ms, BERLIN)) == (None, "2026-05-16")
    birthday = only("My birthday is on 14 March")
    assert (birthday.valid_from_ms, birthday.valid_to_ms) == (None, None)


def test_weight_follows_what_is_at_stake():
    assert only("I'm allergic to peanuts").importance == "high"
    assert only("We decided to use Go").importance == "high"
    assert only("Always answer in German").importance == "high"
    assert only("I like hiking").importance == "medium"
    assert only("I like hiking").confidence == "high"
    assert only("I'm learning Rust").confidence == "medium"


def test_the_language_of_answers_and_the_form_of_address_are_slots():
    german = only("Always answer in German")
    assert (german.slot, german.value, german.subject) == ("answer_language", "German", Subject("agent", "Agent"))
    assert only("Call me Mara").slot == "form_of_address"


def test_the_same_sentence_again_is_the_same_quote():
    assert only("By the way, I have a boat.").quote == only("Like I said, I have a boat.").quote == "I have a boat"


def test_a_sentence_ends_where_it_ends():
    found = claims(
        "My dentist is Dr. Weiss. I use Python 3.11.4 e.g. for scripts at https://a.example/x.y. I like tea.我住在柏林。我有一条船！"
    )
    assert [claim.value for claim in found] == [
        "Dr. Weiss",
        "Python 3.11.4 e.g. for scripts at https://a.example/x.y",
        "tea",
        "柏林",
        "船",
    ]


def test_a_curly_apostrophe_reads_like_a_straight_one():
    claim = only("I’m allergic to nuts")
    assert (claim.assertion, claim.quote) == ("User is allergic to nuts", "I’m allergic to nuts")


def test_a_slice_gives_at_most_twenty_claims_and_keeps_the_weightier():
    words = [f"I like sport number {at}." for at in range(40)]
    found = claims(" ".join([*words, "I'm allergic to peanuts."]))
    assert len(found) == CLAIMS_MAX
    assert found[-1].value == "peanuts"
    assert [claim.value for claim in found[:2]] == ["sport number 0", "sport number 1"]


def test_a_long_clause_is_cut_to_a_quote_or_left():
    long = "I use Helix for " + ", ".join(f"language{at}" for at in range(30))
    claim = only(long)
    assert len(claim.quote) <= QUOTE_CHARS_MAX
    assert claim.quote in long
    assert claims("I like " + "very" * 60) == []


def transcript():
    for line in TRANSCRIPT.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        at_ms = int(datetime.fromisoformat(row["timestamp"]).timestamp() * 1000)
        yield said(row["content"], role=row["role"], at_ms=at_ms, event_id=row["id"])


def test_every_quote_of_the_transcript_stands_in_its_event():
    events = {event.event_id: event for event in transcript()}
    found = [claim for event in events.values() for claim in extract([event])]
    assert len(found) > 15
    for claim in found:
        event = events[claim.event_ids[0]]
        assert claim.quote in event.content
        assert event.role == "user"


@settings(max_examples=80, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [*(row[0] for row in FACTS), *(row[0] for row in PREFERENCES), *(row[0] for row in OTHERS), *IDLE]
        )
        | st.text(max_size=12),
        max_size=5,
    ),
    st.sampled_from([" ", ". ", ", ", "\n", "，", " and ", '"']),
    st.booleans(),
)
def test_whatever_is_written_quotes_are_verbatim_and_nothing_breaks(parts, joint, group):
    content = joint.join(parts)
    for claim in claims(content, chat_type="group" if group else "direct", name="Ana"):
        assert claim.quote in content
        assert 0 < len(claim.quote) <= QUOTE_CHARS_MAX
        assert claim.assertion


@pytest.mark.parametrize(
    "content",
    [
        "I " * 9000,
        "I really " * 2500,
        ", " * 9000,
        '"' * 18000,
        "“" * 18000,
        "'a " * 6000,
        "my " * 6000,
        "since a b, " * 1800,
        "我，" * 9000,
        "a: " * 6000,
    ],
    ids=["I", "adverbs", "commas", "quotes", "openers", "single quotes", "my", "leads", "chinese", "colons"],
)
def test_a_hostile_text_costs_no_more_than_its_length(content):
    began = time.perf_counter()
    claims(content)
    assert time.perf_counter() - began < 2
