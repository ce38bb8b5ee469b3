"""Numbers and probabilities as people type them: in a field, or after an option of a command."""

import math


def parse_typed_number(text: str, integer: bool) -> float | int | None:
    """Parse a number, None if the text is none; a comma counts as the decimal point."""
    cleaned = text.strip().replace("\u202f", "").replace(" ", "").replace("−", "-")
    if cleaned.count(",") == 1 and "." not in cleaned:
        cleaned = cleaned.replace(",", ".")
    try:
        value = float(cleaned)
    except ValueError:
        return None
    if not math.isfinite(value) or "_" in cleaned:
        return None
    if integer and value.is_integer():
        return int(cleaned) if cleaned.lstrip("+-").isdigit() else int(value)
    return value


def parse_probability(text: str, most: float = 1.0) -> float | None:
    """Parse a probability up to `most`; None if the text is none.

    Above 1, or with a sign, it is in per cent; so is 1 if it would be more than `most`.
    """
    is_percent = text.strip().endswith("%")
    value = parse_typed_number(text.strip().removesuffix("%"), integer=False)
    if value is None:
        return None
    fraction = value / 100 if is_percent or value > 1 or value == 1 > most else value
    return fraction if 0 <= fraction <= most else None
