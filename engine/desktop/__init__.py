"""Desktop services: notifications, sleep inhibition, and a user command at the end of runs."""
