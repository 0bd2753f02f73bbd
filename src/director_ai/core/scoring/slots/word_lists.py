"""Words that carry no topic, words that negate or quantify, and words that exclude each other."""

from __future__ import annotations

from director_ai.core.scoring.slots.stems import stem

__all__ = [
    "AUXILIARIES",
    "CONTRASTS",
    "DIRECTIONS",
    "DO_FORMS",
    "FUNCTION_WORDS",
    "LIGHT_STEMS",
    "NEGATION_CUES",
    "NEGATIVE_STEMS",
    "NEGATIVE_VERBS",
    "QUANTIFIERS",
    "SKIPPED_AFTER_CUE",
    "is_negative",
]

DO_FORMS = frozenset("do does did don't doesn't didn't".split())
AUXILIARIES = frozenset(
    "is are was were am be been being has have had do does did will would can could should may might must shall".split()
)
FUNCTION_WORDS = AUXILIARIES | frozenset(
    "a an the this that these those there here it its it's he she him his her hers they them their theirs we us our "
    "ours you your yours i me my who whom whose which what when where why how if then than as so such of in on at by "
    "for with from to into onto upon about over under between among during within through per via up down out off "
    "and or but nor yet not no n't never without cannot can't isn't aren't wasn't weren't don't doesn't didn't won't "
    "wouldn't couldn't shouldn't hasn't haven't hadn't also just very too only even still already again ever both "
    "each every any some all most many much more less few fewer other another same own while until since before after "
    "because although though however therefore thus 's s t around against along across toward towards'".split()
)
LIGHT_STEMS = (
    FUNCTION_WORDS
    | {stem(word) for word in FUNCTION_WORDS}
    | {stem(word) for word in "cost take last get go make use give come need allow find".split()}
)
"""Stems that many sentences share without being about the same thing."""
NEGATION_CUES = frozenset("not n't cannot never no non without neither nor".split())
NEGATIVE_VERBS = frozenset("fail refus declin unabl lack".split())  # stems
SKIPPED_AFTER_CUE = (FUNCTION_WORDS - {"all", "every", "most", "many"}) | frozenset(
    "currently longer yet also always actually really ever necessarily usually generally normally directly fully get "
    "gets got being become becomes became".split()
)

# Word -> its scale and its place there. A claim is borne out by its own place or by one that entails it.
QUANTIFIERS: dict[str, tuple[str, int]] = {
    "none": ("amount", 0), "nobody": ("amount", 0), "nothing": ("amount", 0), "few": ("amount", 1),
    "some": ("amount", 2), "several": ("amount", 3), "many": ("amount", 3), "numerous": ("amount", 3),
    "most": ("amount", 4), "all": ("amount", 5), "every": ("amount", 5), "each": ("amount", 5),
    "everyone": ("amount", 5), "everybody": ("amount", 5), "everything": ("amount", 5), "entire": ("amount", 5),
    "never": ("frequency", 0), "rarely": ("frequency", 1), "seldom": ("frequency", 1),
    "occasionally": ("frequency", 2), "sometimes": ("frequency", 2), "often": ("frequency", 3),
    "frequently": ("frequency", 3), "usually": ("frequency", 4), "always": ("frequency", 5), "only": ("limit", 1),
}  # fmt: skip

# Sides that exclude each other, one group a line; words on one side mean the same here. The first block compares.
_COMPARATIVES = """
more | less fewer
higher | lower
larger bigger greater | smaller
longer | shorter
faster quicker | slower
older elder | younger newer
earlier sooner | later
before prior | after
above | below beneath
increase rise raise grow climb | decrease fall decline drop reduce lower shrink
better | worse
best | worst
highest | lowest
largest biggest greatest | smallest
longest | shortest
fastest quickest | slowest
oldest | youngest newest
earliest | latest
cheaper | pricier dearer
cheapest | priciest
stronger | weaker
strongest | weakest
hotter warmer | colder cooler
hottest warmest | coldest coolest
heavier | lighter
nearer closer | farther
maximum maximal | minimum minimal
expand | shrink contract
strengthen | weaken
accelerate | decelerate
improve | worsen deteriorate
upward upwards | downward downwards
ahead | behind
since | until till
"""
_ANTONYMS = """
open reopen | closed close shut
allow permit authorize | forbid prohibit ban forbidden disallow
free complimentary | paid chargeable
accept | reject refuse decline
alive living | dead deceased
begin start commence | end finish conclude
buy purchase | sell
win | lose
victory | defeat
love like | hate dislike
married | divorced unmarried
include | exclude
include | omit
enable activate | disable deactivate
enter | exit
import | export
inside indoors indoor | outside outdoors outdoor
internal | external
public | private
legal lawful | illegal unlawful
possible | impossible
available | unavailable
safe | unsafe dangerous
healthy | unhealthy sick ill
known | unknown
able | unable
valid | invalid
visible | invisible hidden
complete | incomplete
correct right | incorrect wrong
true | false
success succeed | failure fail
successful | unsuccessful
popular | unpopular
usual common | unusual uncommon rare
necessary required mandatory compulsory obligatory | unnecessary optional voluntary
fair | unfair
happy | unhappy sad
lucky fortunate | unlucky unfortunate
likely | unlikely
certain sure | uncertain unsure
stable | unstable
secure | insecure
active | inactive
direct | indirect
dependent | independent
formal | informal
regular | irregular
sufficient adequate | insufficient inadequate
fixed constant | variable
permanent | temporary
early | late
new modern | old ancient
young | old elderly
large big huge | small tiny little
long | short
tall | short
wide broad | narrow
deep | shallow
thick | thin
high | low
hot warm | cold cool
fast quick rapid | slow
strong | weak
hard difficult | easy simple
heavy | light
rich wealthy | poor
expensive | cheap inexpensive
good | bad
full | empty
wet | dry
clean | dirty
light bright | dark
loud noisy | quiet silent
soft | hard
smooth | rough
sharp | blunt
positive | negative
male man men gentleman | female woman women lady
boy | girl
father dad | mother mom mum | brother | sister | uncle | aunt | son | daughter | nephew | niece
born | die
husband | wife
king | queen
prince | princess
north | south | east | west
northern | southern | eastern | western
northeast | southeast | northwest | southwest
left | right
top upper | bottom lower
front | back rear
day daytime | night nighttime
morning | evening | afternoon
summer | winter | spring | autumn
yes | no
on | off
up | down
attack | defend
arrive | depart leave
appear | disappear
borrow | lend
build construct | demolish destroy
create | destroy
join | leave
hire appoint recruit | fire dismiss
employ | dismiss
save | spend
earn | spend
push | pull
remember | forget
pass | fail
agree | disagree
approve | disapprove reject
confirm acknowledge | deny
admit | deny
support favor endorse | oppose
praise | criticize condemn
encourage | discourage
promote | demote
connect attach | disconnect detach
lock | unlock
load | unload
install | uninstall
encrypt | decrypt
upload | download
attract | repel
ally | enemy
friend | enemy
employer | employee
buyer customer | seller vendor
landlord | tenant
guilty | innocent
convict | acquit
local | foreign
domestic | international
urban | rural
absent | present
presence | absence
major | minor
majority | minority
senior | junior
superior | inferior
vertical | horizontal
parallel | perpendicular
natural | artificial synthetic
raw | cooked
solid | liquid | gas
sweet | bitter | sour | salty
acidic acid | alkaline
single | double
single | multiple
single | married
manual | automatic
analog | digital
online | offline
offensive | defensive
optimistic | pessimistic
voluntary | involuntary
conservative | liberal
democrat democratic | republican
civil civilian | military
input | output
profit | loss
asset | liability
credit | debit
gross | net
advantage benefit | disadvantage drawback
ascend | descend
ascending | descending
refundable | nonrefundable
reversible | irreversible
renewable | nonrenewable
former previous | current present
previous | next following
vacant unoccupied | occupied
awake | asleep
standing stand | sitting sit | lying
walk walking | run running
wholesale | retail
surplus | deficit shortage
gain | lose loss
first | last
founded established | dissolved abolished
deny refuse | grant
mild | severe
benign | malignant
chronic | acute
vegan vegetarian | meat
black | white | red | blue | green | yellow | purple | brown | pink | gray
"""


def _read_groups(block: str, kind: str, offset: int) -> dict[str, list[tuple[int, int, str]]]:
    table: dict[str, list[tuple[int, int, str]]] = {}
    for number, line in enumerate(block.strip().splitlines(), start=offset):
        for side, words in enumerate(line.split(" | ")):
            for word in words.split():
                table.setdefault(stem(word), []).append((number, side, kind))
    return table


_BY_STEM = _read_groups(_ANTONYMS, "antonym", 1000)
for _stem, _places in _read_groups(_COMPARATIVES, "comparative", 0).items():
    _BY_STEM[_stem] = _places + _BY_STEM.get(_stem, [])

CONTRASTS: dict[str, tuple[tuple[int, int, str], ...]] = {
    found: tuple(places) for found, places in _BY_STEM.items() if found not in {"no", "on", "off", "up", "down"}
}
"""Stem -> the groups and sides it stands on, and the kind of slot it makes."""
DIRECTIONS = {"up": stem("increase"), "down": stem("decrease")}
"""What "went up" and "went down" mean."""

NEGATIVE_STEMS = frozenset(
    stem(word)
    for word in (
        "hardly barely rarely seldom free exempt bar exclude exclusion forbid forbidden prohibit ban refuse "
        "refusal deny denial reject decline lack absent absence except exception unless until outside minus void "
        "expire lapse waive omit avoid prevent cease quit miss missing lose loss fail failure die dead death "
        "close shut over cancel revoke suspend different differently instead rather apart beyond elsewhere "
        "otherwise opposite before only alone voluntary optional optionally false wrong nil zero spare skip "
        "ignore disregard disable remove withdraw away off out empty vacant unable incapable ineligible invalid "
        "incomplete insufficient inactive inadmissible impossible illegal illicit irregular irrelevant "
        "inaccessible incorrect inability invisible impermissible inedible independent independently informal "
        "immobile"
    ).split()
)
"""Stems that make a clause negative in sense, besides the cues."""
_NO_PREFIX = ("under", "uni", "uncle", "until")
_NO_SUFFIX = frozenset({"regardless", "nonetheless", "nevertheless"})


def is_negative(word: str, root: str) -> bool:
    """Whether a word makes a clause negative in sense: a cue, a word such as "exempt", a prefix or an ending."""
    if word in NEGATION_CUES or word.endswith("n't") or root in NEGATIVE_VERBS or root in NEGATIVE_STEMS:
        return True
    if word in {"none", "nobody", "nothing", "nowhere"}:
        return True
    if len(word) > 5 and word.startswith(("un", "non")) and not word.startswith(_NO_PREFIX):
        return True
    return len(word) > 6 and word.endswith("less") and word not in _NO_SUFFIX
