"""Parts of pages that download from the hub or upload to it."""
