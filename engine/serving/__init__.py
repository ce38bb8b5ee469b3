"""Networks that answer and do not learn: the same weights, laid out for quick products."""
