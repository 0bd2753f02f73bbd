"""Exchanged sides are a difference; the same event told from the other side is none."""

from __future__ import annotations

import pytest

from director_ai.core.scoring.slots import compare_slots

# Claim with the sides exchanged, the right one beside it, and the evidence of both.
EXCHANGED = {
    "subject and object": (
        "The landlord pays the tenant.",
        "The tenant is paid by nobody but pays the landlord.",
        "The tenant pays the landlord on the first of the month.",
    ),
    "active and passive": (
        "Oskar Lind was taught by Marie Castel.",
        "Marie Castel was taught by Oskar Lind.",
        "The painter Oskar Lind taught Marie Castel in his studio.",
    ),
    "converse verbs": (
        "Titan sold the rights to Vale.",
        "Titan bought the rights from Vale.",
        "The writer Corin Vale sold the rights to Titan Pictures.",
    ),
    "lending and borrowing": (
        "The museum borrows the painting from the castle.",
        "The castle borrows the painting from the museum.",
        "The museum lends the painting to the castle.",
    ),
    "owning and belonging": (
        "The harbour belongs to the ferry.",
        "The ferry belongs to the harbour.",
        "The harbour owns the ferry.",
    ),
    "one who follows": (
        "Adler followed Ms Fuchs as mayor.",
        "Ms Fuchs followed Adler as mayor.",
        "Mayor Adler was succeeded by Ms Fuchs in the end.",
    ),
    "two objects": (
        "Studio Halden gave the jury the prize.",
        "The jury gave Studio Halden the prize.",
        "The prize was awarded by the jury to Studio Halden.",
    ),
    "a noun for the part": (
        "Pallis was the assistant of Wirth.",
        "Wirth was the assistant of Pallis.",
        "Pallis's assistant Wirth completed the tower.",
    ),
    "a comparison": (
        "The Heron is heavier than the Tern.",
        "The Tern is heavier than the Heron.",
        "The Tern is much heavier than the Heron.",
    ),
    "one company that takes over another": (
        "Brenn Ltd. took over Halle Group in 2021.",
        "Halle Group took over Brenn Ltd. in 2021.",
        "Brenn Ltd. was acquired by Halle Group in 2021.",
    ),
    "what was bought, under another name": (
        "In that year, the abbey bought the land from the town.",
        "In that year, the town bought the land from the abbey.",
        "The town bought Lower Marsh from the abbey in 1831.",
    ),
    "a part that someone has now": (
        "The Aster Works are owned by Corvin Mills.",
        "Corvin Mills is owned by the Aster Works.",
        "Corvin Mills is now a wholly owned subsidiary of the Aster Works.",
    ),
    "two things that go either way": (
        "The doctor reports the findings back to the specialist.",
        "The specialist reports the findings back to the doctor.",
        "The doctor refers patients to the specialist, and the specialist reports the findings back to the doctor.",
    ),
    "from one to the other": (
        "The bus goes from Arden to Lorr every day.",
        "The bus goes from Lorr to Arden every day.",
        "A bus runs from Lorr to Arden.",
    ),
    "before": (
        "Guests pay before they eat.",
        "Guests eat before they pay.",
        "Guests eat the meal before paying for it.",
    ),
    "first and afterwards": (
        "Polish the frame first and wash it afterwards.",
        "Wash the frame first and polish it afterwards.",
        "The frame is washed before it is polished.",
    ),
}


@pytest.mark.parametrize(("wrong", "right", "evidence"), EXCHANGED.values(), ids=EXCHANGED)
def test_exchanged_sides_are_a_difference(wrong: str, right: str, evidence: str) -> None:
    assert compare_slots(wrong, evidence)
    assert "roles" not in {difference.kind for difference in compare_slots(right, evidence)}


# Claim and evidence that have two in other places without one being wrong.
UNCLEAR = {
    "both ways": ("The smith pays the miller.", "The miller pays the smith. The smith pays the miller too."),
    "one side only": ("The landlord pays the gardener.", "The tenant pays the landlord."),
    "two who meet": ("The baker met the smith at the fair.", "The smith met the baker at the fair."),
    "not": ("The landlord does not pay the tenant.", "The tenant pays the landlord."),
    "another thing": ("Kanto gave Ferrum a sensor.", "Ferrum gave Kanto a gripper."),
    "another time": ("Omar Reyes beat Petra Nagy.", "Petra Nagy beat Omar Reyes once and later lost to him."),
    "and back": ("Going from Flex back to Fix is possible.", "Switching from Fix to Flex is free."),
    "after which": ("The urchins declined after the otters returned.", "The otters returned, after which the urchins declined."),
    "what may not be": ("Ask for approval before starting work.", "Work started before approval is not paid."),
}  # fmt: skip


@pytest.mark.parametrize(("claim", "evidence"), UNCLEAR.values(), ids=UNCLEAR)
def test_what_is_unclear_is_no_difference_of_roles(claim: str, evidence: str) -> None:
    assert "roles" not in {difference.kind for difference in compare_slots(claim, evidence)}


def test_a_sale_told_by_the_buyer_is_no_opposite() -> None:
    evidence = "Amber sold Bolt to Carver in 2022."
    assert compare_slots("Carver purchased Bolt in 2022.", evidence) == ()
    (difference,) = compare_slots("Amber purchased Bolt in 2022.", evidence)
    assert (difference.kind, difference.claim.text) == ("antonym", "purchased")


def test_the_difference_names_the_word_on_both_sides() -> None:
    (difference,) = compare_slots("The landlord pays the tenant.", "The tenant pays the landlord.")
    assert difference.kind == "roles"
    assert difference.claim.text == "pays"
    assert difference.evidence is not None
    assert difference.evidence.text == "pays"
