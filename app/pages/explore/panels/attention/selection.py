"""Which heads are selected."""

from PySide6.QtCore import QObject, Signal

MAX_HEADS = 8  # whose lines are drawn at once; so many colours can be told apart

Head = tuple[int, int]  # layer and head, from 0


class HeadSelection(QObject):
    """One head or several of L layers of H heads; the last is the current one.

    Signals:
        changed: the heads.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.heads: tuple[Head, ...] = ((0, 0),)
        self._size = (0, 0)
        self._by_head: tuple[Head, ...] = ()  # chosen, while the maps are of whole layers

    @property
    def current(self) -> Head:
        return self.heads[-1]

    def fit(self, size: tuple[int, int]) -> None:
        """Keep to the layers and heads that there are now; tells nobody.

        Maps of whole layers have one head; the heads that were chosen come back with the maps of
        single ones, where the layer is still the same.
        """
        layers, heads = size
        if not (layers and heads):
            return
        had, self._size = self._size, size
        if heads == 1 < had[1]:
            self._by_head = self.heads
        elif had[1] == 1 < heads and self._by_head:
            self.heads = self._restored()
        fitting = [(min(a, layers - 1), min(b, heads - 1)) for a, b in self.heads]
        self.heads = tuple(dict.fromkeys(fitting))

    def _restored(self) -> tuple[Head, ...]:
        """The heads of the layers that are chosen now, as they were; of another layer its first."""
        layers = {layer for layer, _ in self.heads}
        kept = [one for one in self._by_head if one[0] in layers]
        new = [(layer, 0) for layer, _ in self.heads if layer not in {a for a, _ in kept}]
        return tuple(new + kept)

    def pick(self, layer: int, head: int) -> None:
        """Select this head alone."""
        if self._exists(layer, head) and self.heads != ((layer, head),):
            self._choose(((layer, head),))

    def toggle(self, layer: int, head: int) -> None:
        """Add this head, as the current one, or remove it; one always stays."""
        one = layer, head
        if not self._exists(layer, head):
            return
        if one not in self.heads:
            self._choose((*self.heads, one)[-MAX_HEADS:])
        elif len(self.heads) > 1:
            self._choose(tuple(other for other in self.heads if other != one))

    def _exists(self, layer: int, head: int) -> bool:
        return 0 <= layer < self._size[0] and 0 <= head < self._size[1]

    def _choose(self, heads: tuple[Head, ...]) -> None:
        self.heads = heads
        self.changed.emit()
