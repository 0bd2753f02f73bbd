"""What people say beside the matter, and what they put before it: neither is a statement about the subject."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, Final, Literal

from director_ai.core.grammar import words

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CourtesyRole", "announcement", "citation", "confirms", "courtesy_of", "introduction", "is_courtesy"]

CourtesyRole = Literal["greeting", "offer", "hedge", "instruction"]

_GREETING = words(
    "hi hello hey greetings welcome good morning afternoon evening day dear thanks thank you so much very for asking "
    "reaching out your question message interest great glad happy to hear from see here help sure certainly absolutely "
    "of course gladly no problem okay ok alright sorry apologies bye goodbye cheers best regards kind sincerely enjoy "
    "have a nice lovely there again all everyone team yes no right exactly got it understood indeed well oh ah my the "
    "that's that is what an excellent this patience pleasure i we hope be with back luck congratulations wonderful "
    "perfect fine please always i'm we're let's go through them it take look at choice idea plan checking letting me "
    "know fascinating interesting isn't delighted explain assist one by and but about glad"
)
_OFFER = re.compile(
    r"(?:(?:sure|certainly|of course|absolutely|gladly|yes|okay|ok|alright|great|first|firstly|now|well)[,!:] )?"
    r"(?:(?:so |and |just |please |but |then )*"
    r"(?:let me (?:know|explain|check|summari[sz]e|walk|see|help|give|show)|feel free|"
    r"do not hesitate|don['’]t hesitate|reach out|"
    r"happy to help|glad to help|hope (?:this|that|it) helps|i hope (?:this|that|it|you)|"
    r"(?:i|we)(?:['’](?:d|m|re|ll)| am| are| would| will| can| could)? (?:be )?(?:always |very |so |here |also )*"
    r"(?:happy|glad|pleased|delighted|here|able|help|assist|gladly|look (?:that|this|it) up|go into)|"
    r"(?:just )?(?:ask|tell me|say)(?: me| us)?\b|"
    r"if (?:you|there|anything|something|that)['’]?\w* (?:have|need|want|would|need|is|else|like|wish)[^,;]{0,60}, "
    r"(?:please |just |simply |do )?(?:let|ask|tell|say|feel|reach|get|write|i|we|just|contact)|"
    r"is there anything|anything else|here (?:is|are|['’]s)|here['’]s|below (?:is|are)|the following|as follows|"
    r"(?:in|to) (?:short|summary|brief|sum up|summari[sz]e)|good (?:question|luck)|great question))",
    re.IGNORECASE,
)
_ASSENT = words(
    "yes yeah yep yup no nope right exactly correct absolutely certainly definitely sure surely indeed precisely true "
    "affirmative naturally totally course ahead never"
)
_CONFIRMING = _ASSENT | words(
    "that's that is you've got it you of go no problem worries at all just please do can may it's this quite very "
    "much so spot on entirely perfectly fine okay ok by means any not"
)
_FEW = 4
_LONGEST_OFFER = 160
_MOST_PARTS = 4
_SYMPATHY = re.compile(
    r"(?:i['’]m |i am |we['’]re |so |very )*(?:sorry|glad|happy|pleased|thanks|thank you|congratulations)"
    r"(?: (?:to (?:hear|see|know|learn)|for|on|about|that (?:(?:this|that|it) happened|you (?:had|feel|felt|went)))\b"
    r"[^.!?;:,]{0,60})?[.!]",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"(?:well, |hmm, |honestly, |unfortunately, |sorry, (?:but )?|i['’]m sorry, (?:but )?|i am sorry, (?:but )?)*"
    r"(?:i(?:['’]m| am) (?:not (?:sure|certain)|unsure|afraid)|"
    r"i (?:do not|don['’]t|cannot|can['’]t|could not|couldn['’]t) "
    r"(?:know|say|tell|find|confirm|be sure|have)|it depends|that depends|this depends|i (?:think|believe|guess) so|"
    r"as far as i know\W*\Z|maybe\W*\Z|perhaps\W*\Z|possibly\W*\Z)",
    re.IGNORECASE,
)

# Below, "'" stands for every apostrophe: texts are read so before they are compared.
_NOT_IN_FORCE = (
    r"(?!(?:old|older|former|previous|prior|draft|expired|outdated|earlier|past|proposed|future|wrong|other|another|"
    r"rival|alleged|last|next|not)\b)"
)
_TEXTS = (
    r"(?:documents?|documentation|knowledge base|sources?|context|information|materials?|records?|files?|database|"
    r"articles?|excerpts?|data|facts?|fact sheet|text|website|faq|manual|guide|price list|pages?)"
)
_RULES = (
    r"(?:polic(?:y|ies)|terms(?: and conditions| of (?:use|service))?|guidelines?|rules|handbook|agreement|contract)"
)
_SOURCE = (
    rf"(?:(?:our|the|your|this|these|my) )?(?:{_NOT_IN_FORCE}(?-i:[a-z][a-z-]{{0,20}}) ){{0,4}}?(?:{_TEXTS}|{_RULES})"
    r"(?: (?:above|below|provided|given|available|here)| (?:you|i|we)(?:'ve)? (?:provided|gave|shared|have|was given))?"
)
_THIS = (
    r"(?:that|this|it|these|those|anything|such (?:questions|requests)|"
    r"(?:that|this|your|the) (?:specific |particular )?(?:question|request|query|topic|matter|issue|subject))"
)
_AT_PRESENT = r"(?: (?:further|right now|at the moment|here|at this time|today|yet|specifically|directly))?"
_KINDS_OF_ADVICE = (
    r"(?:(?:any |specific |personal |personali[sz]ed )*"
    r"(?:(?:medical|legal|financial|investment|tax|professional|health)(?:,? (?:or|and) |, )?)+ )"
)
_ADVICE = rf"{_KINDS_OF_ADVICE}?(?:advice|guidance|opinions?|recommendations?|diagnos[ei]s)"
_PROFESSION = (
    r"(?:doctor|lawyer|physician|pharmacist|accountant|attorney|nurse|therapist|veterinarian|vet|human|person|"
    r"(?:medical|legal|financial|tax|investment|healthcare|health|qualified) (?:professional|advis[eo]r|expert))"
)
_ASSISTANT = (
    r"an? (?:(?:virtual|digital|automated|helpful|ai|large|artificial intelligence|language|computer) ){0,4}"
    r"(?:assistant|model|bot|chatbot|agent|program|ai)\b"
)
_TROUBLE = (
    r"(?:the|any|this|that|my|our) (?:(?:earlier|previous|possible|long) )?"
    r"(?:confusion|inconvenience|trouble|delay|mistake|error|misunderstanding|wait|mix-up|experience|oversight|"
    r"frustration)(?: (?:this|that|it) (?:may have |might have |has )?caused(?: you)?)?"
)
_FEELING = r"(?:frustrating|upsetting|annoying|disappointing|stressful|difficult|confusing|worrying|hard|inconvenient)"
_GLADLY = r"(?:fully |completely |totally |do |really |sincerely |truly |certainly |can |well )*"

_NO_REASON = r"(?!(?:because|since|as|which|who|until|unless|if|when|while|but|and|is|are|has|have)\b)"

_REFUSES = (
    rf"(?:(?:i|we) (?:cannot|can't|can not|could not|couldn't|am not able to|are not able to|will not be able to)|"
    rf"(?:i'm|i am|we're|we are) (?:not able|unable|not allowed) to|i (?:do not|don't)) (?:"
    rf"(?:help|assist)(?: you)?(?: (?:with|on)(?: {_NO_REASON}[a-z'-]{{1,20}}){{1,6}})?|"
    rf"(?:answer|discuss|address) {_THIS}|"
    rf"(?:respond to|comment on|speak to|advise(?: you)? on) {_THIS}|"
    rf"(?:provide|give|offer)(?: you)?(?: with)? {_ADVICE})"
    rf"{_AT_PRESENT}"
)
_DISCLAIMS = (
    rf"(?:i'm|i am) not an? {_PROFESSION}(?: or an? {_PROFESSION})?|(?:i'm|i am) (?:just |only )?{_ASSISTANT}|"
    rf"(?:this|that|it|my answer|the above|this (?:information|answer|message))"
    rf" (?:is not|isn't|does not constitute|is not meant as|is not intended as) {_ADVICE}|"
    r"(?:this|the)(?: (?:information|answer|content|message|response))? is (?:provided |intended |meant )?for "
    r"(?:general |informational |information |educational )(?:informational |information )?purposes only"
)
_KNOWS_NOTHING = (
    r"(?:i|we) (?:have|found|see) (?:no|not enough|insufficient) (?:information|details|answer)"
    r"(?: (?:about|on|regarding|for|to) [^.!?;:,]{1,60})?|"
    rf"(?:our|the|your|these|my) (?:(?:provided|available|given) )?(?:{_TEXTS}|{_RULES})(?: (?:i have|provided|given))?"
    rf" (?:do not|don't|does not|doesn't) (?:mention|specify|address|say|state|answer|discuss) {_THIS}|"
    rf"(?:our|the|your|these|my) {_TEXTS} (?:say|says|contain|contains) nothing (?:about|on) {_THIS}|"
    rf"there (?:is|'s) (?:no|not enough|insufficient) (?:information|details|answer)(?: available)?"
    rf"(?: (?:about|on|regarding|for|to) {_THIS})?(?: (?:available )?in {_SOURCE})?"
)
_IS_KIND = (
    r"you(?:'re| are) (?:very |most |always |so )?welcome|sure thing|take (?:good )?care|no worries|not to worry|"
    r"(?:please )?(?:don't|do not) worry(?: about (?:it|that|this|a thing))?|never mind|stay safe|"
    r"welcome (?:back )?to (?:our|the|my) (?:online )?(?:shop|store|website|site|chat|service|support|team|bank|page)|"
    r"(?:great|good|excellent|wonderful|bad|sad|happy) news(?: for you)?|"
    rf"(?:i|we) {_GLADLY}(?:understand|hear|appreciate|acknowledge|respect|share)(?: you| this| that| it|"
    r" your (?:concerns?|frustration|question|situation|disappointment|worry|worries|point|confusion|feelings|"
    rf"patience|feedback|interest|understanding)| how {_FEELING} (?:this|that|it) (?:must|can|may|might) (?:be|feel)|"
    rf" (?:that )?(?:this|that|it) (?:must|can|may|might) be (?:very |quite |really )?{_FEELING})?|"
    rf"(?:i|we) (?:do |must |want to |would like to )?{_GLADLY}apologi[sz]e(?: again)?(?: for {_TROUBLE})?|"
    rf"(?:my |our )?(?:sincere )?apologies(?: for {_TROUBLE})?|"
    rf"(?:(?:i'm|i am|we're|we are) )?(?:so |very |really )*sorry(?: (?:about|for) (?:that|this|it|{_TROUBLE}))?|"
    r"(?:many )?(?:thanks|thank you)(?: (?:so|very) much| again)?"
    r"(?: for (?:reaching out|asking|your (?:question|message|patience|interest|understanding|feedback|time)|waiting|"
    r"contacting us|getting in touch|letting (?:me|us) know))?|"
    r"let(?:'s| us) (?:(?:go|walk|work) through (?:this|that|it|them|these|the (?:steps|details))|get started|start|"
    r"begin|dive in|(?:take a (?:closer )?look|look)(?: at (?:this|that|it))?|break (?:this|that|it) down)"
    r"(?: together)?(?: step by step| one by one)?"
)
_ADVISER = (
    rf"(?:us|them|support|(?:an?|your|our|the) (?:(?:local|own|qualified|licensed|independent) )?(?:{_PROFESSION}|"
    r"advis[eo]r|agent|specialist|expert|professional|team|(?:customer )?(?:support|service)(?: team)?|branch|bank|"
    rf"website|manager)(?: or (?:(?:an?|your|our|the) )?(?:{_PROFESSION}|advis[eo]r|specialist|expert))?)"
)
_ASK = (
    r"(?:speak(?:ing)? (?:to|with)|talk(?:ing)? (?:to|with)|contact(?:ing)?|consult(?:ing)?(?: with)?|ask(?:ing)?|"
    r"visit(?:ing)?|call(?:ing)?|check(?:ing)? with|reach(?:ing)? out to|get(?:ting)? in touch with)"
)
_REFERS = (
    rf"(?:(?:i|we)(?:'d| would)? (?:recommend|suggest|advise) (?:that you )?|you (?:may|might) (?:want|wish|like) to |"
    rf"(?:please |then |simply |just )*){_ASK} {_ADVISER}(?: (?:directly|first))?"
    r"(?: (?:before|about|whether|if|for|so that|regarding|on|to be) [^.!?;:,\d]{1,60})?"
)
_BREAK = re.compile(r"(?:[,;!:]|[.…]|\s[–—-])\s+(?:(?:and|but|so|however,)\s)?", re.IGNORECASE)
_FORMS: Final[tuple[tuple[CourtesyRole, str], ...]] = (
    ("greeting", _IS_KIND),
    ("hedge", f"{_REFUSES}|{_DISCLAIMS}|{_KNOWS_NOTHING}"),
    ("instruction", _REFERS),
)
_BESIDE: Final = tuple(
    (role, re.compile(rf"(?:{form})(?=\Z|{_BREAK.pattern})", re.IGNORECASE)) for role, form in _FORMS
)
_BEFORE_ANY = re.compile(
    r"(?:(?:unfortunately|sadly|regrettably|well|okay|ok|oh|hmm|honestly|first|so|but|and|still|again)(?:,? )|"
    rf"as {_ASSISTANT},? )*",
    re.IGNORECASE,
)

_INTRODUCES = re.compile(
    r"(?:(?:so|and|but|also|well|sorry|unfortunately|please|just|do|okay|yes),? )*(?:"
    r"(?:first|firstly|first of all|now), |"
    r"(?:in (?:short|summary|brief|conclusion|other words|fact)|to (?:sum up|summari[sz]e|be clear|clarify|"
    r"answer your question))[,:] |"
    r"(?:note|remember|keep in mind|bear in mind)(?: that|[:,]) |"
    r"(?:i'm|i am) afraid (?:that )?(?!(?:i|we|so|not|that|this|there|my|our)\b)|"
    r"(?:i|we)(?:'m|'re| am| are) (?:happy|glad|pleased|delighted|sorry) to "
    r"(?:say|tell you|confirm|report|inform you|let you know)(?: that)? |"
    r"(?:i|we) (?:can |do |fully )?(?:confirm|know|understand) that |"
    r"let me (?:explain|tell you|confirm|stress) that |i hope you know that |"
    r"(?:it is|it's) (?:important|worth) (?:to note|noting|to mention|mentioning|to remember) that |"
    r"(?:great|good|excellent|wonderful|bad|sad) news[,:!] |"
    rf"(?:according to|based on|(?:as )?per|as (?:stated|mentioned|noted|described|explained|outlined|shown) in) "
    rf"{_SOURCE}, |"
    r"as (?:i |we )?(?:have )?(?:already )?(?:stated|mentioned|noted|described|explained|said)"
    r"(?: (?:above|earlier|before|already))?, |"
    r"as (?:far as i (?:know|can (?:see|tell))|of (?:today|now|right now|this moment)), |to my knowledge, |"
    rf"as {_ASSISTANT},? |{_SOURCE} (?:(?:says?|states?) (?:that )?|(?:shows?|indicates?|confirms?|notes?) that )"
    r")",
    re.IGNORECASE,
)
"""What comes before a statement and takes nothing from it: "In short, …", "According to our policy, …"."""
_ANNOUNCES = re.compile(
    r"(?:(?:so|and|but|also|well|sorry|unfortunately|please|just|do),? )*(?:"
    r"(?:i'm|i am|i (?:do not|don't|cannot|can't)|it|that|this) "
    r"(?:not (?:sure|certain)|unsure|know|say|tell|be sure|depends)\b[^.!?;:,]{0,60}, "
    r"but (?:i (?:think|believe) (?:that )?)?|"
    r"(?:here (?:is|are)|here's|the following|we can|i can)\b[^.!?;:]{0,60}: "
    r")",
    re.IGNORECASE,
)
"""The same, with words of its own that may state something."""
_CITATION = re.compile(
    rf"\s*[(\[](?:source|sources|see|ref|reference|from)[:,]? "
    rf"(?:[a-z][a-z-]{{0,20}} ){{0,3}}?(?:{_TEXTS}|{_RULES})[)\]]\W{{0,3}}\Z",
    re.IGNORECASE,
)
_LONGEST_CITATION = 100


def courtesy_of(said: str, spoken: Sequence[str], *, named: bool) -> CourtesyRole | None:
    """Return what a clause is that greets, offers or refuses help, or says that one does not know; None for others."""
    if _HEDGE.match(said):
        return "hedge"
    if _GREETING.issuperset(spoken) or (not named and _SYMPATHY.fullmatch(said)):
        return "greeting"
    if not named and len(said) < _LONGEST_OFFER and _OFFER.match(said):
        return "offer"
    return _beside(_plain(said).rstrip(" .!…,;:\n\"'"))


def is_courtesy(said: str, spoken: Sequence[str], role: str) -> bool:
    """Whether all of a clause is made of greetings, thanks, refusals and the like, in words that allow no doubt."""
    if role == "connective":
        return len(spoken) <= _FEW
    return _GREETING.issuperset(spoken) or _beside(_plain(said).rstrip(" .!…,;:\n\"'")) is not None


def confirms(spoken: Sequence[str]) -> bool:
    """Whether a clause is nothing but a "yes" or a "no", in whatever words."""
    return bool(spoken) and _CONFIRMING.issuperset(spoken) and not _ASSENT.isdisjoint(spoken)


def introduction(said: str) -> int:
    """Return where what a clause states begins, behind a courtesy or what only introduces it; 0 without one."""
    plain = _plain(said)
    match = _INTRODUCES.match(plain)
    if match:
        return match.end()
    borders = itertools.islice(_BREAK.finditer(plain, 0, _LONGEST_OFFER), _MOST_PARTS)
    return next((border.end() for border in borders if _beside(plain[: border.start()])), 0)


def announcement(said: str) -> int:
    """Return where a statement begins that an offer or a hedge announces; 0 without one."""
    plain = _plain(said)
    match = _INTRODUCES.match(plain) or _ANNOUNCES.match(plain)
    return match.end() if match else 0


def citation(said: str) -> int:
    """Return where the words of a clause end, before the text it cites: "… (source: price list)."."""
    match = _CITATION.search(said, max(0, len(said) - _LONGEST_CITATION))
    return match.start() if match else len(said)


def _beside(plain: str) -> CourtesyRole | None:
    """Return what a clause is, all of whose parts are courtesies."""
    if len(plain) > _LONGEST_OFFER:
        return None
    opening = _BEFORE_ANY.match(plain)
    start = opening.end() if opening else 0
    found: CourtesyRole | None = None
    while start < len(plain):
        matches = ((role, form.match(plain, start)) for role, form in _BESIDE)
        found, end = next(((role, match.end()) for role, match in matches if match), (None, 0))
        if found is None:
            return None
        border = _BREAK.match(plain, end)
        start = border.end() if border else len(plain)
    return found


def _plain(said: str) -> str:
    return said.replace("’", "'")
