"""What is said of a data set on the list and on its page."""

from pathlib import Path

from PySide6.QtCore import QObject

from app.library import DataEntry
from app.pages.data.cells import one_line, roles_in
from app.widgets import numbers
from app.widgets.data_texts import wanted_of
from app.widgets.entries import Entry
from app.widgets.spec_texts import title_of
from app.widgets.text import Look
from engine.data.formats.reading import FORMATS
from engine.spec.dataset import DatasetSpec, Mapping

DELIMITERS = {",": ",", ";": ";", "|": "|", "\t": "Tab"}


class Words(QObject):
    """Puts what is known of a data set into words."""

    def entry(self, data: DataEntry, source: str) -> Entry:
        """The card on the list; `source` is “changed”, “missing”, “same” or “”, not known."""
        spec = data.spec
        if spec is None:
            return Entry(
                data.folder,
                data.name,
                data.problem,
                "triangle-alert",
                mark=self.tr("Damaged"),
                warns=True,
            )
        return Entry(
            data.folder,
            spec.name,
            self.line(spec),
            "tags" if roles_in(spec.mapping).keys() - {spec.mapping.text} else "file-text",
            figure=numbers.count(sum(spec.rows.values())),
            unit=self.tr("rows"),
            mark=self.tr("Source changed") if source == "changed" else "",
            warns=source == "changed",
        )

    def line(self, spec: DatasetSpec) -> str:
        """Version, classes, parts and source in one line."""
        parts = " / ".join(
            f"{part} {numbers.count(rows)}" for part, rows in spec.rows.items() if rows
        )
        said = [self.tr("version {0}").format(spec.version), wanted_of(spec)]
        if spec.mapping.pair is not None:
            said.append(self.tr("pairs"))
        names = ", ".join(one_line(path.name[:60]) for path in spec.sources.values())
        return " · ".join([*said, parts, names])

    def facts(
        self, spec: DatasetSpec, folder: Path, source: str
    ) -> list[tuple[str, str] | tuple[str, str, Look]]:
        """All that is known, for the page of the data set."""
        mapping = spec.mapping
        roles = [
            f"{title_of(part, Mapping.model_fields[part])}: {one_line(column[:100])}"
            for column, part in roles_in(mapping).items()
        ]
        facts: list[tuple[str, str] | tuple[str, str, Look]] = [
            (self.tr("Rows"), numbers.count(sum(spec.rows.values()))),
            (
                self.tr("Parts"),
                "\n".join(f"{part}: {numbers.count(rows)}" for part, rows in spec.rows.items()),
            ),
            (self.tr("Split"), self._split(spec)),
            (self.tr("Columns"), "\n".join(roles)),
            (self.tr("Read as"), self._reading(spec)),
            (self.tr("Source"), "\n".join(str(path) for path in spec.sources.values())),
        ]
        states: dict[str, tuple[str, Look]] = {
            "changed": (
                self.tr("has changed since; import it again for a new version"),
                "warn",
            ),
            "missing": (self.tr("is no longer there; the rows are kept here"), "muted"),
            "same": (self.tr("is as it was when it was imported"), "body"),
        }
        if source in states:
            facts.append((self.tr("The source"), *states[source]))
        facts.append((self.tr("Folder"), str(folder)))
        facts.append((self.tr("Fingerprint"), spec.fingerprint[:16]))
        return facts

    def _reading(self, spec: DatasetSpec) -> str:
        reading = spec.reading
        said = [FORMATS[reading.format].title, reading.encoding]
        if reading.format in ("csv", "tsv"):
            delimiter = DELIMITERS.get(reading.delimiter)
            if delimiter:
                said.append(self.tr("delimiter {0}").format(delimiter))
            said.append(self.tr("with header") if reading.header else self.tr("without header"))
        return ", ".join(said)

    def _split(self, spec: DatasetSpec) -> str:
        split = spec.split
        if split.column is not None:
            return self.tr("as column “{0}” says").format(split.column[:100])
        dealt = {"validation": split.validation, "test": split.test}
        shares = [
            f"{part} {numbers.percent(share, 0)}"
            for part, share in dealt.items()
            if part not in spec.sources and share
        ]
        if not shares:
            return self.tr("a file for each part") if len(spec.sources) > 1 else self.tr("none")
        return self.tr("{0}, by chance with seed {1}").format(", ".join(shares), split.seed)
