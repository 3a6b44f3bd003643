"""The vocabulary of the rule extractor: which words make an object durable, vague, nominal or single-valued."""

import re


def _set(*rows: str) -> frozenset[str]:
    return frozenset(word for row in rows for word in row.split("|"))


VAGUE = re.compile(
    r"(?:it|its|that|this|these|those|them|they|him|her|his|us|you|u|your|yours|everything|something|anything|nothing|everyone|"
    r"everybody|someone|somebody|anyone|nobody|what|when|whenever|how|where|who|why|whatever|which|all|both|some|such|there|here|"
    r"ones?|the (?:first|second|third|last|latter|former|other|one|previous|next|original|current|new|old|following|same|way|idea|fact|rest)|so|too|very|much|more|a lot|a ton|tons|lots|to$|nothing|no|not|to (?:say|see|hear|know|think|admit|break|ask|bother|tell|hear|look|"
    r"announce|go|get|have|be|do|share|check|catch|make sure|find out|figure|finish|leave|run|talk|come|start|stop|find a|focus|stay|keep|work on|take a|try|believe|remember|relax|rest|sleep|eat|use)|"
    r"(?:seeing|hearing|being|getting|talking|chatting|having|knowing|thinking|sharing|feeling|watching|reading) (?:it|that|this|them|"
    r"you|your|how|these|those|here|about|able|there)|"
    r"(?:to |too )?(?:one|two|three)? ?(?:of )?(?:it|that|this|these|those|them|you)"
    r")\b",
    re.IGNORECASE,
)
"""How an object begins that means nothing outside of its conversation."""
POINTS = re.compile(
    r"\b(?:you|your|yours|yourself|u|ur|this|that one|(?:in|on|at|to|of|for|with|from|about|like|than) that|these|those|here|there|him|her|his|he|she|them|it|above|below|as follows)\b(?!-)",
    re.IGNORECASE,
)
"""Words that point into the conversation."""
GENERIC_THE = re.compile(
    r"the (?:ocean|sea|beach|outdoors?|mountains?|cold|heat|rain|snow|sun|countryside|city|woods|forest|piano|guitar|violin|drums|"
    r"cello|theat(?:re|er)|cinema|opera|library|gym|dark|news|radio|command line|terminal|night shift|window seat|aisle seat|"
    r"smell of|taste of|sound of|feeling of|winter|summer|autumn|fall|spring|[A-Z])"
)
"""Objects with an article that need no conversation."""
VERDICTS = _set(
    "good|great|bad|fine|ok|okay|nice|cool|amazing|awesome|happy|sad|sick|tired|busy|broken|ready|done|gone|wrong",
    "right|correct|full|empty|clear|late|early|important|simple|hard|easy|hot|cold|asleep|awake|excited|proud",
    "sure|true|same",
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
    "subscription|membership|twins|beehives?|bees"
)
DURABLE = re.compile(rf"\b(?:{_DURABLE})(?:s|es)?\b(?!-)", re.IGNORECASE)
"""Nouns of what one has for longer than a conversation."""
KIN = (
    r"(?:(?:older|younger|elder|little|big|twin|step|late|ex|best|oldest|youngest|eldest)[ -])*(?:brother|sister|son|daughter|wife|husband|"
    r"partner|girlfriend|boyfriend|fianc[eé]e?|mother|mom|mum|father|dad|grandmother|grandma|grandfather|grandpa|aunt|uncle|cousin|nephew|"
    r"niece|roommate|flatmate|boss|manager|colleague|neighbou?r|friend|dog|cat|puppy|kitten|rabbit|hamster|horse|parrot|child|kid|baby|"
    r"dentist|doctor|therapist|mentor|coach|landlord|landlady|accountant|lawyer|in-law|mother-in-law|father-in-law)"
)
ONE_OF_A_KIND = _set(
    "wife|husband|partner|girlfriend|boyfriend|mother|mom|mum|father|dad|boss|manager|dentist|doctor|therapist",
    "landlord|landlady|accountant|lawyer",
)
"""People of whom one has one at a time."""
_ALIASES = {
    "name": "name|full name|名字|姓名|全名",
    "first_name": "first name|given name",
    "surname": "last name|surname|family name",
    "nickname": "nickname|小名|昵称",
    "birthday": "birthday|date of birth|birth date|生日",
    "email": "email|e-mail|email address|e-mail address|邮箱|电子邮箱|邮箱地址",
    "phone": "phone|phone number|mobile|mobile number|number|电话|电话号码|手机|手机号|手机号码",
    "address": "address|home address|地址|住址",
    "home_city": "city|home city|城市",
    "home_town": "home town|hometown|家乡|老家",
    "job_title": "job|job title|occupation|profession|role|职业|工作|职位",
    "employer": "employer|company|公司|单位",
    "timezone": "timezone|time zone|时区",
    "age": "age|年龄",
    "diet": "diet",
    "pronouns": "pronouns",
    "native_language": "native language|mother tongue|母语",
}
_ALIASES = {
    "name": "name|full name|名字|姓名|全名",
    "first_name": "first name|given name",
    "surname": "last name|surname|family name",
    "nickname": "nickname|小名|昵称",
    "birthday": "birthday|date of birth|birth date|生日",
    "email": "email|e-mail|email address|e-mail address|邮箱|电子邮箱|邮箱地址",
    "phone": "phone|phone number|mobile|mobile number|number|电话|电话号码|手机|手机号|手机号码",
    "address": "address|home address|地址|住址",
    "home_city": "city|home city|城市",
    "home_town": "home town|hometown|家乡|老家",
    "job_title": "job|job title|occupation|profession|role|职业|工作|职位",
    "employer": "employer|company|公司|单位",
    "timezone": "timezone|time zone|时区",
    "age": "age|年龄",
    "diet": "diet",
    "pronouns": "pronouns",
    "native_language": "native language|mother tongue|母语",
}
ATTRIBUTES = {alias: slot for slot, aliases in _ALIASES.items() for alias in aliases.split("|")}
"""What a person has one of, and the slot it fills, the same in both languages."""
FLEETING = _set(
    "guess|point|question|problem|issue|concern|day|week|weekend|morning|evening|night|head|heart|mind|brain|eyes",
    "thing|plan|understanding|opinion|thought|thoughts|feeling|feelings|idea|suggestion|answer|turn|fault|mistake",
    "hope|pleasure|life|world|god|goodness|apologies|advice|take|approach|experience|reaction|trip|time|mood|bad",
    "code|only concern|main concern|main question|first thought|next question|next step|worry|fear|favourite",
    "favorite|reason|impression|way|last message|message|assumption|body|back|stomach|energy|stress|inspiration",
    "motivation|journey|story|rock|happy place|biggest fan|everything|reward|anchor|therapy|escape|family|friends",
    "kids|work",
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
DIETS = r"(?:a )?(?:strict |mostly |lifelong )?(?:vegan|vegetarian|pescatarian|flexitarian|halal|kosher|gluten-free|teetotal(?:ler)?|keto)"
TOOLS = _set(
    "postgres|postgresql|mysql|sqlite|mongodb|redis|python|rust|go|java|kotlin|typescript|javascript|react|vue",
    "svelte|django|flask|fastapi|kubernetes|docker|terraform|aws|gcp|azure|slack|teams|discord|github|gitlab|jira",
    "linear|notion|vim|neovim|emacs|helix|zed|vscode|linux|debian|ubuntu|arch|fedora|nixos|windows|macos|obsidian",
    "logseq|swift|c|elixir|haskell|scala|ruby|php|perl|zsh|fish|bash|firefox|chrome|signal|telegram",
)
"""What one moves to without moving house, and names in lower case."""
ERRANDS = (
    r"renew|book|buy|pay|call|pick up|return|register|file|submit|cancel|apply|order|visit|schedule|clean|prepare|finish|send|bring|"
    r"water|feed|pack|hand in|reply to|e-?mail|meet|sell|collect|sign|repair|replace|mow|bake|wash|vote|see (?:a|the|my) (?:doctor|dentist)"
)
"""What a person has to do, rather than wants help with now."""
AGENT_VERBS = _set(
    "answer|reply|respond|write|use|call|ask|give|send|tell|explain|keep|add|include|show|format|sign|start|begin",
    "end|address|speak|talk|quote|cite|mention|suggest|recommend|say|put|confirm|summarise|summarize|translate",
    "commit|push|deploy|delete|schedule|book|assume|apologise|apologize|repeat|skip|avoid|stop|share|remove",
    "change|remind|check|default|prefer|run|spell|structure|list|link|refer|offer|interrupt|be|make|do|wait|greet",
    "shorten|praise|touch|edit|message|ping|wake",
)
"""What an assistant can be told to do."""
PASTIMES = (
    r"drive|play|speak|keep|grow|collect|study|teach|volunteer|commute|cycle|sail|ski|surf|swim|climb|hike|paint|garden|bake|knit|dance|"
    r"practi[sc]e|run|code|program|meditate|jog|box|fish|hunt|brew|breed|raise|rent|share a flat|wear|smoke|drink|eat|sleep|"
    r"wake up|get up|go to bed|start work|finish work|take my|take the|book|train|coach|lead|manage|maintain|own|sing|write|host|organi[sz]e|tutor|mentor"
)
"""What one does as a habit when one says so in the present tense."""
EVENT_NOUNS = re.compile(
    r"(?:\w+[ -]){0,3}(?:release|deadline|meeting|demo|stand-?up|retro|retrospective|launch|exam|appointment|flight|wedding|kick-?off|review|"
    r"sprint|rent|budget|code freeze|freeze|go-live|interview|party|concert|conference|workshop|course|training|lesson|"
    r"call|sync|one-on-one|1:1|check-?in|planning|off-?site|migration|presentation|talk|delivery|holiday|vacation|train|deploy day|"
    r"server|database|port|prefix|password hint|hint|invoice|contract|warranty|subscription|office|wifi|wi-fi|network|repo|repository|"
    r"api|stack|deploy|deployment|domain|team|trial|regatta|race|match|tournament|ci|cloud|rack|boat|house|flat|garage)",
    re.IGNORECASE,
)
"""What a household or a team names with "the" or "our" and can give a time, a place or a value."""
