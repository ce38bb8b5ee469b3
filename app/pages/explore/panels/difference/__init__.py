"""How the second model differs from the first on many texts."""
