"""Help page: every concept, setting and metric, with a search."""

from app.studio import Studio
from app.widgets.help import HelpView
from app.widgets.help_topics import FIRST
from app.widgets.page import Page


class HelpPage(Page):
    """A page that keeps the last topic until another one is opened."""

    def __init__(self, _studio: Studio) -> None:
        super().__init__("", "")
        self.set_title(
            self.tr("Help"),
            self.tr("Concepts, settings and metrics. F1 opens the help for what has the focus."),
        )
        self.view = HelpView()
        self.view.show_page(FIRST)
        self.body.addWidget(self.view, 1)

    def arrive(self, argument: object = None) -> None:
        """Show the topic with this key; None changes nothing."""
        if isinstance(argument, str):
            self.view.show_page(argument)
        self.view.search.setFocus()
