"""The run database: one SQLite file, its tables, and functions over a session. No torch.

Facts about runs come from their folders and can be rebuilt from them; names, notes, tags and stars
are the user's own and exist only here.
"""
