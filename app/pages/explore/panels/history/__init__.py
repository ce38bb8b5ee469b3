"""Viewed inputs, to reopen, pin or compare with."""
