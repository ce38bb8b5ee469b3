from pathlib import Path

import pytest

from engine.errors import BadCheckpoint
from engine.files.atomic_write import atomic_folder
from engine.files.untrusted import verify_in_parallel

FILES = {"nothing": b"", "weights": bytes(range(256)) * 50}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with atomic_folder(tmp_path / "saved") as temporary:
        for name, content in FILES.items():
            (temporary / name).write_bytes(content)
    return tmp_path / "saved"


def test_unchanged_files_pass_also_empty_ones(folder):
    with verify_in_parallel(folder, [*FILES, "of another folder"]):
        read = {name: (folder / name).read_bytes() for name in FILES}
    assert read == FILES, "nothing was raised, and nothing changed"


@pytest.mark.parametrize(
    "name, content", [("nothing", b"x"), ("weights", b""), ("weights", FILES["weights"][::-1])]
)
def test_a_changed_file_is_named_despite_other_failures(folder, name, content):
    (folder / name).write_bytes(content)
    with (
        pytest.raises(BadCheckpoint, match=f"{name} in saved is damaged"),
        verify_in_parallel(folder, [*FILES]),
    ):
        raise ValueError("it cannot be read")
