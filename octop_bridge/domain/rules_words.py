"""The vocabulary of the rule extractor: which words make an object durable, vague, nominal or single-valued."""

import re

VAGUE = re.compile(
    r"(?:it|its|that|this|these|those|them|they|him|her|his|us|you|u|your|yours|everything|something|anything|nothing|everyone|"
    r"everybody|someone|somebody|anyone|nobody|what|when|whenever|how|where|who|why|whatever|which|all|both|some|such|there|here|"
    r"ones?|so|too|very|much|more|a lot|lots|nothing|no|not|to (?:say|see|hear|know|think|admit|break|ask|bother|tell|hear|look|"
    r"announce|go|get|have|be|do|share|check|catch|make sure|find out|figure|finish|leave|run|talk|come|start|stop)|"
    r"(?:seeing|hearing|being|getting|talking|chatting|having|knowing|thinking|sharing|feeling|watching|reading) (?:it|that|this|them|"
    r"you|your|how|these|those|here|about|able|there)|"
    r"(?:to |too )?(?:one|two|three)? ?(?:of )?(?:it|that|this|these|those|them|you)"
    r")\b",
    re.IGNORECASE,
)
"""How an object begins that means nothing outside of its conversation."""
POINTS = re.compile(
    r"\b(?:you|your|yours|yourself|u|ur|this|that one|these|those|here|there|him|her|his|he|she|them|it|above|below|as follows)\b(?!-)",
    re.IGNORECASE,
)
"""Words that point into the conversation."""
GENERIC_THE = re.compile(
    r"the (?:ocean|sea|beach|outdoors?|mountains?|cold|heat|rain|snow|sun|countryside|city|woods|forest|piano|guitar|violin|drums|"
    r"cello|theat(?:re|er)|cinema|opera|library|gym|dark|news|radio|command line|terminal|night shift|window seat|aisle seat|"
    r"smell of|taste of|sound of|feeling of|winter|summer|autumn|fall|spring|[A-Z])"
)
"""Objects with an article that need no conversation."""
VERDICTS = frozenset(
    [
        *("good", "great", "bad", "fine", "ok", "okay", "nice", "cool", "amazing", "awesome", "happy", "sad", "sick", "tired"),
        *("busy", "broken", "ready", "done", "gone", "wrong", "right", "correct", "full", "empty", "clear", "late", "early"),
        *("important", "simple", "hard", "easy", "hot", "cold", "asleep", "awake", "excited", "proud", "sure", "true", "same"),
    ]
)
"""Adjectives that pass."""
_DURABLE = (
    "brother|sister|sibling|son|daughter|kid|child|children|twin|wife|husband|partner|girlfriend|boyfriend|fianc[eé]e?|mother|father|"
    "grandson|granddaughter|grandchild|grandchildren|nephew|niece|cousin|roommate|flatmate|dog|cat|puppy|kitten|rabbit|hamster|parrot|"
    "horse|pony|turtle|tortoise|snake|fish|goldfish|bird|chicken|hen|guinea pig|pet|boat|sailboat|yacht|kayak|canoe|car|bike|bicycle|motorbike|"
    "motorcycle|van|truck|scooter|house|flat|apartment|garden|cottage|cabin|farm|balcony|greenhouse|allotment|piano|guitar|violin|"
    "cello|drum kit|synthesi[sz]er|camera|laptop|macbook|thinkpad|desktop|server|nas|raspberry pi|3d printer|printer|phone|iphone|"
    "pixel|android|tablet|ipad|kindle|tattoo|degree|phd|doctorate|master's|bachelor's|diploma|licen[cs]e|certificate|passport|visa|"
    "diabetes|asthma|epilepsy|migraines?|adhd|dyslexia|celiac disease|coeliac disease|hay fever|arthritis|insomnia|"
    "allergy|allergies|intolerance|pacemaker|business|company|startup|bakery|shop|store|studio|blog|podcast|youtube channel|newsletter|"
    "subscription|membership|job|account|twins|beehives?|bees"
)
DURABLE = re.compile(rf"\b(?:{_DURABLE})(?:s|es)?\b(?!-)", re.IGNORECASE)
"""Nouns of what one has for longer than a conversation."""
KIN = (
    r"(?:(?:older|younger|elder|little|big|twin|step|late|ex|best|oldest|youngest|eldest)[ -])*(?:brother|sister|son|daughter|wife|husband|"
    r"partner|girlfriend|boyfriend|fianc[eé]e?|mother|mom|mum|father|dad|grandmother|grandma|grandfather|grandpa|aunt|uncle|cousin|nephew|"
    r"niece|roommate|flatmate|boss|manager|colleague|neighbou?r|friend|dog|cat|puppy|kitten|rabbit|hamster|horse|parrot|child|kid|baby|"
    r"dentist|doctor|therapist|mentor|coach|landlord|landlady|accountant|lawyer|in-law|mother-in-law|father-in-law)"
)
ONE_OF_A_KIND = frozenset(
    [
        *("wife", "husband", "partner", "girlfriend", "boyfriend", "mother", "mom", "mum", "father", "dad", "boss", "manager"),
        *("dentist", "doctor", "therapist", "landlord", "landlady", "accountant", "lawyer"),
    ]
)
"""People of whom one has one at a time."""
ATTRIBUTES = {
    "name": "name",
    "full name": "name",
    "first name": "first_name",
    "given name": "first_name",
    "last name": "surname",
    "surname": "surname",
    "family name": "surname",
    "nickname": "nickname",
    "birthday": "birthday",
    "date of birth": "birthday",
    "birth date": "birthday",
    "email": "email",
    "e-mail": "email",
    "email address": "email",
    "e-mail address": "email",
    "phone": "phone",
    "phone number": "phone",
    "mobile": "phone",
    "mobile number": "phone",
    "number": "phone",
    "address": "address",
    "home address": "address",
    "city": "home_city",
    "home city": "home_city",
    "home town": "home_town",
    "hometown": "home_town",
    "job": "job_title",
    "job title": "job_title",
    "occupation": "job_title",
    "profession": "job_title",
    "role": "job_title",
    "employer": "employer",
    "company": "employer",
    "timezone": "timezone",
    "time zone": "timezone",
    "age": "age",
    "diet": "diet",
    "pronouns": "pronouns",
    "native language": "native_language",
    "mother tongue": "native_language",
    "名字": "name",
    "姓名": "name",
    "全名": "name",
    "小名": "nickname",
    "昵称": "nickname",
    "生日": "birthday",
    "邮箱": "email",
    "电子邮箱": "email",
    "邮箱地址": "email",
    "电话": "phone",
    "电话号码": "phone",
    "手机": "phone",
    "手机号": "phone",
    "手机号码": "phone",
    "地址": "address",
    "住址": "address",
    "城市": "home_city",
    "家乡": "home_town",
    "老家": "home_town",
    "职业": "job_title",
    "工作": "job_title",
    "职位": "job_title",
    "公司": "employer",
    "单位": "employer",
    "时区": "timezone",
    "年龄": "age",
    "母语": "native_language",
}
"""What a person has one of, and the slot it fills, the same in both languages."""
FLEETING = frozenset(
    [
        *("guess", "point", "question", "problem", "issue", "concern", "day", "week", "weekend", "morning", "evening", "night"),
        *("head", "heart", "mind", "brain", "eyes", "thing", "plan", "understanding", "opinion", "thought", "thoughts", "feeling"),
        *("feelings", "idea", "suggestion", "answer", "turn", "fault", "mistake", "hope", "pleasure", "life", "world", "god"),
        *("goodness", "apologies", "advice", "take", "approach", "experience", "reaction", "trip", "time", "mood", "bad", "code"),
        *("only concern", "main concern", "main question", "first thought", "next question", "next step", "worry", "fear"),
        *("favourite", "favorite", "reason", "impression", "way", "last message", "message", "assumption", "understanding"),
        *("body", "back", "stomach", "energy", "stress", "inspiration", "motivation", "journey", "story", "rock", "happy place"),
        *("biggest fan", "everything", "reward", "anchor", "therapy", "escape", "family", "friends", "kids", "work"),
    ]
)
"""What "my … is" says of the moment, or of feeling."""
OCCUPATION = re.compile(
    r"\b(?:\w*(?:engineer|developer|programmer|designer|manager|teacher|writer|painter|baker|driver|trainer|dancer|singer|lawyer|"
    r"photographer|researcher|officer|carpenter|plumber|farmer|firefighter|consultant|accountant|nurse|midwife|chef|cook|pilot|"
    r"architect|artist|therapist|psychologist|scientist|economist|dentist|pharmacist|journalist|biologist|chemist|physicist|"
    r"technician|electrician|musician|librarian|physician|veterinarian|politician|mechanic|student|professor|lecturer|doctor|surgeon|"
    r"actor|actress|author|editor|translator|director|freelancer|contractor|founder|entrepreneur|analyst|administrator|sysadmin|"
    r"intern|apprentice|paramedic|soldier|judge|tailor|tutor|coach|barista|bartender|waiter|waitress|beekeeper|retiree|pensioner|"
    r"counsell?or|counsel?lor))\b",
    re.IGNORECASE,
)
STATES = (
    r"married(?: to [A-Z].*)?|divorced|widowed|engaged(?: to [A-Z].*)?|retired|left-handed|right-handed|colou?r-?blind|diabetic|asthmatic|"
    r"dyslexic|autistic|epileptic|deaf|blind|pregnant|bilingual|self-employed|unemployed|an only child|adopted"
)
DIETS = (
    r"(?:a )?(?:strict |mostly |lifelong )?(?:vegan|vegetarian|pescatarian|flexitarian|halal|kosher|gluten-free|teetotal(?:ler)?|keto)"
)
AGENT_VERBS = frozenset(
    [
        *("answer", "reply", "respond", "write", "use", "call", "ask", "give", "send", "tell", "explain", "keep", "add", "include"),
        *("show", "format", "sign", "start", "begin", "end", "address", "speak", "talk", "quote", "cite", "mention", "suggest"),
        *("recommend", "say", "put", "confirm", "summarise", "summarize", "translate", "commit", "push", "deploy", "delete"),
        *("schedule", "book", "assume", "apologise", "apologize", "repeat", "skip", "avoid", "stop", "share", "remove", "change"),
        *("remind", "check", "default", "prefer", "run", "spell", "structure", "list", "link", "refer", "offer", "interrupt", "be"),
        *("make", "do", "wait", "greet", "shorten", "praise", "touch", "edit", "message", "ping", "wake"),
    ]
)
"""What an assistant can be told to do."""
PASTIMES = (
    r"drive|play|speak|keep|grow|collect|study|teach|volunteer|commute|cycle|sail|ski|surf|swim|climb|hike|paint|garden|bake|knit|dance|"
    r"practi[sc]e|run|code|program|meditate|jog|box|fish|hunt|brew|breed|raise|rent|share a flat|wear|smoke|drink|eat|sleep|"
    r"wake up|get up|go to bed|take my|take the|book|train|coach|lead|manage|maintain|own|sing|write|host|organi[sz]e|tutor|mentor"
)
"""What one does as a habit when one says so in the present tense."""
EVENT_NOUNS = re.compile(
    r"(?:\w+[ -]){0,3}(?:release|deadline|meeting|demo|stand-?up|retro|retrospective|launch|exam|appointment|flight|wedding|kick-?off|review|"
    r"sprint|rent|budget|code freeze|freeze|go-live|interview|party|concert|conference|workshop|course|class|training|lesson|"
    r"call|sync|one-on-one|1:1|check-?in|planning|off-?site|migration|presentation|talk|delivery|holiday|vacation|train|"
    r"server|database|port|prefix|password hint|hint|invoice|contract|warranty|subscription|office|wifi|wi-fi|network|repo|repository|"
    r"branch|api|stack|deploy|deployment|version|domain|budget|team|trial|regatta|race|match|tournament)",
    re.IGNORECASE,
)
"""What a household or a team names with "the" or "our" and can give a time, a place or a value."""
