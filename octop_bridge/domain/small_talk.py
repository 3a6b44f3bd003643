"""Greetings and acknowledgements, told from words that may hold a fact.

Answers such as "yes" are left out on purpose: they confirm something that was asked before.
"""

import re

TEXT_CHARS_MAX = 160
_WORDS_MAX = 8

_PHRASES_TEXT = """
hi|hello|hey|heya|hiya|yo|howdy|greetings|hi there|hello there|hey there|good morning|good afternoon|good evening|good night
good day|morning|evening|welcome|welcome back|how are you|how are you doing|how are you today|how is it going|how's it going
what's up|whats up|sup|i'm fine|i am fine|i'm good|fine thanks|nice to meet you|bye|bye bye|goodbye|good bye|see you|see ya
see you later|see you soon|see you tomorrow|later|take care|have a nice day|have a good day|have a great day|cheers
thanks|thank you|thx|ty|tysm|thanks a lot|thank you so much|thank you very much|many thanks|thanks so much|much appreciated
appreciated|appreciate it|you're welcome|you are welcome|no problem|no worries|np|my pleasure|anytime|any time|of course
ok|okay|k|kk|alright|all right|got it|gotcha|understood|noted|roger|will do|sounds good|sounds great|makes sense|i see|sure
sure thing|great|nice|cool|awesome|perfect|lovely|wonderful|excellent|good|very good|fantastic|amazing|well done|good job
great job|lol|haha|hahaha|hehe|hmm|hm|oh|ah|wow|yay|please|sorry|no need|never mind|nevermind|all good|that's all|again|so
all|everyone|everybody|team|guys|folks|friend|buddy|how can i help|how can i help you|how can i help you today
how may i help you|how may i help you today|how can i assist you|how can i assist you today|what can i do for you
what can i do for you today|let me know if you need anything else|let me know if you need anything|glad to help
happy to help|i'm glad i could help|is there anything else i can help you with|anything else|today
hola|buenos días|buenos dias|buenas tardes|buenas noches|gracias|muchas gracias|de nada|adiós|adios|hasta luego|vale
bonjour|bonsoir|salut|coucou|merci|merci beaucoup|de rien|d'accord|au revoir|à bientôt|bonne nuit|bonne journée|super
hallo|guten morgen|guten tag|guten abend|gute nacht|moin|servus|danke|danke schön|vielen dank|dankeschön|bitte|tschüss
auf wiedersehen|alles klar|in ordnung|ciao|buongiorno|buonasera|grazie|grazie mille|prego|va bene|arrivederci|olá|ola|oi
bom dia|boa tarde|boa noite|obrigado|obrigada|tchau|привет|здравствуйте|доброе утро|добрый день|добрый вечер|спасибо
большое спасибо|пожалуйста|пока|хорошо|понятно|ок|dzień dobry|cześć|dziękuję|merhaba|selam|teşekkürler|teşekkür ederim
مرحبا|السلام عليكم|شكرا|नमस्ते|धन्यवाद|xin chào|cảm ơn|สวัสดี|ขอบคุณ|안녕|안녕하세요|감사합니다|고마워|고마워요|고맙습니다
알겠습니다|알겠어요|수고하세요
你好|您好|你好啊|您好啊|大家好|嗨|哈喽|早|早安|早上好|上午好|下午好|晚上好|晚安|谢谢|谢谢你|谢谢您|多谢|感谢|非常感谢|謝謝
不客气|不用谢|没关系|好|好的|好吧|好呀|好啊|嗯|嗯嗯|哦|哦哦|噢|收到|明白|明白了|了解|知道了|懂了|没问题|可以|行|辛苦了
再见|拜拜|回头见|哈哈|哈哈哈|呵呵|太好了|不错|棒|真棒|赞|在吗|在|吗|了|啊|呀|吧
こんにちは|こんばんは|おはよう|おはようございます|ありがとう|ありがとうございます|どういたしまして|さようなら|おやすみ|了解です
わかりました|お疲れ様|お疲れ様です|よろしく|よろしくお願いします
"""
_PHRASES = frozenset(_PHRASES_TEXT.strip().replace("\n", "|").split("|"))
_TOKEN = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff]+|[^\W_]+(?:['’][^\W_]+)*[\u0900-\u097f]*")
_UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff]")


def is_small_talk(text: str) -> bool:
    """Return whether the text is nothing but greetings, thanks and acknowledgements (or no words at all)."""
    if len(text) > TEXT_CHARS_MAX:
        return False
    words: list[str] = []
    for token in _TOKEN.findall(text.casefold().replace("’", "'")):
        if _UNSPACED.match(token):
            if not _is_made_of_phrases(token):
                return False
        else:
            words.append(token)
    at = 0
    while at < len(words):
        taken = next((n for n in range(_WORDS_MAX, 0, -1) if " ".join(words[at : at + n]) in _PHRASES), 0)
        if not taken:
            return False
        at += min(taken, len(words) - at)
    return True


def _is_made_of_phrases(run: str) -> bool:
    """Whether a run without spaces is phrases one after the other."""
    reachable = {0}
    for end in range(1, len(run) + 1):
        if any(start in reachable and run[start:end] in _PHRASES for start in range(max(0, end - 14), end)):
            reachable.add(end)
    return len(run) in reachable
