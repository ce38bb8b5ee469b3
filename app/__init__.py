"""The window. Qt, and never torch."""
