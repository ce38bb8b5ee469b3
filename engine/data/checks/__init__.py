"""Checks of the rows of a data set, one file each. CHECKS lists them in the order of their
findings."""

from engine.data.checks import (
    absent_labels,
    broken_texts,
    duplicates,
    giveaways,
    label_conflicts,
    label_spellings,
    leaks,
    missing_answers,
    mixed_scripts,
    rare_labels,
    text_lengths,
)
from engine.data.checks.check import Check
from engine.phrases import phrase

CHECKS: dict[str, Check] = {
    "leaked_rows": Check(phrase("Evaluation rows in the training set"), leaks.find_equal),
    "nearly_leaked_rows": Check(
        phrase("Evaluation rows nearly in the training set"), leaks.find_near
    ),
    "label_conflicts": Check(phrase("Same text, different labels"), label_conflicts.find),
    "missing_answers": Check(phrase("Answers not in the passage"), missing_answers.find),
    "label_spellings": Check(phrase("Labels in several spellings"), label_spellings.find),
    "rare_labels": Check(phrase("Rare labels"), rare_labels.find),
    "absent_labels": Check(phrase("Labels without validation rows"), absent_labels.find),
    "giveaways": Check(phrase("Label given away"), giveaways.find),
    "exact_duplicates": Check(phrase("Exact duplicates"), duplicates.find_exact),
    "near_duplicates": Check(phrase("Near duplicates"), duplicates.find_near),
    "text_lengths": Check(phrase("Empty and very long texts"), text_lengths.find),
    "broken_texts": Check(phrase("Broken characters"), broken_texts.find),
    "mixed_scripts": Check(phrase("Mixed scripts"), mixed_scripts.find),
}
