"""Packets: rows handed out to coders, handed in by them, and taken in."""
