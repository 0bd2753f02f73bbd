"""Word classes of English, as far as lists can tell them: verbs, pronouns, connectives."""

from __future__ import annotations

__all__ = [
    "ADVERBS",
    "CONDITIONS",
    "CONNECTIVES",
    "ENDS_SUBJECT",
    "LIKELY_VERBS",
    "NOT_AFTER_PRONOUN",
    "NOT_A_SUBJECT",
    "OBJECTS",
    "POINTERS",
    "PRONOUNS",
    "SUBORDINATORS",
    "SURE_VERBS",
    "words",
]


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


# What a statement is made of, in lower case. Lists, not a grammar: a missed split costs little, a false one breaks a
# claim in two, so words that are as often nouns ("works", "costs") are left out where a split would rest on them.
PRONOUNS = words("i he she it we they you")
POINTERS = words("this that these those there")
AUXILIARIES = words(
    "is are was were am has have had does do did will would can could should may might must shall cannot isn't aren't "
    "wasn't weren't hasn't haven't hadn't doesn't don't didn't won't wouldn't can't couldn't shouldn't mustn't"
)
BASES = words(
    "accept achieve allow apply arrive ask become begin believe belong bring build buy call carry cause charge choose "
    "close come consider consist contain continue cost cover create decide depend describe develop die differ drop "
    "eat enable end ensure enter exist expect explain fall feel fight find follow gain get give go grow happen hate "
    "hear help hold hope improve include increase introduce invent involve join keep kill know lead learn leave let "
    "lie like live lose love make mean measure meet move need occur offer open own pay play prefer prevent produce "
    "protect prove provide pull put raise reach read receive reduce refer remain remember require rise run say see "
    "seem sell send serve set show sing sit sleep speak spend stand start stay stop study suggest supply support take "
    "teach tell tend think travel try turn understand use wait walk want watch weigh win work write"
)
NOUNS_TOO = words(
    "call cause charge cost cover die drop end feel fight find gain help hold hope increase join lead leave lie like "
    "live love mean measure move need offer open own pay play produce pull raise reach read rise run say set show "
    "sleep spend stand start stay stop study supply support travel try turn use wait walk watch win work build buy "
    "change catch"
)
PASTS = words(
    "became began came went took gave saw wrote grew knew fell rose ran spoke chose drove broke wore threw flew drew "
    "sang sank ate forgot"
)
PARTICIPLES_TOO = words(
    "made said got left led lost met paid put read sent set sold spent stood told thought understood won built bought "
    "brought caught felt found fought heard held kept meant shot taught"
)


def _third_person(base: str) -> str:
    if base.endswith("y") and base[-2] not in "aeiou":
        return base[:-1] + "ies"
    return base + ("es" if base.endswith(("s", "sh", "ch", "o")) else "s")


SURE_VERBS = AUXILIARIES | PASTS | frozenset(map(_third_person, BASES - NOUNS_TOO)) | {"means", "opens"}
LIKELY_VERBS = SURE_VERBS | PARTICIPLES_TOO | BASES | frozenset(map(_third_person, BASES))

SUBORDINATORS = words(
    "if when whenever although though because since while unless until after before once as whether where wherever "
    "given provided assuming whereas lest despite both either neither whoever whatever even"
)
CONDITIONS = words("if unless whether when whenever while until")
CONNECTIVES = words(
    "however therefore thus hence moreover furthermore nevertheless nonetheless consequently otherwise instead "
    "meanwhile then now also still today later finally sometimes often usually eventually further"
)
ADVERBS = CONNECTIVES | words("always never only just really already even both all soon rarely generally typically")
NOT_AFTER_PRONOUN = words("of who that which and or in with on at to for alone too as than but not myself yourself")
NOT_A_SUBJECT = words(
    "to not of in on at by for with from as than that if when because who which whose where while and or but into only "
    "about after before during without within between through very more most less so such what how why whether even "
    "yet let's"
)
ENDS_SUBJECT = words("who whom which that whose to if when as because than and or but where while whether so")

OBJECTS = words("a an the his her its their our my your him them it us me")
