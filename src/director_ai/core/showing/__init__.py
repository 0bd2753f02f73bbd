"""What reports and pages have in common: differences as stretches, words for verdicts, marks for what is invisible."""
