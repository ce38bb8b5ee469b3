"""How long the inputs of a data set are."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Lengths:
    """In tokens, seen on a sample of the training rows."""

    sample: tuple[int, ...]  # sorted

    def suggested(self, longest: int) -> int:
        """The 99th percentile, rounded up to a multiple of 8 or 16, at most `longest`."""
        wanted = self.sample[min(len(self.sample) - 1, int(0.99 * len(self.sample)))]
        multiple = 8 if wanted <= 64 else 16
        return max(16, min(longest, -(-wanted // multiple) * multiple))

    def share_above(self, longest: int) -> float:
        """The share of inputs that are longer than `longest`."""
        return sum(length > longest for length in self.sample) / len(self.sample)
