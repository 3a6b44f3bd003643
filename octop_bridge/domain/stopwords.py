"""Words that a query does without: they hold sentences together and say nothing of what is sought.

All are in normal form. Words of other languages that mean something in English ("die", "war", "son", "est", "hat", "sin",
"den", "os") are left out. The index holds every word; only queries drop these.
"""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ENGLISH = _set("""
a an the this that these those such same other another each every either neither both all any some few more most much many
several and or but nor if then else than as because since although though while until unless whether so yet not no
of at by for with about against between into through during before after above below to from up down in out on off over
under again further once here there near upon within without toward towards via per
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
it its itself they them their theirs themselves who whom whose which what when where why how
am is are was were be been being have has had having do does did doing done will would shall should can could may might
must ought cannot
very too also just only even still ever never always often maybe perhaps really quite rather already
please tell something anything everything nothing someone anyone everyone thing things
i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'll it'd we're we've we'd we'll
they're they've they'd they'll that's that'll there's here's what's what're who's who'll who'd where's when's why's how's
let's isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't won't wouldn't shan't shouldn't can't couldn't
mustn't mightn't needn't ain't dont doesnt didnt isnt arent wasnt cant
""")

SPANISH = _set("""
el la los las un una unos unas lo al del de que en por para sobre entre hasta desde como pero si ya muy más mas mi mis
tu tus su sus nos le les yo él ella ellos ellas usted ustedes nosotros qué quién quien quién cuál cual cuándo cuando
dónde donde cómo cuánto cuanto por qué es eran fue fueron ser está están estaba estoy ha han había este esta estos
estas ese esa esos esas eso esto aquel aquella también tambien porque
""")

FRENCH = _set("""
le la les un une du de au et ou où à dans sous avec entre chez vers que qui quoi quand comment pourquoi quel quelle
quels quelles dont est-ce c'est qu'est-ce il elle ils elles nous vous je tu moi toi lui leur leurs mon mes ta tes sa
notre nos votre vos ce cet cette ces cela ça êtes était étaient été être avoir avait ont sont suis sommes avez ne
n'est n'a très aussi mais donc puis se
""")

GERMAN = _set("""
der das dem ein eine einen einem einer eines und oder aber doch denn sondern auch nicht kein keine keinen nur noch
schon sehr mehr ohne für gegen durch bei nach von zu zum zur aus auf über unter vor hinter neben zwischen im ins ich
du sie wir ihr mich mir dich dir ihn ihm uns euch sich mein meine meinen meiner dein deine sein seine seinen ihre
ihren unser unsere wer was wem wann wo wohin woher wie warum wieso welche welcher welches ist sind bist seid waren
wurde wurden wird werden worden haben habe hatten kann können konnte muss müssen soll sollte dass daß wenn als ob weil
dieser diese dieses diesen jener jede jeder jedes gibt
""")

PORTUGUESE = _set("""
um uma uns umas ao aos da na nas numa em sem por pelo pela para até mas ou que quem qual quais quando onde como porque
não já muito mais meu minha meus minhas teu tua seu sua seus suas nosso nossa eu ele ela eles elas você vocês nós isto
isso este esta esse essa é são foi foram ser está estão estava tem têm tinha há também
""")

ITALIAN = _set("""
il lo gli un uno una di del dello della dei degli delle da dal dalla nel nella nei su sul sulla tra fra che chi cui
quale quali quando come perché perchè non più molto anche mio miei mie tuo tua suo sua nostro nostra loro io lui lei
noi voi ci è sono era erano stato stata essere hanno aveva questo questa questi queste quello quella
""")

RUSSIAN = _set("""
и в во не на я он она оно они мы вы ты что чтобы как так это этот эта эти тот та те к ко у о об от до из за с со по для без
при под над про через между но а или да нет ни же ли бы если когда где куда откуда кто чей какой какая какие какое сколько
почему зачем был была было были быть есть мой моя мое моё мои твой твоя ваш ваша наш наша наши его ее её их мне меня тебе
тебя ему ей нам нас вам вас им них себя свой свою все всё всех весь вся уже еще ещё только тоже также очень там тут здесь
""")

STOP_WORDS = ENGLISH | SPANISH | FRENCH | GERMAN | PORTUGUESE | ITALIAN | RUSSIAN

HAN_WORDS = _set("""
我们 你们 他们 她们 它们 咱们 自己 我的 你的 他的 她的 它的 您的 什么 怎么 怎样 怎么样 为什么 为何 如何 这个 那个 哪个 这些
那些 哪些 这里 那里 哪里 哪儿 这儿 那儿 这样 那样 这么 那么 多么 一个 一些 一下 一样 可以 没有 还是 或者 以及 并且 因为 所以 但是 可是
不过 如果 虽然 而且 然后 已经 还有 就是 不是 是不是 有没有 能不能 可不可以 会不会 要不要 请问 多少 几个 什么时候 时候 关于 对于
之前 之后 以前 以后 的话 告诉 知道 记得 一直 非常 比较 应该 可能 需要 是谁 谁的 吗 呢 吧 啊 呀 哦
""")
"""Chinese function words: a query's run of characters is cut at them."""
HAN_CHARS = frozenset(
    "的了是在和与及或也都就很我你您他她它们这那哪谁有个之其于被把让给从到对为以而则且吗呢吧啊呀哦嘛啦过着得地请"
)
"""Characters that say nothing where they stand alone."""
HAN_BIGRAMS = _set(
    "的是 是的 是在 了的 的了 我是 你是 他是 她是 我在 你在 他在 我有 你有 他有 是我 在我 和我 给我 了吗 的吗 了呢 的呢 都是 也是 就在 有的"
)

KANA_BIGRAMS = _set("""
です ます した して する から まで こと もの ある いる ない った って ので のに では には とは でし まし しま いま たい よう れる られ
てい てる なに 何を 何が どこ いつ だれ どう どの この その あの これ それ あれ なん ため さん ませ せん ょう うか すか たか
""")
HANGUL_BIGRAMS = _set("""
에서 으로 에게 하는 하고 해서 했다 했어 합니 습니 입니 니다 니까 이다 있다 있는 있어 없는 어요 아요 해요 세요 나요 까지 부터 에는
이랑 하지 그리 리고 그런 이런 저런 무엇 뭐가 어디 언제 누가 누구 어떤 어떻 떻게 왜요 우리 나는 내가 너는 네가 저는 제가 것은 것이
""")
HANGUL_PARTICLES = frozenset("은는이가을를의에도와과로만")
STOP_BIGRAMS = HAN_BIGRAMS | KANA_BIGRAMS | HANGUL_BIGRAMS
KANA_CHARS = frozenset("はがをにでとものへやかねよなたてるすしいっん")
"""Particles and endings that say nothing where they stand alone."""
