"""Detect folders on network drives and in synchronised folders.

Network drives are recognised by the type of the file system, synchronised folders by the names of
folders and marker files of the synchronising programs. Only the parent folders are accessed.
"""

import os
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal, NamedTuple

import psutil

NETWORK_TYPES = (  # of file systems on Linux, macOS and FreeBSD
    *("nfs*", "cifs", "smb*", "afpfs", "ncpfs", "9p", "afs", "coda", "webdav", "davfs*"),
    *("ceph*", "glusterfs", "lustre", "gpfs", "beegfs", "ocfs2", "gfs2", "pvfs2"),
    *("fuse.sshfs", "fuse.rclone", "fuse.gluster*", "fuse.ceph*", "fuse.s3fs", "fuse.gcsfuse"),
    *("fuse.davfs*", "fuse.smb*", "fuse.gvfsd-fuse", "fuse.vmhgfs-fuse", "vboxsf"),
)
SYNCED = {  # by the name of a folder, or of a file in it
    "Dropbox": ("Dropbox", "Dropbox (*)", ".dropbox", ".dropbox.cache"),
    "OneDrive": ("OneDrive", "OneDrive - *"),
    "Google Drive": ("Google Drive", "GoogleDrive-*", "My Drive"),
    "iCloud": ("Mobile Documents", "iCloud Drive*", "iCloudDrive"),
    "Nextcloud": ("Nextcloud", "ownCloud", ".nextcloudsync.log", ".sync_*.db", "._sync_*.db"),
    "Syncthing": (".stfolder",),
}


class Drive(NamedTuple):
    """The kind of drive of a folder."""

    kind: Literal["local", "network", "synced"]
    name: str  # the file system or the program; empty for “local”


def detect_drive(folder: Path) -> Drive:
    """The drive of `folder`, which need not exist yet."""
    path = Path(os.path.realpath(folder))
    if system := _network_file_system(path):
        return Drive("network", system)
    for program, patterns in SYNCED.items():
        if _is_synced(path, patterns):
            return Drive("synced", program)
    return Drive("local", "")


def _network_file_system(path: Path) -> str:
    """The type of the file system mounted deepest above `path`, if it is a network file system.

    Windows gives no such type, and says “remote” in the options.
    """
    if os.name == "nt" and path.drive.startswith("\\\\"):
        return "SMB"
    mounted = [
        part for part in psutil.disk_partitions(all=True) if path.is_relative_to(part.mountpoint)
    ]
    if not mounted:
        return ""
    deepest = max(reversed(mounted), key=lambda part: len(part.mountpoint))
    if "remote" in deepest.opts.split(","):
        return deepest.fstype or "SMB"
    kind = deepest.fstype.lower()
    return deepest.fstype if any(fnmatch(kind, pattern) for pattern in NETWORK_TYPES) else ""


def _is_synced(path: Path, patterns: tuple[str, ...]) -> bool:
    marks = [pattern for pattern in patterns if pattern.startswith(".")]
    names = [pattern for pattern in patterns if not pattern.startswith(".")]
    return any(fnmatch(part, pattern) for part in path.parts for pattern in names) or any(
        True for parent in (path, *path.parents) for mark in marks for _ in parent.glob(mark)
    )


def conflict_copies(record: Path) -> list[Path]:
    """Conflict copies of the record, made by a synchronising program after concurrent writes."""
    return sorted(
        file for file in record.parent.glob(f"{record.stem}*") if "conflict" in file.name.lower()
    )
