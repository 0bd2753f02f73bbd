"""Values are read whichever way they are written, and only what the evidence says otherwise is a difference."""

from __future__ import annotations

from math import inf

import pytest

from director_ai.core.scoring.slots import CalendarDate, Interval, Slot, SlotDifference, compare_slots, find_slots

VALUE_KINDS = {"number", "money", "percent", "duration", "date", "time"}


def only_value(text: str) -> Slot:
    (slot,) = [slot for slot in find_slots(text) if slot.kind in VALUE_KINDS]
    return slot


def exactly(value: float) -> Interval:
    return Interval(pytest.approx(value), pytest.approx(value))  # type: ignore[arg-type]


# Text -> kind, text of the slot, value in the base unit, unit.
AMOUNTS = {
    "digits": ("It has 30 rooms.", "number", "30", 30, "room"),
    "a noun after others": ("They made six studio albums.", "number", "six", 6, "album"),
    "a hyphen before the noun": ("It is a 45-room building.", "number", "45", 45, "room"),
    "number word": ("It has thirty rooms.", "number", "thirty", 30, "room"),
    "tens and units": ("It has twenty-five rooms.", "number", "twenty-five", 25, "room"),
    "hundreds in words": ("We saw one hundred and five dogs.", "number", "one hundred and five", 105, "dog"),
    "thousands in words": ("We sold two thousand three hundred tickets.", "number", "two thousand three hundred", 2300, "ticket"),
    "a dozen": ("Bring a dozen eggs.", "number", "a dozen", 12, "egg"),
    "half a dozen": ("Bring half a dozen eggs.", "number", "half a dozen", 6, "egg"),
    "two and a half": ("Add two and a half cups.", "number", "two and a half", 2.5, "cup"),
    "a fraction sign": ("Add 2½ cups.", "number", "2½", 2.5, "cup"),
    "thousands separator": ("It has 1,000 users.", "number", "1,000", 1000, "user"),
    "digits and a scale word": ("It has 1.5 million users.", "number", "1.5 million", 1.5e6, "user"),
    "a space between thousands": ("It has 10 000 users.", "number", "10 000", 10000, "user"),
    "a thin space between thousands": ("It has 12\u202f345 users.", "number", "12\u202f345", 12345, "user"),
    "a decimal comma": ("It is 3,5 m long.", "number", "3,5 m", 3.5, "m"),
    "full-width digits": ("It has ３０ rooms.", "number", "３０", 30, "room"),
    "M for a million": ("It has 1.2M users.", "number", "1.2M", 1.2e6, "user"),
    "a version after v": ("They run v1.2.3 now.", "number", "1.2.3", 1.002003, "version"),
    "a telephone number": ("Call 555-123-4567 now.", "number", "555-123-4567", 5551234567, "code"),
    "an area code in brackets": ("Call (555) 123-4567 now.", "number", "(555) 123-4567", 5551234567, "code"),
    "minus as a word": ("It is minus 5 °C there.", "number", "minus 5 °C", -5, "°C"),
    "k for a thousand": ("It has 3k users.", "number", "3k", 3000, "user"),
    "ordinal in digits": ("She came 3rd there.", "number", "3rd", 3, "ordinal"),
    "ordinal word": ("He was the twenty-first guest.", "number", "twenty-first", 21, "ordinal"),
    "Roman numeral after a name": ("That was Henry VIII there.", "number", "VIII", 8, ""),
    "a label has no counted noun": ("See page 12 there.", "number", "12", 12, ""),
    "twice": ("It runs twice there.", "number", "twice", 2, "time"),
    "grams": ("Take 4 g now.", "number", "4 g", 4, "g"),
    "milligrams": ("Take 4000 mg now.", "number", "4000 mg", 4, "g"),
    "micrograms": ("Take 50 mcg now.", "number", "50 mcg", 5e-5, "g"),
    "units of activity": ("Take 400 IU now.", "number", "400 IU", 400, "IU"),
    "no space before the unit": ("Take 5mg now.", "number", "5mg", 0.005, "g"),
    "millilitres": ("Add 250 ml now.", "number", "250 ml", 0.25, "L"),
    "kilometres": ("Walk 1 km there.", "number", "1 km", 1000, "m"),
    "feet": ("It is 10 feet tall.", "number", "10 feet", 3.048, "m"),
    "inches in brackets": ("(12 in)", "number", "12 in", 0.3048, "m"),
    "square metres": ("It has 20 square metres there.", "number", "20 square metres", 20, "m2"),
    "hectares": ("It has 2 hectares there.", "number", "2 hectares", 20000, "m2"),
    "speed": ("It does 36 km/h there.", "number", "36 km/h", 10, "m/s"),
    "speed in words": ("It does 36 kilometers per hour there.", "number", "36 kilometers per hour", 10, "m/s"),
    "temperature": ("It is -5 °C there.", "number", "-5 °C", -5, "°C"),
    "Fahrenheit": ("It is 23 °F there.", "number", "23 °F", -5, "°C"),
    "data size": ("It holds 2 GB there.", "number", "2 GB", 2e9, "B"),
    "energy": ("It used 2 kWh there.", "number", "2 kWh", 7.2e6, "J"),
    "power": ("It has 100 watts there.", "number", "100 watts", 100, "W"),
    "pressure": ("It has 2 bar there.", "number", "2 bar", 2e5, "Pa"),
    "dollars by sign": ("It costs $30 there.", "money", "$30", 30, "USD"),
    "dollars by word": ("It costs 30 dollars there.", "money", "30 dollars", 30, "USD"),
    "millions of dollars": ("It costs $1.5 million there.", "money", "$1.5 million", 1.5e6, "USD"),
    "bn after a space": ("It costs $1.5 bn there.", "money", "$1.5 bn", 1.5e9, "USD"),
    "m after a space": ("It costs $1.5 m there.", "money", "$1.5 m", 1.5e6, "USD"),
    "m for a million": ("It costs $1.5m there.", "money", "$1.5m", 1.5e6, "USD"),
    "cents": ("It costs 50 cents there.", "money", "50 cents", 0.5, "USD"),
    "euros after the number": ("It costs 30 € there.", "money", "30 €", 30, "EUR"),
    "pounds by sign": ("It costs £30 there.", "money", "£30", 30, "GBP"),
    "currency code before": ("It costs CHF 30 there.", "money", "CHF 30", 30, "CHF"),
    "another dollar": ("It costs A$30 there.", "money", "A$30", 30, "AUD"),
    "percent sign": ("It grew 12 % there.", "percent", "12 %", 12, "%"),
    "percent in words": ("It grew twelve percent there.", "percent", "twelve percent", 12, "%"),
    "per cent": ("It grew 12 per cent there.", "percent", "12 per cent", 12, "%"),
    "half a percentage point": ("It grew half a percentage point there.", "percent", "half a percentage point", 0.5, "%"),
    "a quarter of": ("A quarter of it is gone.", "percent", "A quarter", 25, "%"),
    "two thirds": ("Two thirds of it are gone.", "percent", "Two thirds", 200 / 3, "%"),
    "half of": ("Half of it is gone.", "percent", "Half", 50, "%"),
    "a fraction in digits": ("3/4 of it is gone.", "percent", "3/4", 75, "%"),
    "days": ("Wait 30 days there.", "duration", "30 days", 30 * 86400, "s"),
    "years are months": ("Wait two years there.", "duration", "two years", 24, "month"),
    "a duration with a hyphen": ("It is a 30-day trial.", "duration", "30-day", 30 * 86400, "s"),
    "half an hour": ("Wait half an hour there.", "duration", "half an hour", 1800, "s"),
    "an hour and a half": ("Wait an hour and a half there.", "duration", "an hour and a half", 5400, "s"),
    "hours and minutes": ("Wait 1 hour and 30 minutes there.", "duration", "1 hour and 30 minutes", 5400, "s"),
    "hours, minutes and seconds": ("It took 2 hours 10 minutes and 55 seconds.", "duration", "2 hours 10 minutes and 55 seconds", 7855, "s"),
    "feet and inches": ("He is 5 ft 10 in tall.", "number", "5 ft 10 in", 1.778, "m"),
    "a year as a length": ("Wait for a year there.", "duration", "a year", 12, "month"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "span", "value", "unit"), AMOUNTS.values(), ids=AMOUNTS)
def test_amounts_are_read_into_base_units(text: str, kind: str, span: str, value: float, unit: str) -> None:
    slot = only_value(text)
    assert (slot.kind, slot.text, slot.value, slot.unit) == (kind, span, exactly(value), unit)
    assert not slot.approximate


BOUNDS = {
    "about": ("It takes about 30 days.", "about 30 days", "about", (30, 30)),
    "nearly": ("It takes nearly 30 days.", "nearly 30 days", "about", (30, 30)),
    "over": ("It takes over 30 days.", "over 30 days", "more than", (30, inf)),
    "at least": ("It takes at least 30 days.", "at least 30 days", "at least", (30, inf)),
    "no more than": ("It takes no more than 30 days.", "no more than 30 days", "at most", (-inf, 30)),
    "fewer than": ("It takes fewer than 30 days.", "fewer than 30 days", "less than", (-inf, 30)),
    "up to": ("It takes up to 30 days.", "up to 30 days", "at most", (-inf, 30)),
    "or more": ("It takes 30 days or more.", "30 days or more", "at least", (30, inf)),
    "plus sign": ("It takes 30+ days.", "30+", "at least", None),
    "range with a dash": ("It takes 5-10 days.", "5-10 days", "", (5, 10)),
    "range in words": ("It takes five to ten days.", "five to ten days", "", (5, 10)),
    "between": ("It takes between 5 and 10 days.", "between 5 and 10 days", "", (5, 10)),
    "a unit on both sides": ("It takes 5 days to 10 days.", "5 days to 10 days", "", (5, 10)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "span", "bound", "days"), BOUNDS.values(), ids=BOUNDS)
def test_bounds_and_ranges_are_part_of_the_slot(
    text: str, span: str, bound: str, days: tuple[float, float] | None
) -> None:
    slot = only_value(text)
    assert (slot.text, slot.bound, slot.approximate) == (span, bound, bound != "")
    if days:
        assert slot.value == Interval(days[0] * 86400, days[1] * 86400)


RATES = {
    "a day": ("Take 3 g a day.", "3 g a day", "day"),
    "daily": ("Take 3 g daily.", "3 g daily", "day"),
    "per month": ("Pay $5 per month.", "$5 per month", "month"),
    "times a week": ("Come three times a week.", "three times a week", "week"),
    "by weight": ("Give 5 mg/kg now.", "5 mg/kg", "kg"),
    "none": ("Take 3 g now.", "3 g", ""),
}


@pytest.mark.parametrize(("text", "span", "per"), RATES.values(), ids=RATES)
def test_a_rate_says_what_it_is_counted_by(text: str, span: str, per: str) -> None:
    slot = only_value(text)
    assert (slot.text, slot.per) == (span, per)


DATES = {
    "month first": ("on March 5, 2021.", "March 5, 2021", CalendarDate(year=2021, month=3, day=5)),
    "day first": ("on 5 March 2021.", "5 March 2021", CalendarDate(year=2021, month=3, day=5)),
    "short month": ("on 5 Mar 2021.", "5 Mar 2021", CalendarDate(year=2021, month=3, day=5)),
    "short month with a stop": ("on Sept. 5, 2021.", "Sept. 5, 2021", CalendarDate(year=2021, month=9, day=5)),
    "ordinal day": ("on the 5th of March 2021.", "5th of March 2021", CalendarDate(year=2021, month=3, day=5)),
    "ISO": ("on 2021-03-05.", "2021-03-05", CalendarDate(year=2021, month=3, day=5)),
    "ambiguous": ("on 03/05/2021.", "03/05/2021", CalendarDate(year=2021, month=3, day=5, either=True)),
    "day first by its size": ("on 25/03/2021.", "25/03/2021", CalendarDate(year=2021, month=3, day=25)),
    "hyphens, month first": ("on 03-25-2021.", "03-25-2021", CalendarDate(year=2021, month=3, day=25)),
    "a century before our era": ("in the 6th century BC.", "6th century BC", CalendarDate(year=-600, years=101)),
    "before our era": ("in 44 BC.", "44 BC", CalendarDate(year=-44)),
    "of our era": ("in 44 AD.", "44 AD", CalendarDate(year=44)),
    "year": ("built in 1998.", "1998", CalendarDate(year=1998)),
    "decade": ("built in the 1990s.", "1990s", CalendarDate(year=1990, years=10)),
    "century": ("built in the 19th century.", "19th century", CalendarDate(year=1800, years=101)),
    "season over two years": ("the 2003–04 season", "2003–04", CalendarDate(year=2003, years=2)),
    "month and year": ("in May 2020.", "May 2020", CalendarDate(year=2020, month=5)),
    "month alone": ("in May.", "May", CalendarDate(month=5)),
    "weekday": ("on Monday.", "Monday", CalendarDate(weekdays=(0, 0))),
    "weekdays from to": ("Monday to Friday.", "Monday to Friday", CalendarDate(weekdays=(0, 4))),
    "quarter": ("in Q3 2020.", "Q3 2020", CalendarDate(year=2020, quarter=3)),
    "quarter in words": ("the third quarter of 2020.", "third quarter of 2020", CalendarDate(year=2020, quarter=3)),
}  # fmt: skip


@pytest.mark.parametrize(("text", "span", "value"), DATES.values(), ids=DATES)
def test_dates_keep_what_is_stated(text: str, span: str, value: CalendarDate) -> None:
    slot = only_value(text)
    assert (slot.kind, slot.text, slot.value) == ("date", span, value)


TIMES = {
    "pm": ("at 2 pm.", "2 pm", (840,)),
    "a.m. with stops": ("at 9 a.m. today", "9 a.m.", (540,)),
    "no space": ("at 2:30pm.", "2:30pm", (870,)),
    "24 hours": ("at 14:00.", "14:00", (840,)),
    "either half of the day": ("at 9:30.", "9:30", (570, 1290)),
    "the end of the day": ("at 24:00.", "24:00", (0,)),
    "noon": ("at noon.", "noon", (720,)),
    "midnight": ("at midnight.", "midnight", (0,)),
    "half past": ("at half past nine.", "half past nine", (570, 1290)),
    "quarter to": ("at quarter to nine.", "quarter to nine", (525, 1245)),
    "o'clock": ("at nine o'clock.", "nine o'clock", (540, 1260)),
    "in the evening": ("at 9 in the evening.", "9 in the evening", (1260,)),
}


@pytest.mark.parametrize(("text", "span", "minutes"), TIMES.values(), ids=TIMES)
def test_times_are_minutes_after_midnight(text: str, span: str, minutes: tuple[int, ...]) -> None:
    slot = only_value(text)
    assert (slot.kind, slot.text, slot.value) == ("time", span, minutes)


WORDS = {
    "not": ("It is not open.", "negation", "not open"),
    "contraction": ("It isn't open.", "negation", "isn't open"),
    "curly apostrophe": ("It isn’t open.", "negation", "isn’t open"),
    "do not": ("They do not sell it.", "negation", "do not sell"),
    "cannot": ("They cannot sell it.", "negation", "cannot sell"),
    "never": ("They never sell it.", "negation", "never sell"),
    "no": ("There are no refunds.", "negation", "no refunds"),
    "non": ("It is non-refundable.", "negation", "non-refundable"),
    "non before a letter": ("They had non-A blood.", "negation", "non"),
    "without": ("It comes without salt.", "negation", "without salt"),
    "fails to": ("It fails to start.", "negation", "fails to start"),
    "all": ("All rooms have it.", "quantifier", "All"),
    "most": ("Most rooms have it.", "quantifier", "Most"),
    "not all": ("They say not all rooms have it.", "quantifier", "not all"),
    "every single": ("Every single room has it.", "quantifier", "Every single"),
    "sometimes": ("It sometimes rains.", "quantifier", "sometimes"),
    "higher": ("The fee is higher.", "comparative", "higher"),
    "increased": ("The fee increased.", "comparative", "increased"),
    "went up": ("The fee went up there.", "comparative", "went up"),
    "before": ("Pay before delivery.", "comparative", "before"),
    "antonym in another form": ("The firm rejects it.", "antonym", "rejects"),
    "a name of two words": ("It was Jane Doe there.", "name", "Jane Doe"),
    "a name at the start": ("Jane Doe was there.", "name", "Jane Doe"),
    "initials": ("It was J. R. Smith there.", "name", "J. R. Smith"),
    "links within a name": ("It was the Bank of England there.", "name", "Bank of England"),
    "an acronym": ("They work at NASA there.", "name", "NASA"),
    "a possessive": ("It was Jane Doe's house.", "name", "Jane Doe"),
}


@pytest.mark.parametrize(("text", "kind", "span"), WORDS.values(), ids=WORDS)
def test_words_that_turn_a_statement_and_names(text: str, kind: str, span: str) -> None:
    assert [slot.text for slot in find_slots(text) if slot.kind == kind] == [span]


NOTHING = {
    "a disease": "They had COVID-19 then.",
    "a vitamin": "Eat vitamin B12 then.",
    "a shape of things": "They saw a 3D print then.",
    "one as a pronoun": "No one saw this one.",
    "the verb may": "They may go.",
    "a march": "They march on.",
    "a saying": "They work 24/7 there.",
    "number of a house sign": "They saw #12 there.",
}


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING)
def test_what_looks_like_a_value_and_is_none(text: str) -> None:
    assert [slot.text for slot in find_slots(text) if slot.kind in VALUE_KINDS] == []


def test_the_start_of_a_sentence_is_no_name() -> None:
    assert [slot.text for slot in find_slots("Refunds are late. However they come.") if slot.kind == "name"] == []


DIFFER = {
    "days": ("Refunds close after 31 days.", "Refunds are accepted within 30 days.", "duration", "31 days", "30 days"),
    "a count": ("The hotel has 31 rooms.", "The hotel has thirty rooms.", "number", "31", "thirty"),
    "a unit": ("Take 4 mg of it.", "Take 4 g of it.", "number", "4 mg", "4 g"),
    "another sort of unit": ("Take 4 ml of it with food.", "Take 4 g of it with food.", "number", "4 ml", "4 g"),
    "days for months": ("The trial lasts 3 months.", "The trial lasts 3 days.", "duration", "3 months", "3 days"),
    "minutes after hours": ("It lasts 1 hour 30 minutes.", "It lasts 1 hour 45 minutes.", "duration", "1 hour 30 minutes", "1 hour 45 minutes"),
    "minus": ("Keep it at minus 5 °C.", "Keep it at 5 °C.", "number", "minus 5 °C", "5 °C"),
    "a telephone number": ("Call 555-123-4567 now.", "Call 555-123-4568 now.", "number", "555-123-4567", "555-123-4568"),
    "thousands with spaces": ("It has 10 000 users.", "It has 20 000 users.", "number", "10 000", "20 000"),
    "pounds sterling": ("The fee is £30 there.", "The fee is 20 pounds there.", "money", "£30", "20 pounds"),
    "a currency": ("The fee is €5 there.", "The fee is $5 there.", "money", "€5", "$5"),
    "a percentage": ("A third of users left.", "25 % of users left.", "percent", "A third", "25 %"),
    "a rate": ("The plan costs $5 per month.", "The plan costs $5 per year.", "money", "$5 per month", "$5 per year"),
    "how often": ("It runs twice a day.", "It runs three times a day.", "number", "twice a day", "three times a day"),
    "a bound's number": ("You must be at least 21.", "You must be 18 or older.", "number", "at least 21", "18 or older"),
    "a bound's direction": ("Bring at most 5 bags.", "Bring at least 5 bags.", "number", "at most 5", "at least 5"),
    "beyond a range": ("Take 12 mg daily.", "Take 5-10 mg daily.", "number", "12 mg daily", "5-10 mg daily"),
    "a stated limit": ("Do not take more than 8000 mg.", "The maximum daily dose is 4 g.", "number", "8000 mg", "4 g"),
    "days of a kind": ("Staff get 20 vacation days.", "Staff get 25 days of vacation.", "duration", "20 vacation days", "25 days"),
    "a rate of things counted": ("It allows 9 calls per second.", "It allows 9 calls per minute.", "number", "9 calls per second", "9 calls per minute"),
    "a range": ("It takes 2-4 days.", "It takes two to three days.", "duration", "2-4 days", "two to three days"),
    "a year": ("It was built in 1903.", "It was built in 1906.", "date", "1903", "1906"),
    "the end of two years": ("It ran from 1914 to 1919.", "It ran from 1914 to 1918.", "date", "1919", "1918"),
    "a month beside the right year": ("In 2021 it opened on 5 May 2021.", "In 2021 it opened on 5 July 2021.", "date", "5 May 2021", "5 July 2021"),
    "an era": ("It was built in 44 BC.", "It was built in 44 AD.", "date", "44 BC", "44 AD"),
    "a decade": ("It opened in the 1980s.", "It opened in 1995.", "date", "1980s", "1995"),
    "a weekday": ("The shop is open on Sunday.", "The shop is open Monday to Saturday.", "date", "Sunday", "Monday to Saturday"),
    "a quarter": ("Sales rose in Q3 2020.", "Sales rose in the second quarter of 2020.", "date", "Q3 2020", "second quarter of 2020"),
    "half of the day": ("We open at 9 am.", "We open at 9 pm.", "time", "9 am", "9 pm"),
    "ten at night": ("We open at 10:00 daily.", "We open at 22:00 daily.", "time", "10:00", "22:00"),
    "half past": ("It starts at half past nine.", "It starts at 10:30 am.", "time", "half past nine", "10:30 am"),
    "a version": ("Version 2.3.1 fixes it.", "Version 2.3.2 fixes it.", "number", "2.3.1", "2.3.2"),
    "an ordinal": ("She was the second woman to win.", "She was the first woman to win.", "number", "second", "first"),
    "a name": ("The CEO is John Smith.", "The CEO is Jane Doe.", "name", "John Smith", "Jane Doe"),
    "a city": ("The firm moved to Paris in May.", "The firm moved to Lyon in May.", "name", "Paris", "Lyon"),
    "negated": ("Refunds are not available.", "Refunds are available.", "negation", "not available", "available"),
    "negated verb": ("The shop does not accept cards.", "The shop accepts cards.", "negation", "does not accept", "accepts"),
    "negation left out": ("The tent is waterproof.", "The tent is not waterproof.", "negation", "waterproof", "not waterproof"),
    "contraction left out": ("The tent is waterproof.", "The tent isn't waterproof.", "negation", "is waterproof", "isn't waterproof"),
    "no refunds": ("There are no refunds on shoes.", "There are refunds on shoes.", "negation", "no refunds", "refunds"),
    "a negated name": ("The CEO is not Jane Doe.", "The CEO is Jane Doe.", "negation", "not Jane", "Jane"),
    "non-refundable": ("The deposit is refundable.", "The deposit is non-refundable.", "negation", "refundable", "non-refundable"),
    "never and always": ("The shop never closes.", "The shop always closes.", "quantifier", "never", "always"),
    "all and some": ("All rooms have a view.", "Some rooms have a view.", "quantifier", "All", "Some"),
    "few and most": ("Few rooms have a view.", "Most rooms have a view.", "quantifier", "Few", "Most"),
    "rose and fell": ("Prices increased in May.", "Prices fell in May.", "comparative", "increased", "fell"),
    "went up and down": ("The price went up by 5 %.", "The price went down by 5 %.", "comparative", "went up", "went down"),
    "went up and fell": ("The price went up by 5 %.", "The price fell by 5 %.", "comparative", "went up", "fell"),
    "before and after": ("Pay before delivery.", "Pay after delivery.", "comparative", "before", "after"),
    "open and closed": ("The pool is closed.", "The pool is open.", "antonym", "closed", "open"),
    "allowed and forbidden": ("Dogs are allowed here.", "Dogs are forbidden here.", "antonym", "allowed", "forbidden"),
    "free and paid": ("Shipping is free.", "Shipping is paid by the customer.", "antonym", "free", "paid"),
}  # fmt: skip


@pytest.mark.parametrize(("claim", "evidence", "kind", "wrong", "right"), DIFFER.values(), ids=DIFFER)
def test_a_difference_names_both_spans(claim: str, evidence: str, kind: str, wrong: str, right: str) -> None:
    (difference,) = compare_slots(claim, evidence)
    assert difference.evidence is not None
    assert (difference.kind, difference.claim.text, difference.evidence.text) == (kind, wrong, right)


SAME = {
    "years and months": ("It lasts two years.", "It lasts 24 months."),
    "grams and milligrams": ("Take 4 g.", "Take 4000 mg."),
    "kilometres and metres": ("It is 1 km away.", "It is 1000 m away."),
    "minutes and hours": ("It takes 90 minutes.", "It takes 1.5 hours."),
    "an hour and a half": ("It takes an hour and a half.", "It takes 90 minutes."),
    "hours and minutes": ("It takes 1 hour 30 minutes.", "It takes 90 minutes."),
    "feet and inches": ("He is 5 ft 10 in tall.", "He is 178 cm tall."),
    "minus as a word": ("It is minus 5 °C there.", "It is -5 °C there."),
    "thousands with spaces": ("It has 10 000 users.", "It has 10,000 users."),
    "a decimal comma": ("It is 3,5 m long.", "It is 3.5 m long."),
    "M for a million": ("It has 1.2M users.", "It has 1.2 million users."),
    "bn after a space": ("It raised $1.5 bn.", "It raised $1,500 million."),
    "pounds and their sign": ("The fee is £3k a year.", "The fee is 3,000 pounds a year."),
    "pounds as money": ("It costs 20 pounds.", "It costs £20."),
    "telephone numbers": ("Call 555-123-4567 now.", "Call (555) 123-4567 now."),
    "a version with its v": ("Version 1.2.3 is out.", "Version v1.2.3 is out."),
    "midnight": ("It ends at midnight.", "It ends at 24:00."),
    "two ways to write midnight": ("It ends at 00:00.", "It ends at 24:00."),
    "half a point": ("It grew by 0.5 percentage points.", "It grew by half a percentage point."),
    "one month and 30 days, which nobody can tell": ("It takes one month.", "It takes 30 days."),
    "miles and rounded kilometres": ("It is 5 miles away.", "It is 8 km away."),
    "afternoon": ("It starts at 2 pm.", "It starts at 14:00."),
    "percent": ("It fell 12 %.", "It fell 12 percent."),
    "two thirds": ("Two thirds of users left.", "67 % of users left."),
    "dates": ("On March 5, 2021 it began.", "It began on 5 March 2021."),
    "ambiguous date, month first": ("It began on 03/05/2021.", "It began on March 5, 2021."),
    "ambiguous date, day first": ("It began on 03/05/2021.", "It began on 5 March 2021, not later."),
    "less exact date": ("It began in March 2021.", "It began on 5 March 2021."),
    "a century": ("It is from the 19th century.", "It is from 1850."),
    "a century BC": ("It is from the 6th century BC.", "It is from 570 BC."),
    "a century that leaves BC out": ("It is from the 6th century.", "It is from 570 BC."),
    "a letter after the number of a flat": ("It was apartment 21B there.", "It was apartment twenty-one B there."),
    "millions": ("It cost $1.5 million.", "It cost 1,500,000 dollars."),
    "cents": ("It costs 50 cents.", "It costs $0.50."),
    "rates": ("It costs $5 per month.", "It costs $60 per year."),
    "twice": ("It runs twice a day.", "It runs 2 times daily."),
    "about": ("It takes about 30 days.", "It takes 31 days."),
    "over": ("It takes over 30 days.", "It takes 31 days."),
    "or older": ("You must be at least 18.", "You must be 18 or older."),
    "no more than": ("No more than 5 people fit.", "At most 5 people fit."),
    "inside a range": ("Take 7 mg daily.", "Take 5 to 10 mg daily."),
    "inside the week": ("It is open on Tuesday.", "It is open Monday to Friday."),
    "opening hours": ("It is open 9 to 17.", "It is open from 9 am to 5 pm."),
    "contraction": ("It isn't open.", "It is not open."),
    "negation by another word": ("It does not come with salt.", "It comes without salt."),
    "negated antonym": ("The pool is not open.", "The pool is closed."),
    "none and no": ("None of the rooms have a view.", "No rooms have a view."),
    "non and not": ("The deposit is non-refundable.", "The deposit is not refundable."),
    "non without its hyphen": ("They wore a non arching ski.", "They wore a non-arching ski."),
    "not uncommon": ("Delays are not uncommon.", "Delays are common."),
    "went up": ("The price went up.", "The price increased."),
    "some of all": ("Some rooms have a view.", "All rooms have a view."),
    "part of a name": ("The CEO is Doe.", "The CEO is Jane Doe."),
    "a name and its acronym": ("The IBM offer stands.", "The offer of International Business Machines stands."),
    "USA and United States": ("It happened in the USA.", "It happened in the United States."),
    "absence of any value": ("It takes 30 days.", "It takes a while."),
    "absence of that kind": ("It takes 30 days.", "It costs $30."),
    "other things counted": ("The house has 3 cats.", "The house has 5 windows."),
    "another sentence's value": ("The visa costs $30.", "Photos cost $12. The visa costs $30."),
    "only a sentence about other things": ("The visa costs $30.", "Cats sleep for 12 hours. Dogs cost $50 a day."),
    "not only": ("It is open on Sunday.", "It is not only open on Sunday but also at night."),
    "empty claim": ("", "It takes 30 days."),
    "empty evidence": ("It takes 30 days.", ""),
}


@pytest.mark.parametrize(("claim", "evidence"), SAME.values(), ids=SAME)
def test_no_difference(claim: str, evidence: str) -> None:
    assert compare_slots(claim, evidence) == ()


def test_the_counterpart_is_the_value_in_the_same_place() -> None:
    evidence = "The leaf is 15 mm long and 8 mm wide. The stem is 30 cm high."
    (difference,) = compare_slots("The leaf is 15 mm long and 6 mm wide.", evidence)
    assert difference.evidence is not None
    assert (difference.claim.text, difference.evidence.text) == ("6 mm", "8 mm")


def test_a_value_of_another_sentence_does_not_excuse_a_wrong_one() -> None:
    evidence = "Carl married Emma in 1881. He died in Chester in 1920."
    (difference,) = compare_slots("Carl married Emma in 1920.", evidence)
    assert difference.evidence is not None
    assert (difference.claim.text, difference.evidence.text) == ("1920", "1881")


def test_where_two_places_are_as_good_there_is_no_single_counterpart() -> None:
    (difference,) = compare_slots("The fee is $5.", "The fee is $3. The fee is $4.")
    assert (difference.claim.text, difference.evidence) == ("$5", None)


@pytest.mark.parametrize(
    ("claim", "evidence", "repaired"),
    [
        ("Refunds close after 31 days.", "Refunds close after 30 days.", "Refunds close after 30 days."),
        ("It does not accept cards.", "The shop accepts cards.", "It accepts cards."),
        ("The pool is open to guests.", "The pool isn't open to guests.", "The pool isn't open to guests."),
        ("It runs twice a day.", "It runs three times a day.", "It runs three times a day."),
    ],
    ids=["a value", "a negation too many", "a negation left out", "a rate"],
)
def test_putting_the_evidence_text_in_repairs_the_claim(claim: str, evidence: str, repaired: str) -> None:
    (difference,) = compare_slots(claim, evidence)
    assert difference.evidence is not None
    patched = claim[: difference.claim.start] + difference.evidence.text + claim[difference.claim.end :]
    assert patched == repaired
    assert compare_slots(patched, evidence) == ()


def test_several_differences_come_in_the_order_of_the_claim() -> None:
    found = compare_slots("It costs $31 and opens on 6 May at 9 am.", "It costs $30 and opens on 5 May at 8 am.")
    assert [difference.claim.text for difference in found] == ["$31", "6 May", "9 am"]
    assert all(isinstance(difference, SlotDifference) for difference in found)


@pytest.mark.parametrize("digits", [26, 40, 301, 5_000])
def test_a_number_is_never_too_long_to_differ(digits: int) -> None:
    (slot,) = [
        each for each in find_slots(f"Refunds are available within {'9' * digits} days.") if each.kind == "duration"
    ]
    (known,) = [each for each in find_slots("Refunds are available within 30 days.") if each.kind == "duration"]
    assert slot.value != known.value
