"""Start of the program up to the window, and its end."""

import logging
import sys

from PySide6.QtWidgets import QApplication

from app import background, library, resources, theme
from app.notices import Notices, catch_exceptions, log_qt_messages, logging_to, one_line
from app.shell.garbage import Collector
from app.shell.requests import Ending, InstanceServer, activate_running
from app.studio import Studio
from app.translation import Translator, language_of, tr, translated
from app.widgets.dialogs import Choice, Question
from app.window import MainWindow
from engine.errors import StudioError
from engine.files.atomic_write import keep_files_private
from engine.files.home import Home
from engine.phrases import join
from engine.record.checking import NewerRecord
from engine.record.opening import set_aside
from engine.record.workers import QueueRunner
from engine.runs.lock import hold
from engine.system.errors import explain_error
from engine.system.terminal import echo, echo_error

log = logging.getLogger("studio")


def run_window() -> int:
    """Run the window of the home until it is closed; return the exit code."""
    keep_files_private()
    try:
        return _claim_and_run(Home())
    except Exception as error:
        if (understood := explain_error(error)) is None:
            raise
        echo_error(f"bert-studio: {understood}")
        return 1


def _claim_and_run(home: Home) -> int:
    home.make()
    is_running = StudioError("BERT Studio is already running with this home folder.")
    try:
        with hold(home.lock, is_running), logging_to(home.log):
            return _run(home)
    except StudioError as error:
        if error is not is_running:
            raise
    echo(
        "BERT Studio is already running; switching to its window."
        if activate_running(home)
        else "BERT Studio is already running, but its window does not respond."
    )
    return 0


def _run(home: Home) -> int:
    app = make_application(sys.argv[:1])
    notices = Notices(app)
    catch_exceptions(notices)
    log_qt_messages()
    studio = _open(home, notices, app)
    if studio is None:
        return 1
    try:
        preferences = studio.settings.preferences
        app.installTranslator(Translator(language_of(preferences.language), app))
        shown = app.findChild(theme.FollowSystem)
        assert shown is not None
        shown.choose(preferences.theme)
        studio.settings.changed.connect(
            lambda name: (
                shown.choose(studio.settings.preferences.theme) if name == "theme" else None
            )
        )
        return _show(app, home, studio)
    finally:
        studio.close()


def _show(app: QApplication, home: Home, studio: Studio) -> int:
    window = MainWindow(studio)
    server = InstanceServer(home, window.come_to_front, studio)
    if not server.is_listening:
        log.warning("no local socket: a second start cannot bring this window to the front")
    ending = Ending(window.end, studio)
    window.show()
    window.begin()
    background.run(studio, lambda: library.clear_away(home), lambda _: None)
    code = app.exec()
    ending.close()
    return code


def make_application(arguments: list[str]) -> QApplication:
    """Create the application with names, fonts and styles; the theme follows the desktop."""
    app = QApplication(arguments)
    app.setApplicationName("bert-studio")
    app.setApplicationDisplayName("BERT Studio")
    app.setDesktopFileName("bert-studio")
    app.installTranslator(Translator(parent=app))  # until the language is known
    resources.load(app)
    Collector(app)
    app.setWindowIcon(resources.app_icon())
    theme.FollowSystem(app, "system")
    return app


def _open(home: Home, notices: Notices, app: QApplication) -> Studio | None:
    """Open the studio; None if that fails, after the user was informed."""
    try:
        return Studio(home, notices, app, QueueRunner(home))
    except NewerRecord as error:
        new = Choice("new", tr("&Set aside and rebuild"))
        if _tell(error, [new]) != new.key:
            return None
        set_aside(home.record)
        return _open(home, notices, app)
    except (StudioError, OSError) as error:
        understood = explain_error(error)
        if understood is None:
            raise
        _tell(understood, [])
        return None


def _tell(error: StudioError, choices: list[Choice]) -> str:
    """Show why the window cannot open, in a dialog of its own; return the answer."""
    log.error("%s", one_line(str(error)))
    echo_error(f"bert-studio: {error}")
    title, close = "BERT Studio", tr("&Close")
    text = translated(join("\n\n", (error.problem, error.advice)))
    answers: list[str] = []
    Question(
        None, title, text, [*choices, Choice("close", close, "primary")], answers.append
    ).exec()
    return answers[-1] if answers else "close"
