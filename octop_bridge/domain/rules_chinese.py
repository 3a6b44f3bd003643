"""What a Chinese clause states outright about its speaker, by rules anchored at its first characters.

Chinese stays Chinese: the assertion is the clause with 我 named, so that numbers, names and negations stand as said.
"""

import re
from collections.abc import Callable

from msgspec.structs import replace

from octop_bridge.domain import rules_words as words
from octop_bridge.domain.records import QUOTE_CHARS_MAX, ClaimType, Level, Subject
from octop_bridge.domain.stated import SELF, Stated
from octop_bridge.domain.text import is_negated

_Rule = Callable[[re.Match[str], str], Stated | None]

_AGENT = Subject("agent", "Agent")
_LEAD = re.compile(
    r"(?:[\s\"'“「(（\[*•_~#–—-]|\d{1,2}[.、)]|其实|对了|另外|还有|而且|但是|但|不过|因为|所以|嗯|哦|噢|好的|好|啊|那个|顺便说一下|顺便说|顺便|说起来|话说|你好|您好|"
    r"我说过|说过|跟你说|告诉你|补充一下|更新一下|更正一下|[,，、:：])*"
)
_TAIL = re.compile(r"(?:了?(?:啊|呀|呢|哦|噢|喔|哈+|吧|啦|嘛|哟|的说)|谢谢|[\s.,;:!…。！；，、~～)）\]*_\"”」])*\Z")
_WHEN = re.compile(
    r"(?:现在|目前|最近|如今|[上下这本]个?(?:周|月|星期)[一二三四五六日末]?|[昨今明去前]天|[去今明前]年|自?[^，。]{1,8}(?:起|以来|开始))?(?:以来)?[,，]?(?=我)"
)
_VAGUE = re.compile(r"(?:你|您|这|那|它|他|她|什么|啥|怎么|哪|谁|一下|个人|自己觉得|的$|过$|了$)")
_UNSURE = re.compile(r"可能|也许|大概|或许|应该是|想要|希望|好像|估计|差点")
_ADV = r"(?:也|还|就|都|现在|目前|一直|平时|平常|通常|一般|总是|经常|最|特别|非常|很|超|超级|比较|真的|其实|从小|从来|已经|刚|刚刚|昨天|上周|上个月|去年|今年|最近)*"
_HAVE_NOUN = re.compile(
    r"(?:哥哥|弟弟|姐姐|妹妹|哥|弟|姐|妹|儿子|女儿|孩子|小孩|双胞胎|老婆|妻子|老公|丈夫|男朋友|女朋友|狗|猫|兔子|仓鼠|鹦鹉|乌龟|鱼|宠物|马|"
    r"船|帆船|车|汽车|自行车|摩托车|电动车|房子|公寓|花园|钢琴|吉他|小提琴|相机|电脑|笔记本|手机|服务器|平板|驾照|学位|硕士|博士|公司|店|工作室|"
    r"糖尿病|哮喘|高血压|过敏症|鼻炎|偏头痛|失眠症|博客|频道|播客)"
)
_MEASURE = r"(?:个|只|条|辆|艘|台|位|套|间|把|匹|部|对|家|架|张)"
_COUNT = rf"(?:[一二两三四五六七八九十几\d]+|半)?{_MEASURE}?"
_TIMES = r"(?:[上下这]个?(?:月|周|星期)|[去今前]年|[\d一二三四五六七八九十]+[月年日号]|昨天|前天|刚刚?|最近|已经|从[^，]{1,6}?(?=搬))*"
_THINGS = {
    "颜色": "colour",
    "食物": "food",
    "菜": "dish",
    "书": "book",
    "电影": "film",
    "歌": "song",
    "城市": "city",
    "运动": "sport",
}
"""Favourites that share their slot with English."""
_ORDER = re.compile(
    r"(?:请|用|别|不要|不用|叫|称呼|回答|回复|都用|都|说|写|给|先|只|多|少|不许|必须|尽量|始终|总是|一律|直接|简短|简洁|每次|帮我|记得|避免)"
)
_IDLE_ORDER = re.compile(r"(?:再说|再见|再聊|见|有机会|有空|我|他|她|它|会|的|就知道|聊|吧|可能|怎么|要是|咱)")


def read(clause: str, name: str) -> Stated | None:
    """What the clause states about its speaker, called `name`, or about a thing; or None."""
    lead = _LEAD.match(clause)
    start = lead.end() if lead else 0
    when = _WHEN.match(clause, start)
    at = when.end() if when else start
    tail = _TAIL.search(clause, at)
    core = clause[at : tail.start() if tail else len(clause)]
    if not 3 <= len(core) <= 120 or clause.rstrip("。！!~～ ").endswith("吧") or "[redacted:" in core:
        return None
    found = _first(core, name)
    if found is None:
        return None
    begin = at + found.start if found.start else start
    return replace(
        found, start=begin, end=at + found.end, assertion=clause[start:at] * (not found.start) + found.assertion
    )


def _first(core: str, name: str) -> Stated | None:
    for pattern, rule in _RULES:
        match = pattern.match(core)
        found = rule(match, name) if match else None
        if found is not None:
            return found
    return None


def told(text: str, name: str) -> str:
    """The clause with its speaker named; 我们 at its beginning becomes the speaker and others, 我们的 goes."""
    text = re.sub(
        r"^我们的?(?=(?:例会|站会|团队|项目|办公室|公司|发布|会议|[\u4e00-\u9fff]{2,8}(?:是|在|改|搬)))", "", text
    )
    text = re.sub(r"^(?:我们|咱们)", f"{name}等人", text)
    text = text.replace("我们", "他们").replace("咱们", "他们")
    return re.sub(r"(?<![自])我(?![国方校军])", name, text)


def _claim(
    match: re.Match[str],
    name: str,
    type_: ClaimType,
    *,
    value: str | None = None,
    slot: str | None = None,
    subject: Subject = SELF,
    importance: Level = "medium",
    confidence: Level = "high",
    timed: bool = True,
    change: bool = False,
    assertion: str | None = None,
) -> Stated | None:
    core = match.string
    if len(core) > QUOTE_CHARS_MAX or _UNSURE.search(core):
        return None
    return Stated(
        type=type_,
        start=0,
        end=len(core),
        assertion=assertion or told(core, name),
        subject=subject,
        slot=None if slot is not None and is_negated(core) else slot,
        value=value or None,
        importance=importance,
        confidence=confidence,
        time="change" if change else "state" if timed else "none",
    )


def _fact(slot: str | None = None, *, importance: Level = "medium", change: bool = False) -> _Rule:
    def rule(match: re.Match[str], name: str) -> Stated | None:
        value = _value(match["obj"])
        if _VAGUE.match(value) or not value:
            return None
        return _claim(match, name, "Fact", value=value, slot=slot, importance=importance, change=change)

    return rule


def _value(text: str) -> str:
    """The object without its particles and what is told of it."""
    return re.sub(
        r"(?:了|的时候|很久|好多年|[一二两三四五六七八九十\d]+年)+$", "", re.split(r"[,，、(（]", text)[0]
    ).strip()


def _prefers(match: re.Match[str], name: str) -> Stated | None:
    value = re.sub(r"^(?:吃|喝)(?=.)", "", _value(match["obj"]))
    if _VAGUE.match(value) or not value:
        return None
    return _claim(match, name, "Preference", value=value)


def _favourite(match: re.Match[str], name: str) -> Stated | None:
    value = _value(match["obj"])
    return (
        None
        if _VAGUE.match(value)
        else _claim(
            match, name, "Preference", value=value, slot=f"favourite_{_THINGS.get(match['what'], match['what'])}"
        )
    )


def _named(match: re.Match[str], name: str) -> Stated | None:
    value = _value(match["obj"])
    if re.match(r"他|她|它|了|你|人|外卖|车|个|不|什么", value):
        return None
    return _claim(match, name, "Fact", value=value, slot="name", timed=False)


def _lives(match: re.Match[str], name: str) -> Stated | None:
    value = re.sub(r"市区?$", "", _value(match["obj"]).removeprefix("了"))
    if _VAGUE.match(value) or not value:
        return None
    slot = (
        None
        if re.search(r"(?:附近|旁边?|[里边上路街楼号村院]|小区|公寓|家里?|[一二两三四五六七八九十\d]层)$", value)
        else "home_city"
    )
    return _claim(match, name, "Fact", value=value, slot=slot, change="搬" in match[0])


def _home_town(match: re.Match[str], name: str) -> Stated | None:
    place = match["obj"] or match["place"]
    if re.search(r"个|好|坏|男|女|老|年轻|本|聪明|懒", place):
        return None
    return _claim(match, name, "Fact", value=place, slot="home_town", timed=False)


def _works(match: re.Match[str], name: str) -> Stated | None:
    value = _value(match["obj"])
    return None if _VAGUE.match(value) else _claim(match, name, "Fact", value=value)


def _mine(match: re.Match[str], name: str) -> Stated | None:
    what, value = match["what"], _value(match["obj"])
    if (
        _VAGUE.match(value)
        or not value
        or re.search(r"问题|意思|想法|建议|看法|感觉|理解|观点|重点|天$|话$|错$|目的", what)
    ):
        return None
    if re.search(r"[停放住存藏想]$", what):
        return None
    several = re.search(r"猫|狗|哥|弟|姐|妹|儿子|女儿|孩子|朋友|同事|同学", what) is not None
    slot = None if several else words.ATTRIBUTES.get(what, what)
    return _claim(match, name, "Fact", value=value, slot=slot, timed=slot not in {"birthday", "name"})


def _ours(match: re.Match[str], name: str) -> Stated | None:
    what, value = match["what"], _value(match["obj"])
    if _VAGUE.match(value) or not value or re.search(r"你|他|她|自己", what):
        return None
    clock = re.search(r"点|:|：|\d{1,2}[.:]\d\d|周[一二三四五六日天]|星期|月|号|日", value) is not None
    slot = (
        "time"
        if re.search(r"点|:|：", value)
        else "date"
        if clock
        else "location"
        if "搬" in match["how"] or "在" in match["how"]
        else "value"
    )
    return _claim(match, name, "Fact", value=value, slot=slot, subject=Subject(what, "Thing"), timed=slot == "location")


def _decided(match: re.Match[str], name: str) -> Stated | None:
    value = _value(match["obj"])
    return None if _VAGUE.match(value) else _claim(match, name, "Decision", value=value, importance="high", timed=False)


def _has(match: re.Match[str], name: str) -> Stated | None:
    what = match["obj"]
    if _HAVE_NOUN.search(what) is None or re.search(r"问题|想法|疑问|说|觉得|喜欢|要|想", what):
        return None
    return _claim(match, name, "Fact", value=re.sub(rf"^一?{_MEASURE}(?=.)", "", _value(what)))


def _uses(match: re.Match[str], name: str) -> Stated | None:
    value = _value(match["obj"])
    if _VAGUE.match(value) or re.match(r"(?:完|过|了|不|得|力|心|尽)", value):
        return None
    return _claim(match, name, "Fact", value=value)


def _instruct(match: re.Match[str], name: str) -> Stated | None:
    what = match["obj"]
    if _IDLE_ORDER.match(what) or (match.groupdict().get("later") and not _ORDER.match(what)):
        return None
    text = re.sub(r"你|您", "", told(match.string, name))
    return _claim(
        match,
        name,
        "Instruction",
        subject=_AGENT,
        importance="high",
        timed=False,
        assertion=f"助手{text.removeprefix('请')}",
    )


def _call_me(match: re.Match[str], name: str) -> Stated | None:
    value = _value(match["obj"])
    if re.search(r"他|她|起床|一声|去|来|名字|什么|吃", value) or len(value) > 12:
        return None
    return _claim(
        match, name, "Instruction", value=value, slot="form_of_address", subject=_AGENT, importance="high", timed=False,
        assertion=f"助手应叫{name}{value}",
    )  # fmt: skip


def _take_back(match: re.Match[str], name: str) -> Stated | None:
    text = told(match.string, name)
    assertion = text if match.string.startswith("我") else f"{name}说：{text}"
    return _claim(
        match,
        name,
        "Retraction",
        value=_value((match.groupdict().get("obj") or "").lstrip("，,：: ")) or None,
        timed=False,
        assertion=assertion,
    )


def _task(match: re.Match[str], name: str) -> Stated | None:
    value = _value(match["obj"])
    if _VAGUE.match(value) or len(value) < 2:
        return None
    remind = match.groupdict().get("remind")
    assertion = f"{name}要助手提醒{value}" if remind else None
    return _claim(
        match, name, "Task", value=value, confidence="high" if remind else "medium", timed=False, assertion=assertion
    )


def _remember(match: re.Match[str], name: str) -> Stated | None:
    """What is asked to be remembered: by its own rule, else as it is said."""
    begin, rest = match.start("obj"), match["obj"]
    known = _first(rest, name)
    if known is not None:
        return replace(known, start=begin, end=begin + known.end, confidence="high")
    if _VAGUE.match(rest) or len(rest) < 4 or "你" in rest:
        return None
    found = _claim(match, name, "Fact", assertion=told(rest, name))
    return replace(found, start=begin) if found is not None else None


def _r(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


_RULES: tuple[tuple[re.Pattern[str], _Rule], ...] = (
    (
        _r(r"(?:请|帮我|麻烦|你要|要)?(?:记住|记得|记一下|记下来?|牢记|别忘了|不要忘记)[:：,，]?\s*(?P<obj>.{3,})"),
        _remember,
    ),
    (_r(r"我(?:刚才|刚刚|之前|上次)?(?:说错|讲错|记错|弄错|搞错)了?(?P<obj>.*)"), _take_back),
    (
        _r(
            r"(?:请)?(?:忘了|忘掉|忘记|收回|撤回|当我没说|别管|不用管|忽略)(?:我)?(?:刚才|刚刚|之前|上面|前面)?(?:说的?|讲的?|那句|的话|那条)?(?P<obj>.*)"
        ),
        _take_back,
    ),
    (
        _r(r"(?:刚才|刚刚|之前|前面)(?:我)?(?:说的|讲的|那句)(?P<obj>.*?)(?:不对|错了|是错的|不算|作废|不是真的)"),
        _take_back,
    ),
    (_r(r"我收回(?P<obj>.+)"), _take_back),
    (_r(r"(?:请|以后|就|你可以|可以|直接)*(?:叫我|称呼我为?|喊我)(?P<obj>.{1,12})"), _call_me),
    (
        _r(r"(?P<later>以后|今后|往后|从现在起|从现在开始|从今以后|从今往后|下次)[,，]?(?:你|您)?(?P<obj>.{2,})"),
        _instruct,
    ),
    (
        _r(
            r"(?:请)?(?P<obj>(?:别再|不要再|千万别|永远不要|永远别|不许再|总是用|始终用|一律用|请一直)(?!说了|提了|见).{2,})"
        ),
        _instruct,
    ),
    (
        _r(
            r"(?:请)?(?P<obj>(?:都用|全部用|只用|用)(?:中文|英文|英语|德语|法语|日语|简体|繁体)(?:来)?(?:回答|回复|写|跟我说|交流).*)"
        ),
        _instruct,
    ),
    (_r(r"(?:请|记得)?(?P<remind>提醒我)(?P<obj>.+)"), _task),
    (
        _r(r"我(?:需要|得|必须|要记得|要)(?P<obj>(?:去|买|交|做|写|完成|准备|提交|付|缴|预约|订|还|寄|联系|打电话).+)"),
        _task,
    ),
    (_r(rf"我{_ADV}喜欢的(?P<what>[^是]{{1,8}}?)是(?P<obj>.+)"), _favourite),
    (_r(r"我(?:叫|名叫|的名字叫)(?P<obj>[\u4e00-\u9fff·]{1,6}|[A-Z][\w .'-]{0,30})$"), _named),
    (_r(rf"我{_ADV}(?:不再|不)?(?:是)?(?:住在|居住在|家住|定居在?)(?P<obj>.+)"), _lives),
    (_r(rf"我(?:{_ADV}|{_TIMES})从?[^，你他她它妈爸哥姐弟妹想要会]{{0,8}}?搬(?:家)?[到去](?P<obj>.+)"), _lives),
    (_r(r"我(?:是(?P<obj>[\u4e00-\u9fff]{2,6}?)人|来自(?P<place>[\u4e00-\u9fff]{2,8}))$"), _home_town),
    (_r(rf"我{_ADV}(?:不再|不|没)?在(?P<obj>[^，,]{{1,30}}?)(?:工作|上班|任职|实习|读书|上学|念书|教书)"), _works),
    (_r(rf"我{_ADV}(?:不)?对(?P<obj>[^，,]{{1,20}}?)(?:严重|轻微|有点)?过敏"), _fact(importance="high")),
    (_r(rf"我{_ADV}(?:不吃|不喝|不能吃|不能喝|从不吃|从不喝|不抽|戒了)(?P<obj>.+)"), _fact(importance="high")),
    (
        _r(r"我(?:是|吃|现在是)?(?:个)?(?P<obj>(?:纯?素食者|素食主义者|素|全素|清真|左撇子|独生子女?|单身|色盲))$"),
        _fact(),
    ),
    (
        _r(
            rf"我{_ADV}(?:不太|不怎么|不|没那么)?(?:喜欢|喜爱|热爱|爱|讨厌|厌恶|受不了|偏好|更喜欢|偏爱|习惯)(?P<obj>.+)"
        ),
        _prefers,
    ),
    (
        _r(
            r"我是(?:一名|一个|一位|个|名|做)?(?P<obj>[^，,的]{0,10}?(?:工程师|程序员|开发者|设计师|老师|教师|医生|护士|律师|学生|研究员|经理|作家|画家|厨师|会计|记者|司机|教授|博士生|研究生|产品经理|翻译|摄影师|音乐家))$"
        ),
        _fact("job_title"),
    ),
    (_r(r"我(?:今年)?(?P<obj>[一二三四五六七八九十\d]{1,4})岁"), _fact("age")),
    (
        _r(
            r"我(?:的|(?=名字|生日|邮箱|电话|手机号|老家|时区))(?P<what>[\u4e00-\u9fffA-Za-z]{1,10}?)(?:现在)?(?:是|叫|在)(?P<obj>[^不].*)"
        ),
        _mine,
    ),
    (_r(rf"我{_ADV}(?:不|没)?(?:用的是|使用|用|在用)(?P<obj>.+)"), _uses),
    (_r(rf"我(?:{_ADV}|家)(?:养了?|有|买了)(?P<obj>{_COUNT}.+)"), _has),
    (_r(rf"我(?:没有|没养)(?P<obj>{_COUNT}.+)"), _has),
    (
        _r(
            r"(?:我们|咱们|我)(?:团队|小组|已经|最后|最终|一起|刚刚?)*(?:决定|商定|约定|说好|同意|选定|选择)了?(?P<obj>.+)"
        ),
        _decided,
    ),
    (
        _r(r"(?:我们|咱们)(?:团队|公司|项目|小组)?(?:不)?(?:都|现在|一直|目前)*(?:用的是|使用|用|部署在)(?P<obj>.+)"),
        _uses,
    ),
    (
        _r(
            r"我们的?(?P<what>[\u4e00-\u9fffA-Za-z]{2,10}?)(?P<how>(?:从.{1,12})?(?:改到了?|改成了?|改为|搬到了?|换成了?|推迟到了?|提前到了?)|是|在|定在了?)(?P<obj>.+)"
        ),
        _ours,
    ),
    (_r(rf"我{_ADV}(?:不)?会(?:说|讲|弹|拉|打|开|做)(?P<obj>.+)"), _fact()),
)
