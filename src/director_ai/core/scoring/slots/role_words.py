"""Verbs and nouns that name one event from either side, and which of their places is which part in it."""

from __future__ import annotations

from typing import NamedTuple

from director_ai.core.scoring.slots.stems import stem

__all__ = ["RELATIONS", "SYMMETRIC", "TRANSFERS", "Relation"]

# Class, which part stands in which place, words. Places: A who does it, P whom or what it is done to, N who has the
# noun's part, and prepositions. "work_for" is "work" with a place after "for", "take+over" the verb with its particle.
_RELATIONS = """
trade src=A dst=to sell sold resell
trade dst=A src=from buy bought purchase acquire
loan src=A dst=to lend lent loan
loan dst=A src=from borrow
rent src=A dst=to rent_to rent+out lease_to lease+out let_to let+out
rent dst=A src=from rent_from lease_from hire_from rent lease
give src=A dst=to give gave given hand pass send deliver ship grant award donate transfer bequeath supply provide bring
give src=A dst=to brought forward return submit present report_to show offer issue assign refer dispatch cede surrender
give dst=A src=from get got receive obtain inherit collect take took taken accept hear_from
pay src=A dst=to pay paid repay reimburse refund compensate owe owed
pay dst=A src=from earn charge_from
teach src=A dst=to teach taught train instruct educate tutor coach
teach dst=A src=from learn learned learnt
teach dst=A src=under study_under studied_under train_under
teach src=N dst=of teacher tutor mentor
teach dst=N src=of pupil student apprentice disciple
tell dst=A src=from hear_from heard_from
give dst=to src=A go_from
tell src=A dst=to tell told inform notify advise warn alert
succeed new=A old=P replace succeed succeeded supersede follow
trade dst=A src=from take+over took+over taken+over
trade dst=A src=from thing=over take_over took_over taken_over
succeed new=A old=from take+over_from took+over_from
succeed old=A new=P precede
succeed old=A new=to hand+over handed+over
succeed old=A new=for make+way made+way make+room give+way gave+way
succeed new=N old=of successor
succeed old=N new=of predecessor
own whole=A part=P own possess
own part=A whole=to belong_to belonged_to
own whole=N part=of owner
own part=N whole=of subsidiary
employ boss=A worker=P employ hire recruit
employ worker=A boss=for work_for worked_for
employ boss=N worker=of employer boss
employ worker=N boss=of employee
lead worker=A boss=to report_to answer_to
lead boss=A worker=P supervise oversee manage
lead boss=N worker=of supervisor superior
cause first=A then=P cause trigger provoke produce
cause first=A then=to lead_to led_to
cause first=A then=P bring+about bring+on
cause then=A first=from result_from stem_from arise_from
beat best=A worst=P beat beaten defeat
beat best=A worst=against win_against won_against
beat best=A worst=over win_over won_over prevail_over
beat best=A win won
beat worst=A lose lost
beat worst=A best=to lose_to lost_to
beat worst=A best=against lose_against lost_against
kin old=N young=of mother father parent
kin young=N old=of son daughter child
uncle old=N young=of uncle aunt
uncle young=N old=of nephew niece
assist chief=P aid=A assist
assist aid=N chief=of assistant deputy aide secretary
landlord host=N guest=of landlord landlady
landlord guest=N host=of tenant lodger
tell src=A dst=to report
order boss=A worker=to order instruct command
order worker=A boss=from order_from
choose A=A P=P elect choose chose chosen pick select appoint
name A=A P=P appoint nominate
check A=A P=P inspect check examine audit test review assess
fool A=A P=P deceive fool trick mislead
eat A=A P=P eat ate eaten hunt devour
eat A=A P=on feed_on fed_on prey_on live_on
wait A=A P=for wait_for waited_for
visit A=A P=P visit
visit A=A P=on call_on
remove A=A P=P remove dismiss expel oust sack
found A=A P=P found establish start set+up open launch
help A=A P=P help support aid
protect A=A P=P protect guard shield defend
outrank A=A P=P outrank overrule override
contain A=A P=P contain include comprise
consult A=A P=P consult
sue A=A P=P sue sued
sue A=A P=against file_against
save A=A P=P save rescue
fund A=A P=P finance fund sponsor subsidize subsidise
fund A=A P=for pay_for paid_for
tend A=A P=P maintain tend
tend A=A P=after look_after
tend A=A P=for care_for
carry A=A P=P carry transport haul tow pull
make A=A P=P make made build built construct manufacture produce
discover A=A P=P discover find found spot detect
hide A=A P=P hide hid hidden mask cover conceal
chase A=A P=P chase pursue
drive A=A P=P drive drove driven steer control operate
blame A=A P=P blame accuse
invite A=A P=P invite
attack A=A P=P attack besiege storm raid
kill A=A P=P kill murder
approve A=A P=P approve confirm ratify authorize authorise
lift A=A P=P lift raise hoist
adopt A=A P=P adopt raise
fear A=A P=P fear dread
admire A=A P=P admire respect
join A=A P=P join
leave A=A P=P leave left
lead boss=A worker=P head
block A=A P=P block obstruct
heat A=A P=P heat warm
feed src=A dst=to feed fed
feed dst=A src=by nourish
serve src=A dst=to serve
guide A=A P=P guide escort
beat best=A worst=P outvote overtake overtook
"""
TRANSFERS = frozenset({"trade", "loan", "rent", "give", "pay", "tell", "teach", "feed", "serve"})
"""Classes in which something goes from one to another; a word of one may tell the event of another."""
SYMMETRIC = frozenset(
    map(
        stem,
        "meet met marry married play border share merge join agree differ match connect link touch cross adjoin face "
        "accompany fight fought compete combine unite cooperate collaborate alternate swap exchange trade equal mix "
        "do be have can may correspond talk speak spoke separate divide compare say name call".split(),
    )
)
"""Stems of what two do to each other: exchanging the sides changes nothing."""


class Relation(NamedTuple):
    """One way to read a word: as which event, and which part stands in which place."""

    kind: str
    parts: dict[str, str]
    """Place -> part."""
    place: str
    """A preposition that must have a noun for this reading, or nothing."""
    particle: str
    """The word that must follow, or nothing."""


def _read(block: str) -> dict[str, list[Relation]]:
    table: dict[str, list[Relation]] = {}
    for line in block.strip().splitlines():
        kind, *items = line.split()
        parts = {place: part for part, _, place in (item.partition("=") for item in items if "=" in item)}
        for item in (item for item in items if "=" not in item):
            word, _, place = item.partition("_")
            word, _, particle = word.partition("+")
            found = table.setdefault(stem(word), [])
            relation = Relation(kind, parts, place, particle)
            found.insert(0, relation) if place or particle else found.append(relation)
    return table


RELATIONS: dict[str, list[Relation]] = _read(_RELATIONS)
"""Stem -> how it may be read, the most exact first."""
