"""Every input that was looked at: to come back to, to pin, to compare with."""
