"""The window: Qt, never torch."""
