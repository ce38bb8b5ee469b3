"""Checks of the rows of a data set. CHECKS lists them in the order of their findings."""

from engine.data.checks import copies, giveaways, labels, missing_answers, signs, texts
from engine.data.checks.check import Check
from engine.phrases import phrase

CHECKS: dict[str, Check] = {
    "leaked_rows": Check(phrase("Evaluation rows in the training set"), copies.find_leaked),
    "nearly_leaked_rows": Check(
        phrase("Near-duplicates across splits (leakage)"), copies.find_nearly_leaked
    ),
    "label_conflicts": Check(phrase("Same text, different labels"), labels.find_conflicts),
    "missing_answers": Check(phrase("Answers not in the passage"), missing_answers.find),
    "placeholder_labels": Check(phrase("Placeholders instead of labels"), labels.find_placeholders),
    "label_signs": Check(phrase("Ambiguous notation in labels"), signs.find),
    "label_spellings": Check(phrase("Labels in several spellings"), labels.find_variants),
    "rare_labels": Check(phrase("Rare labels"), labels.find_rare),
    "absent_labels": Check(phrase("Labels without validation rows"), labels.find_absent),
    "giveaways": Check(phrase("Label leakage"), giveaways.find),
    "outlying_numbers": Check(phrase("Outliers"), labels.find_outliers),
    "exact_duplicates": Check(phrase("Exact duplicates"), copies.find_exact),
    "near_duplicates": Check(phrase("Near-duplicates"), copies.find_near),
    "text_lengths": Check(phrase("Empty and very long texts"), texts.find_lengths),
    "broken_texts": Check(phrase("Broken characters"), texts.find_broken),
    "mixed_scripts": Check(phrase("Mixed scripts"), texts.find_mixed_scripts),
}
