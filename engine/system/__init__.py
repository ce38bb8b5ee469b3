"""The operating system: errors, memory, drives and the terminal."""
