"""Words in template slots, and how much one makes another more likely."""
