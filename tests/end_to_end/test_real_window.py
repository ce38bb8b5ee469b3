"""Every page in a real window on a virtual screen, with real mouse and key events."""

import shutil

import pytest

from benchmarks import harness
from engine.files.shipped import starter_model

REQUIRED_TOOLS = ("Xvfb", "openbox", "xdotool", "import", "dbus-run-session")
STEPS = """
    window "BERT Studio" 60
    click "panel:Explore a model"
    window Explore
    click text:Text
    key ctrl+a
    type "The unbelievable people of the [MASK] States"
    expect "label:[MASK]" 60
    click "View: Candidates"
    click "text:Your words"
    type "united, southern"
    key Return
    click "push button:Search"
    expect "Most likely words" 20
    click "View: Logit lens"
    hover "Top prediction after each layer"
    click "View: Pseudo-perplexity"
    click "push button:Compute"
    expect "Probability of each token" 20
    click "page tab:Attention"
    expect "All attention heads" 30
    click "All attention heads"
    dclick "All attention heads"
    click "Attention head as a matrix"
    click "View: Query and key"
    expect "Query and key" 20
    click "page tab:Tokens"
    expect "label:Tokenise" 20
    click "push button:History"
    click "push button:Pin"
    expect "push button:Unpin"
    click "push button:Compare with this"
    expect "push button:Stop comparing"
    key ctrl+2
    window Data
    click "push button:Add sample data"
    expect "push button:Fine-tune on this…" 60
    key ctrl+3
    window Models
    key Tab Tab Tab Tab
    key Down
    key Return
    expect "Network structure" 30
    key ctrl+4
    window Train
    click "Text classification"
    click "push button:Next" "list:Data sets"
    key ctrl+5
    window Runs
    click "push button:New run…"
    window Train
    key ctrl+comma
    window Settings
    expect "push button:Copy all"
    key ctrl+1
    window Home
    expect "What would you like to do?"
    quit
"""

pytestmark = [
    pytest.mark.gui,
    pytest.mark.skipif(
        not all(map(shutil.which, REQUIRED_TOOLS)),
        reason="needs Xvfb, openbox, xdotool, ImageMagick, D-Bus",
    ),
    pytest.mark.skipif(
        not (starter_model() / "config.json").is_file(), reason="the starter model is missing"
    ),
]


def test_every_page_works_by_mouse_and_keys(home, tmp_path):
    preferences = {"stand_by": False}  # a standby worker only saves waiting
    assert harness.drive(STEPS, home.root, tmp_path, preferences, "1400x900") == ""
