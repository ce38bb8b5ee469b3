"""Exports of a checkpoint to other formats, each verified by loading it in a clean process."""
