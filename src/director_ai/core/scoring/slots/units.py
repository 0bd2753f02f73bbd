"""Units, currencies and number words: tables, and nothing else."""

from __future__ import annotations

__all__ = [
    "CURRENCY_CODES",
    "CURRENCY_SIGNS",
    "CURRENCY_WORDS",
    "FRACTIONS",
    "FRACTION_SIGNS",
    "HALVES_OF_DAY",
    "LETTER_SCALES",
    "ORDINALS",
    "RATES",
    "SCALES",
    "SMALL",
    "TENS",
    "UNITS",
]

SMALL = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
}
TENS = {
    word: 10 * value
    for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
SCALES = {
    "hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12, "dozen": 12.0, "lakh": 1e5,
    "crore": 1e7, "hundreds": 1e2, "thousands": 1e3, "millions": 1e6, "billions": 1e9, "dozens": 12.0,
    "mn": 1e6, "mln": 1e6, "bn": 1e9, "tn": 1e12,
}  # fmt: skip
LETTER_SCALES = {"k": 1e3, "m": 1e6, "mn": 1e6, "mln": 1e6, "b": 1e9, "bn": 1e9, "t": 1e12, "tn": 1e12}
ORDINALS = {
    word: value
    for value, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
        "fifteenth sixteenth seventeenth eighteenth nineteenth twentieth".split(),
        start=1,
    )
} | {"thirtieth": 30, "fortieth": 40, "fiftieth": 50, "sixtieth": 60, "hundredth": 100, "thousandth": 1000}
FRACTIONS = {"half": 2, "halves": 2, "quarter": 4, "quarters": 4} | {
    word + ending: value for word, value in ORDINALS.items() if 3 <= value <= 10 for ending in ("", "s")
}
FRACTION_SIGNS = {"½": 1 / 2, "⅓": 1 / 3, "⅔": 2 / 3, "¼": 1 / 4, "¾": 3 / 4, "⅕": 1 / 5, "⅛": 1 / 8, "⅜": 3 / 8}

# Base unit -> its units, each with its size in the base unit. A month is not a number of days, so months and years are
# a family of their own.
_MEASURES: dict[str, dict[str, float]] = {
    "s": {
        "s sec secs second seconds": 1, "ms msec millisecond milliseconds": 1e-3,
        "µs μs microsecond microseconds": 1e-6, "ns nanosecond nanoseconds": 1e-9, "min mins minute minutes": 60,
        "h hr hrs hour hours": 3600, "day days": 86400, "week weeks wk wks": 604800, "fortnight fortnights": 1209600,
    },
    "month": {
        "month months mo": 1, "year years yr yrs": 12, "decade decades": 120, "century centuries": 1200,
        "semester semesters": 6,
    },
    "m": {
        "m metre metres meter meters": 1, "km kms kilometre kilometres kilometer kilometers": 1e3,
        "cm centimetre centimetres centimeter centimeters": 1e-2, "mm millimetre millimetres millimeter millimeters":
        1e-3, "µm μm um micron microns micrometre micrometres micrometer micrometers": 1e-6,
        "nm nanometre nanometres nanometer nanometers": 1e-9, "ft foot feet": 0.3048, "inch inches": 0.0254,
        "yd yard yards": 0.9144, "mi mile miles": 1609.344, "nmi": 1852,
    },
    "g": {
        "g gram grams gramme grammes": 1, "kg kgs kilo kilos kilogram kilograms kilogramme kilogrammes": 1e3,
        "mg milligram milligrams": 1e-3, "mcg µg μg ug microgram micrograms": 1e-6, "ng nanogram nanograms": 1e-9,
        "tonne tonnes": 1e6, "ton tons": 907184.74, "lb lbs pound pounds": 453.59237, "oz ounce ounces":
        28.349523125,
    },
    "L": {
        "l litre litres liter liters": 1, "ml mls millilitre millilitres milliliter milliliters cc": 1e-3,
        "cl centilitre centilitres centiliter centiliters": 1e-2, "dl decilitre decilitres deciliter deciliters": 1e-1,
        "µl μl microlitre microlitres microliter microliters": 1e-6, "gal gallon gallons": 3.785411784,
        "pint pints": 0.473176473, "quart quarts": 0.946352946, "teaspoon teaspoons tsp": 0.005,
        "tablespoon tablespoons tbsp": 0.015,
    },
    "m2": {
        "m² sqm": 1, "km²": 1e6, "cm²": 1e-4, "hectare hectares ha": 1e4, "acre acres": 4046.8564224,
        "sqft": 0.09290304,
    },
    "m3": {"m³": 1, "cm³": 1e-6, "km³": 1e9},
    "B": {
        "byte bytes": 1, "kb kilobyte kilobytes": 1e3, "mb megabyte megabytes": 1e6, "gb gigabyte gigabytes": 1e9,
        "tb terabyte terabytes": 1e12, "pb petabyte petabytes": 1e15, "kib": 1024, "mib": 1024**2, "gib": 1024**3,
        "tib": 1024**4,
    },
    "bit": {"bit bits": 1, "kbit kbits": 1e3, "mbit mbits megabit megabits": 1e6, "gbit gbits gigabit gigabits": 1e9},
    "bit/s": {"kbps": 1e3, "mbps": 1e6, "gbps": 1e9},
    "m/s": {"mph": 0.44704, "kmh kph": 1 / 3.6, "knot knots kt": 1852 / 3600},
    "J": {
        "j joule joules": 1, "kj kilojoule kilojoules": 1e3, "mj megajoule megajoules": 1e6,
        "kcal kilocalorie kilocalories": 4184, "calorie calories": 4184, "wh": 3600, "kwh": 3.6e6, "mwh": 3.6e9,
        "gwh": 3.6e12,
    },
    "W": {
        "w watt watts": 1, "kw kilowatt kilowatts": 1e3, "mw megawatt megawatts": 1e6, "gw gigawatt gigawatts": 1e9,
        "hp horsepower": 745.69987,
    },
    "Pa": {
        "pa pascal pascals": 1, "hpa": 100, "kpa kilopascal kilopascals": 1e3, "mpa": 1e6, "bar bars": 1e5,
        "mbar millibar millibars": 100, "psi": 6894.757, "atm": 101325, "mmhg": 133.322,
    },
    "V": {"v volt volts": 1, "kv kilovolt kilovolts": 1e3, "mv": 1e-3},
    "A": {"amp amps ampere amperes": 1, "ma milliamp milliamps": 1e-3},
    "Hz": {"hz hertz": 1, "khz kilohertz": 1e3, "mhz megahertz": 1e6, "ghz gigahertz": 1e9},
    "mol": {"mol mole moles": 1, "mmol millimole millimoles": 1e-3, "µmol μmol": 1e-6},
    "IU": {"iu": 1},
    "px": {"px pixel pixels": 1, "megapixel megapixels": 1e6},
}  # fmt: skip
UNITS: dict[str, tuple[str, float]] = {
    name: (base, size) for base, units in _MEASURES.items() for names, size in units.items() for name in names.split()
}
UNITS |= {f"{name}'s": UNITS[name] for name in ("minute", "hour", "day", "week", "month", "year")}  # "a month's notice"

RATES = {
    "hourly": "hour", "daily": "day", "nightly": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter",
    "yearly": "year", "annually": "year", "annual": "year", "p.a.": "year", "night": "day",
}  # fmt: skip

CURRENCY_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₽": "RUB", "₩": "KRW", "₿": "BTC"}
CURRENCY_CODES = frozenset(
    "USD EUR GBP JPY CHF CAD AUD NZD CNY INR SEK NOK DKK PLN CZK HUF RUB BRL MXN ZAR SGD HKD KRW TRY ILS THB".split()
)
CURRENCY_WORDS: dict[str, tuple[str, float]] = {
    "dollar": ("USD", 1), "dollars": ("USD", 1), "buck": ("USD", 1), "bucks": ("USD", 1), "cent": ("USD", 0.01),
    "cents": ("USD", 0.01), "euro": ("EUR", 1), "euros": ("EUR", 1), "pence": ("GBP", 0.01), "yen": ("JPY", 1),
    "rupee": ("INR", 1), "rupees": ("INR", 1), "franc": ("CHF", 1), "francs": ("CHF", 1), "yuan": ("CNY", 1),
    "renminbi": ("CNY", 1), "rubles": ("RUB", 1), "roubles": ("RUB", 1), "ruble": ("RUB", 1),
    "quid": ("GBP", 1), "sterling": ("GBP", 1),
}  # fmt: skip
HALVES_OF_DAY = frozenset({"am", "a.m.", "a.m", "pm", "p.m.", "p.m"})
