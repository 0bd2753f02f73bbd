"""Names that tell little, and names of places that hold others: tables, and nothing else."""

from __future__ import annotations

__all__ = ["GENERIC_NAMES", "WIDE_PLACES"]

GENERIC_NAMES = frozenset(
    "school hospital clinic company bank group university college airport street road lane square centre center hall "
    "house club museum hotel station office council fund trust society association institute foundation agency board "
    "committee department ministry court union league party church city town county state island river lake sea ocean "
    "north south east west northern southern eastern western central great new old royal national international "
    "limited ltd inc gmbh ag co corporation services service park garden gardens bridge tower port harbour bay mount "
    "mountain valley earth europe european internet christmas easter eve year day god english french german spanish "
    "dutch italian swiss american british chinese japanese russian indian".split()
)
"""Words of names that do not say which is meant."""
WIDE_PLACES = frozenset(
    "africa america asia australia europe antarctica england scotland wales ireland britain france germany italy "
    "spain portugal greece turkey russia ukraine poland austria hungary romania bulgaria serbia croatia norway sweden "
    "finland denmark iceland netherlands holland belgium luxembourg switzerland china japan india pakistan iran iraq "
    "israel egypt syria canada mexico brazil argentina chile peru colombia cuba kenya nigeria ghana zealand indonesia "
    "vietnam thailand korea taiwan alabama alaska arizona arkansas california colorado connecticut florida georgia "
    "hawaii idaho illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota "
    "mississippi missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah vermont "
    "virginia wisconsin wyoming".split()
) | {"united states", "united kingdom", "new zealand", "south africa", "south korea", "north korea", "soviet union"}
"""Places that hold others."""
