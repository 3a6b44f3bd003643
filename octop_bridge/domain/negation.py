"""Whether a text denies: negation words by token, never by substring, with the idioms that deny nothing left out.

Two negations of one clause count as none only where that is plain ("can't not", "never without", 不得不).
"""

import re
from collections.abc import Sequence
from functools import cache

from octop_bridge.domain.folding import normalise, simplify, skeleton
from octop_bridge.domain.words import expand, is_number, scan, word_set

_NEGATIONS = word_set(
    "not no never none nobody nothing nowhere neither nor without hardly scarcely dislike dislikes disliked unable"
    " nicht kein keine keinen keinem keiner keines nie niemals nichts"
    " jamais rien nunca nadie ninguno ninguna não nenhum nenhuma non mai nessuno не нет никогда ничего нельзя"
)
_STOPS = frozenset(".!?;:。")
_PAUSES = _STOPS | frozenset(",-、")
_DENIES_NOTHING = {
    "not": word_set("only merely solely least"),
    "no": word_set("doubt matter wonder sooner"),
    "nothing": word_set("but"),
    "none": word_set("other"),
    "never": word_set("mind"),
    "не": word_set("только"),
    "nicht": word_set("nur"),
    "non": word_set("- solo"),
}
"""A negation and the words after it that take its sense away."""
_CONTRASTS = word_set("but and or so because although though which who while whereas")
_ADVERBS = word_set("really actually simply ever just be have quite at all")


def is_negated(text: str) -> bool:
    """Return whether the text denies what it is about."""
    folded = simplify(normalise(text))
    if _speaks(folded):
        return True
    return not folded.isascii() and any(
        found.lastgroup == "denial" for pattern in _patterns(folded) for found in pattern.finditer(folded)
    )


def _speaks(folded: str) -> bool:
    """Whether a negation word of a language with spaces is left after the plain double ones are paired off."""
    tokens = expand([_plain(token) for token in scan(folded)])
    left = [at for at, token in enumerate(tokens) if _denies(tokens, at, token)]
    while left:
        if len(left) > 1 and _cancels(tokens, left[0], left[1]):
            left = left[2:]
        elif _is_reminder(tokens, left[0]):
            left = left[1:]
        else:
            return True
    return False


def _plain(token: str) -> str:
    """A token without letters of other alphabets that stand for Latin ones in it."""
    return token if token.isascii() or not any(char.isascii() for char in token) else skeleton(token)


def _denies(tokens: Sequence[str], at: int, token: str) -> bool:
    after = tokens[at + 1] if at + 1 < len(tokens) else ""
    before = tokens[at - 1] if at else ""
    if token == "pas":  # noqa: S105 - a French word
        return bool({"ne", "n"} & set(tokens[max(0, at - 5) : at]))
    if token not in _NEGATIONS or after in _DENIES_NOTHING.get(token, ()):
        return False
    if token == "not" and (before in {"or", "why"} or (after == "wait" and before == "can")):  # noqa: S105 - a word
        return False
    if token in {"no", "non", "нет"}:
        return not (_answers(tokens, at) or (after == "." and at + 2 < len(tokens) and is_number(tokens[at + 2])))
    return True


def _answers(tokens: Sequence[str], at: int) -> bool:
    """Whether a "no" answers what was said before and the sentence goes on by itself: "No, I live in Rome"."""
    starts = at == 0 or tokens[at - 1] in _PAUSES or tokens[at - 1] in {'"', "oh", "but"}
    return starts and at + 2 < len(tokens) and tokens[at + 1] in _PAUSES


def _cancels(tokens: Sequence[str], one: int, other: int) -> bool:
    """Whether two negations plainly make a statement."""
    between = tokens[one + 1 : other]
    second = tokens[other]
    if _STOPS & set(between):
        return False
    if tokens[one] == "not" and between[:2] in (["true", "that"], ["right", "that"], ["correct", "that"]):
        return True
    if second == "without":
        return tokens[one] in {"not", "no", "never", "nobody", "nothing"} and not _CONTRASTS & set(between)
    if second in {"not", "dislike", "dislikes", "disliked", "unable"} and tokens[one] in {"not", "never", "nobody"}:
        return all(word in _ADVERBS for word in between)
    return False


def _is_reminder(tokens: Sequence[str], at: int) -> bool:
    """Whether the negation is of forgetting: "don't forget to" asks for the thing."""
    after = tokens[at + 1 : at + 3]
    return tokens[at] in {"not", "never", "nie", "nicht"} and any(
        word.startswith(("forget", "forgot")) for word in after
    )


def _patterns(folded: str) -> list[re.Pattern[str]]:
    """The rules of the scripts that the text is written in. Han among hiragana is Japanese."""
    found: list[re.Pattern[str]] = []
    if re.search("[\u3041-\u309f]", folded):
        found.append(_japanese())
    elif re.search("[\u4e00-\u9fff]", folded):
        found.append(_chinese())
    if re.search("[\uac00-\ud7a3]", folded):
        found.append(_korean())
    return found


@cache
def _chinese() -> re.Pattern[str]:
    """First what denies nothing, then plain double negations, then denials, so that the leftmost longest reading wins."""
    idle = (
        r"(?![我你您他她它谁])(?P<twin>[\u4e00-\u9fff]{1,2})[不没](?P=twin)"
        r"|(?:^|[,.!?;。 ])(?:不|不是|没有|不对|没)[,。](?=.)|(?:^|[,.!?;。 ])不过|只不过"
        r"|不错|不[仅但只光止管论断久少然妨如愧禁料惜谢]|不由得?|不时|不同(?!意)|差不多|了不[起得]|对不起|不好意思|不客气|不要紧"
        r"|忍不住|不可或缺|不得了|不锈钢|不动产|不丹|要不然?|不用[说谢]|说不定|[巴恨怪]不得|[免少]不了|不知不觉|不见不散|没完没了"
        r"|没[错事收落准辙]|没关系|没问题|没想到|[淹埋沉出吞覆]没"
        r"|[分特区级性类个告离识辨差鉴派送阔道久判国有甄永临]别|别[人的墅名处致扭具样号克家称针]|别有(?:用心|洞天|风味)"
        r"|未来|未免|未婚[夫妻]|从未来|毋庸置疑"
        r"|无[锡论线疑限数比聊非辜名产穷敌奈机极双尽形私知情轨]|无所谓|无印良品|无人[机驾]|无花果|无障碍|无尾熊|南无"
    )
    double = (
        r"不得不|不[能会可敢该]不|不可能不|没有?不|没有[人谁一][^,.!?;。不]{0,4}不|[无莫]不|未尝不|不无|不是没有?|不能没有|非[^,.!?;。]{1,10}?不可"
        r"|(?:别|不要|不能|不会|不可|勿|没有?|从不|从没|永不)忘"
    )
    return re.compile(rf"{double}|{idle}|(?P<denial>[不没别未无勿甭毋]|切莫|莫[要再]|[并绝而决]非)")


@cache
def _japanese() -> re.Pattern[str]:
    must = r"な(?:ければ|きゃ|くては|くちゃ|いと)(?:なら|いけ|なりま|だめ|ダメ)?(?:ない|ません|せん)?"
    idle = (
        r"少ない|すくない|危ない|あぶない|切ない|儚い|はかない|勿体ない|もったいない|とんでもない|汚い|きたない|幼い|おさない"
        r"|かもしれ(?:ない|ません)|かも知れ(?:ない|ません)|(?:じゃ|では)(?:ない|ありません)か|ませんか|しかない|しかありません"
        r"|にほかならない|違い(?:は?ない|ありません|なく)|ないしょ|ない(?:わけ|こと)(?:では|は|も)(?:ない|ありません)"
    )
    return re.compile(rf"{must}|{idle}|(?P<denial>ない|なかった|なくて|なくな|ません|ずに|ではな[くい]|無く)")


@cache
def _korean() -> re.Pattern[str]:
    idle = r"틀림없|끊임없|어김없|수밖에 ?없|지 않을 수 없|잊지 ?(?:마|말|않)|아니라면"
    return re.compile(
        rf"{idle}|(?P<denial>(?<![가-힣])안(?=\s)|(?<![가-힣])못(?=\s|[하해했합한할])|지 ?[않못마말]|[않없]|아니|아닙|아닌)"
    )
