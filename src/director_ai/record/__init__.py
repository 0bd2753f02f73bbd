"""What is kept of what was decided: figures for operators."""
