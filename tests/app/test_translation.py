"""A number and its word agree."""

from PySide6.QtCore import QCoreApplication, QObject

from app.translation import English


def test_english_plurals_follow_the_number(qapp) -> None:
    english = English()
    qapp.installTranslator(english)
    try:
        speaker = QObject()
        assert speaker.tr("%n run(s) of %n class(es)", "", 1) == "1 run of 1 class"
        assert speaker.tr("%n run(s) of %n class(es)", "", 2) == "2 runs of 2 classes"
        assert speaker.tr("%n run(s)", "", 0) == "0 runs"
        assert speaker.tr("no number (s)") == "no number (s)"
        translate = QCoreApplication.translate
        assert translate("numbers", "%n minute(s) ago", "", 5) == "5 minutes ago"
    finally:
        qapp.removeTranslator(english)
