"""Versions, components and licences of the program."""

import platform
from pathlib import Path

from PySide6.QtGui import QGuiApplication

from app import resources
from app.machine import Machine, installed_version
from app.theme import SPACE
from app.translation import tr
from app.widgets import buttons, layouts
from app.widgets.page import Card
from app.widgets.text import numbers
from app.widgets.text.labels import OneLine, Text, TextView
from engine.record.checking import program_version
from engine.system.precision import Speeds, ThreadSpeeds

COMPONENTS = (  # package, licence
    ("torch", "BSD-3-Clause"),
    ("PySide6-Essentials", "LGPL-3.0"),
    ("tokenizers", "Apache-2.0"),
    ("safetensors", "Apache-2.0"),
    ("numpy", "BSD-3-Clause"),
    ("pyarrow", "Apache-2.0"),
    ("pyqtgraph", "MIT"),
    ("SQLAlchemy", "MIT"),
    ("alembic", "MIT"),
    ("pydantic", "MIT"),
    ("charset-normalizer", "MIT"),
    ("filelock", "MIT"),
    ("platformdirs", "MIT"),
    ("psutil", "BSD-3-Clause"),
    ("typer", "MIT"),
)


class About(Card):
    """Versions, licences and the machine, with a button that copies them."""

    def __init__(self) -> None:
        super().__init__(self.tr("About"))
        version = program_version()
        self.body.addWidget(
            Text(
                self.tr("BERT Studio {0}, Apache-2.0. No data leaves this machine.").format(
                    version
                ),
                selectable=True,
            )
        )
        self.torch = Text("", selectable=True)
        self.machine = Text("", "muted", selectable=True)
        self.warning = Text("", "warn", selectable=True)
        self.precision = Text("", "muted", selectable=True)
        for label in (self.torch, self.machine, self.precision, self.warning):
            label.hide()
            self.body.addWidget(label)
        self.versions = [(name, installed_version(name), licence) for name, licence in COMPONENTS]
        grid = layouts.grid(h_spacing=6 * SPACE, v_spacing=SPACE)
        per_column = -(-len(self.versions) // 2)
        for index, (name, number, licence) in enumerate(self.versions):
            row, column = index % per_column, index // per_column
            grid.addWidget(OneLine(f"{name} {number}"), row, 2 * column)
            grid.addWidget(Text(licence, "muted", wraps=False), row, 2 * column + 1)
            grid.setColumnStretch(2 * column, 1)
        self.body.addLayout(grid)
        self.body.addWidget(
            Text(
                self.tr(
                    "Qt and PySide6 are used under the LGPL as separate libraries that you may "
                    "replace. The fonts Inter and JetBrains Mono are under the OFL, the Lucide "
                    "icons under the ISC licence."
                ),
                "muted",
            )
        )
        self.copy = buttons.plain(self.tr("&Copy all"), self._on_copy, icon="copy")
        self.licences = buttons.plain(self.tr("Show &licences"), self._on_licences)
        self.body.addLayout(layouts.row(self.copy, self.licences, layouts.STRETCH))
        self.texts: TextView | None = None

    def show_machine(self, machine: Machine) -> None:
        """Show the torch build and its device."""
        build = {"cpu": self.tr("for CPU only"), "metal": self.tr("for Apple Metal")}.get(
            machine.torch_build, self.tr("for NVIDIA GPUs ({0})").format(machine.torch_build)
        )
        self.torch.setText(self.tr("torch {0}, built {1}").format(machine.torch, build))
        self.machine.setText(
            self.tr("{0}, {1}, %Ln core(s), {2} of memory; Python {3}", "", machine.cores).format(
                machine.system,
                machine.processor,
                numbers.size(machine.memory),
                platform.python_version(),
            )
        )
        sentences = (precision_sentence(machine.speeds), threads_sentence(machine.thread_speeds))
        self.precision.setText(" ".join(sentence for sentence in sentences if sentence))
        self.warning.setText(machine.warning())
        self.torch.show()
        self.machine.show()
        self.precision.setVisible(bool(self.precision.text()))
        self.warning.setVisible(bool(machine.warning()))

    def _on_copy(self) -> None:
        lines = [f"BERT Studio {program_version()}", self.torch.text(), self.machine.text()]
        lines.append(self.precision.text())
        lines += [f"{name} {number}" for name, number, _ in self.versions]
        QGuiApplication.clipboard().setText("\n".join(line for line in lines if line))
        self.copy.setText(self.tr("Copied"))

    def _on_licences(self) -> None:
        if self.texts is None:
            text = "\n\n".join(_licence_texts())
            self.texts = TextView(self.tr("Licences"), text, height=320)
            self.texts.hide()
            self.body.addWidget(self.texts)
        self.texts.setVisible(self.texts.isHidden())
        self.licences.setText(
            self.tr("Show &licences") if self.texts.isHidden() else self.tr("Hide &licences")
        )


def precision_sentence(speeds: Speeds | None) -> str:
    """Meaning of precision “auto” on this machine; empty before it was measured."""
    if speeds is None:
        return ""
    if not speeds.times:
        return tr("Trains in fp32: this CPU has no bf16 instructions.")
    template = tr("Trains in fp32: here {0} matrix multiplication is {1} × as fast as fp32.")
    if speeds.fastest != "fp32":
        template = tr(
            "Trains in {0} where that is faster for the model: here {0} matrix multiplication is "
            "{1} × as fast as fp32."
        )
    precision = "bf16" if speeds.bf16 else "fp16"
    return template.format(precision, f"{speeds.times:.1f}")


def threads_sentence(speeds: ThreadSpeeds | None) -> str:
    """Meaning of automatic threads on this machine; empty before it was measured."""
    if speeds is None:
        return ""
    template = tr("Trains with %n thread(s). Measured: {0}.", speeds.fastest)
    rate_text = tr("{0} GFLOP/s with {1}")
    rates = [rate_text.format(f"{rate / 1e9:,.0f}", n) for n, rate in speeds.rates.items()]
    return template.format(", ".join(rates))


def _licence_texts() -> list[str]:
    """Licence texts of the program and of what it includes."""
    licence = Path(__file__).resolve().parents[3] / "LICENSE"
    files = ({"BERT Studio": licence} if licence.is_file() else {}) | resources.licence_files()
    return [
        f"{name}\n{'=' * len(name)}\n{file.read_text(encoding='utf-8', errors='replace')}"
        for name, file in files.items()
    ]
