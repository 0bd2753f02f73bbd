"""A right paraphrase raises no difference, and the error beside it does."""

from __future__ import annotations

import pytest

from director_ai.core.scoring.slots import compare_slots, find_slots

# Claim and evidence that say the same.
SAME = {
    "free, without a negation": ("Delivery doesn't cost anything in Graz.", "Delivery in Graz is free."),
    "the negation beside another word": ("You cannot pay there in cash.", "Payment there is by card; cash is not accepted."),
    "neither, and free of": ("The capsules contain neither gluten nor lactose.", "The capsules are free of gluten and lactose."),
    "excluded, and cannot": ("Gift cards are excluded from returns.", "Gift cards cannot be returned."),
    "barred, and may not": ("She is barred from working for competitors.", "She may not work for competitors."),
    "nothing charged, and free": ("No shipping is charged inside Austria.", "Shipping inside Austria is free."),
    "not paying, and paying nothing": ("Students don't have to pay the monthly fee.", "Students pay no monthly fee."),
    "neither survived, and died": ("Neither Scott nor his companions survived the journey.", "Scott and his companions died on the journey."),
    "not until": ("Alaska did not become a state until 1959.", "Alaska became a state in 1959."),
    "asking first": ("For longer use, ask a doctor first.", "It should not be taken for longer without asking a doctor."),
    "not more often": ("Rent may not be raised more often than once a year.", "The landlord may raise the rent no more than once a year."),
    "minus, and without": ("You get the price back, minus the shipping fee.", "The price is refunded without the shipping fee."),
    "a superlative turned": ("No lake on Earth is deeper than Baikal.", "Baikal is the deepest lake of the Earth."),
    "the contrary of another value": ("At danger level 3 the road is not closed.", "From danger level 4 the road is closed."),
    "a deadline counted backwards": ("Book no later than six weeks before departure.", "Book at least 6 weeks before departure."),
    "a stop in a time": ("You check in at 6.45 a.m. there.", "You check in at 6:45 there."),
    "a coin": ("The lockers take a 1-euro coin.", "The lockers take a 1 EUR coin."),
    "a year and a half": ("It is paid within the first year and a half.", "It is paid within the first 18 months."),
    "the ends of a range apart": ("Profit went from 88 to 97 million pounds.", "Profit rose from GBP 88 million in 2022 to GBP 97 million in 2023."),
    "over as during": ("Over four days, the fair drew many visitors.", "The fair lasted 4 days and drew many visitors."),
    "an age without its unit": ("A guarantor has to be 21 or older.", "A guarantor must be at least 21 years old."),
    "the code of an aircraft": ("An Airbus A330-900 seating 298 people flies there.", "An Airbus A330-900 with 298 seats flies there."),
    "one shift to the next": ("There are eleven hours from one shift to the next.", "Between two shifts there are 11 hours."),
    "one calendar year": ("Silver needs eight nights within one calendar year.", "Silver needs 8 nights, Gold 25 nights in a calendar year."),
    "days of two kinds": ("You get five days of training with pay.", "Each teacher gets five paid training days."),
    "weeks that are about months": ("The pack keeps for about two months.", "The pack keeps for 8 weeks."),
    "a hundred and twenty": ("The offer lasts a hundred and twenty minutes.", "The offer lasts two hours."),
    "degrees of a known scale": ("The pool is kept at 36 degrees.", "The pool is kept at 36 degrees Celsius."),
    "kilometres an hour": ("It may go six kilometres an hour there.", "It may go 6 km/h there."),
    "always": ("Quiet hours apply seven days a week.", "Quiet hours apply every day; music is limited to two hours a day."),
    "Swiss francs": ("It pays out 150 Swiss francs.", "It pays out 150 CHF."),
    "a case of its own": ("A child weighing 20 kg gets 100 mg of the syrup.", "Children get 5 mg of the syrup per kilogram."),
    "a rate that was multiplied": ("Five days late cost one pound.", "A late book costs 0.20 GBP per day."),
    "a sum": ("Both cost 170 pounds in total.", "The first permit costs 60 pounds and the second permit 110 pounds."),
    "a product": ("Three tickets cost 27 euros.", "A ticket costs 9 euros."),
    "a difference": ("The guarantee on the motor runs three years longer.", "The guarantee on the motor is 5 years, on other parts 2 years."),
    "too late": ("Withdrawing after twenty days is too late.", "Withdrawing is possible within 14 days."),
    "somebody who would": ("Anyone of 17 would be too young for the grant.", "The grant is for people of at least 18 years."),
    "bought from, and sold to": ("Karlo Group bought the puzzle business from Pinewhistle.", "Pinewhistle sold the puzzle business to Karlo Group."),
    "lending, and borrowed": ("The Crane lent Heron a transmitter.", "Heron borrowed a transmitter from the Crane."),
    "a brother's sister": ("Markus runs the branch of his sister Simone.", "Simone runs the branch of her brother Markus."),
    "a span as place": ("The hostel has 112 beds spread over 28 rooms.", "The hostel has 112 beds in 28 rooms."),
    "a number without its unit": ("Eye drops last four weeks, ointments keep for six.", "Ointments keep for 6 weeks, eye drops for 4 weeks."),
    "hours before one half of the day": ("The registry reopens from 3 to 6 pm.", "The registry is open from 15:00 to 18:00."),
    "cents of another currency": ("Each adult pays 70 cents of tourist tax.", "The tourist tax is EUR 0.70 per adult."),
    "more is not possible": ("More than 78 weeks of benefit is not possible.", "The benefit is paid for a maximum of 78 weeks."),
    "no younger than": ("To register, you must be no younger than 21.", "People who register must be at least 21."),
    "what is left of a limit": ("Pupils older than 16 sign the form themselves.", "Parents of pupils under 16 sign the form; older pupils sign it themselves."),
    "what exceeds": ("The turbines stop in winds of more than 25 m/s.", "The turbines stop when the wind exceeds 25 m/s."),
    "a month between two": ("In January the zoo closes at 16:30.", "Between November and February the zoo closes at 16:30."),
    "a group whose verb is left out": ("The Bridge Pro draws 4 W.", "The Bridge draws 2.5 W and the Bridge Pro 4 W."),
    "twice as much": ("A tablet contains twice as much iron as a drop.", "A tablet contains 20 mg of iron, a drop 10 mg of iron."),
    "a team of an age": ("The under-12s train on the pitch.", "The under-12 team trains on the pitch for 90 minutes."),
    "a month's notice": ("After the initial term, the notice period is one month.", "It ends with one month's notice after the initial term of 12 months."),
    "kilowatt hours": ("Heating costs 9.8 cents per kilowatt hour.", "Heating costs 9.8 cents per kWh."),
    "what only another has": ("You won't find raw milk at Marx.", "Raw milk is sold only at Tiede. Marx sells potatoes."),
    "the order turned": ("The fire came before the brigade was founded.", "The brigade was founded after the fire."),
    "bought, and sold to all": ("Guest permits can be bought at the town hall.", "Guest permits are sold at the town hall."),
    "closing, and open until": ("With Gold, the bar closes at three in the morning.", "With Gold, the bar stays open until 3 a.m."),
    "the group that has it": ("For dogs there is an excess of 100 euros.", "The excess is EUR 100 for dogs, and there is no excess for cats."),
    "the group that may": ("In room 012 you can eat and drink.", "Eating and drinking are prohibited in the laboratory but allowed in room 012."),
    "a duty of another": ("The foster family doesn't have to pay for food.", "The foundation pays for food; the family pays nothing."),
    "rather than": ("Contact the insurer rather than the contractor.", "Residents should contact the insurer, not the contractor."),
    "closed on the other days": ("On Mondays the bar is closed.", "The bar is open Tuesday to Sunday."),
    "an adjective of origin": ("She was trained in the Scottish capital.", "She was trained in Edinburgh."),
    "a country around a town": ("She was trained in Scotland as a nurse.", "She was trained in Edinburgh as a nurse."),
    "a subject that the evidence leaves out": ("Homer Hickam wrote several novels.", "He wrote several novels, including Red Helmet."),
    "another spelling": ("The talks were led by Bin Laden.", "The talks were led by Bin Ladin."),
}  # fmt: skip


@pytest.mark.parametrize(("claim", "evidence"), SAME.values(), ids=SAME)
def test_a_paraphrase_raises_no_difference(claim: str, evidence: str) -> None:
    assert compare_slots(claim, evidence) == ()


# Claim and evidence, the kind of the difference and the words of the claim that differ.
DIFFER = {
    "a deadline counted backwards": ("Book no later than six days before departure.", "Book at least 6 weeks before departure.", "duration", "no later than six days"),
    "the unit in another sentence": ("Cancelling free of charge ends three weeks ahead.", "Cancelling is free until 3 days ahead. Drinks are charged.", "duration", "three weeks"),
    "a time that is nowhere": ("You have until 8 pm to get to your unit.", "KeepSafe rents units in Leeds. Access is possible from 06:00 to 23:00.", "time", "8 pm"),
    "a day that is nowhere": ("It is delivered on a Monday.", "Delivery takes place on Wednesdays. Carrying costs EUR 39.", "date", "Monday"),
    "a year of something else": ("It has been part of Merkado since 2019.", "Tuckbox has belonged to Merkado since 2021. Carvo was bought in 2019.", "date", "2019"),
    "the family name of another": ("Mika Kallio runs the bar.", "The bar is run by Mika Salo. The Kallio theatre hires out its foyer.", "name", "Mika Kallio"),
    "both sides of a limit, alike": ("Groups have more than five members.", "Groups have no more than five members.", "number", "more than five"),
    "the currency": ("It plans to spend EUR 640 million there.", "Vantor will invest USD 640 million in the mine.", "money", "EUR 640 million"),
    "the month of a day": ("Opened on 3 May 2025, it has four rooms.", "The wing opened on 3 March 2025. It has four rooms.", "date", "3 May 2025"),
    "the year of a day": ("Work on it started on 13 August 1963.", "Construction of the wall began on 13 August 1961.", "date", "13 August 1963"),
    "the measure beside a right one": ("The painting measures 3.5 metres in height and 6.8 metres in width.", "Guernica is 3.5 m high and 7.8 m wide.", "number", "6.8 metres"),
    "a value in another sentence": ("The motor is covered for twelve years if you register online.", "The motor is covered for 10 years. Cover needs you to register online within 28 days.", "duration", "twelve years"),
    "the same roles in a sale": ("Pinewhistle bought the puzzle business in 2020.", "Pinewhistle sold the puzzle business in 2020.", "antonym", "bought"),
    "weekdays": ("Samples are accepted on Fridays there.", "Samples are accepted on Mondays there.", "date", "Fridays"),
    "a negation beside another": ("The shop does not take cards without a PIN.", "The shop takes cards without a PIN.", "negation", "does not take"),
    "a first name": ("The union is led by Fiona Tulloch now.", "The union is led by Morag Tulloch now.", "name", "Fiona Tulloch"),
    "a town in another sentence structure": ("Torvexa comes out of a plant in Odense.", "Torvexa is made in a plant in Aarhus.", "name", "Odense"),
    "names of two attributes": ("Lost property is the business of Ingrid Sobol.", "The rights desk is headed by Ingrid Sobol; lost property is the business of Tomas Reyl.", "name", "Ingrid Sobol"),
    "a name from another sentence": ("Orders are sent from the warehouse in Leipzig.", "All orders are sent from the warehouse in Poznan. Returns are handled in Leipzig.", "name", "Leipzig"),
}  # fmt: skip


@pytest.mark.parametrize(("claim", "evidence", "kind", "wrong"), DIFFER.values(), ids=DIFFER)
def test_the_error_beside_it_is_a_difference(claim: str, evidence: str, kind: str, wrong: str) -> None:
    (difference,) = compare_slots(claim, evidence)
    assert (difference.kind, difference.claim.text) == (kind, wrong)


def test_a_name_after_a_comma_is_one() -> None:
    assert [slot.text for slot in find_slots("It is near Duluth, Minnesota there.") if slot.kind == "name"] == [
        "Duluth",
        "Minnesota",
    ]


def test_a_value_that_happens_to_be_a_sum_is_a_difference() -> None:
    facts = "Refunds for shoes are possible within 30 days. Refunds for books are possible within 60 days."

    assert compare_slots("Refunds for shoes are possible within 90 days.", facts)


def test_a_value_of_another_of_the_same_kind_is_a_difference() -> None:
    facts = "The shop in Geneva opens at 8:15. The shop in Zurich opens at 9:15."

    (difference,) = compare_slots("The shop in Geneva opens at 9:15.", facts)

    assert difference.evidence is not None
    assert difference.evidence.text == "8:15"
    assert not compare_slots("The shop in Zurich opens at 9:15.", facts)
