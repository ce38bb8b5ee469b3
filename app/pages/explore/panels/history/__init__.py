"""Every input that was viewed: to come back to, to pin, to compare with."""
