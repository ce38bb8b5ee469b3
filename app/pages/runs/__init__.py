"""All runs in one table, and the page of each with live curves."""
