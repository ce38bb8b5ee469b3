"""The memory of the studio: one SQLite file, its tables, and functions over a session. No torch.

What it knows of runs comes from their folders and can be rebuilt from them; names, notes and
stars are the user's own and live only here.
"""
