"""What a folder lies on that is not this machine's alone: a network drive, a synchronised folder.

Both are told by what the system and the programs say themselves: the type of the file system, and
the names of folders and marks that synchronising programs make. Nothing on the drive is waited for
but the folders above.
"""

import os
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal, NamedTuple

import psutil

NETWORK = (  # types of file systems, as Linux, macOS and FreeBSD name them
    *("nfs*", "cifs", "smb*", "afpfs", "ncpfs", "9p", "afs", "coda", "webdav", "davfs*"),
    *("ceph*", "glusterfs", "lustre", "gpfs", "beegfs", "ocfs2", "gfs2", "pvfs2"),
    *("fuse.sshfs", "fuse.rclone", "fuse.gluster*", "fuse.ceph*", "fuse.s3fs", "fuse.gcsfuse"),
    *("fuse.davfs*", "fuse.smb*", "fuse.gvfsd-fuse", "fuse.vmhgfs-fuse", "vboxsf"),
)
SYNCED = {  # by the name of a folder, or of what lies in it
    "Dropbox": ("Dropbox", "Dropbox (*)", ".dropbox", ".dropbox.cache"),
    "OneDrive": ("OneDrive", "OneDrive - *"),
    "Google Drive": ("Google Drive", "GoogleDrive-*", "My Drive"),
    "iCloud": ("Mobile Documents", "iCloud Drive*", "iCloudDrive"),
    "Nextcloud": ("Nextcloud", "ownCloud", ".nextcloudsync.log", ".sync_*.db", "._sync_*.db"),
    "Syncthing": (".stfolder",),
}


class Drive(NamedTuple):
    """What a folder lies on."""

    kind: Literal["local", "network", "synced"]
    name: str  # the file system or the program; empty for “local”


def drive_of(folder: Path) -> Drive:
    """What `folder`, which need not exist yet, lies on."""
    place = Path(os.path.realpath(folder))
    if system := _network_file_system(place):
        return Drive("network", system)
    for program, patterns in SYNCED.items():
        if _is_synced(place, patterns):
            return Drive("synced", program)
    return Drive("local", "")


def _network_file_system(place: Path) -> str:
    """The type of the file system that is mounted deepest above `place`, if it is of the network.

    Windows tells no such type, and says “remote” in the options.
    """
    if os.name == "nt" and place.drive.startswith("\\\\"):
        return "SMB"
    mounted = [
        part for part in psutil.disk_partitions(all=True) if place.is_relative_to(part.mountpoint)
    ]
    if not mounted:
        return ""
    deepest = max(reversed(mounted), key=lambda part: len(part.mountpoint))
    if "remote" in deepest.opts.split(","):
        return deepest.fstype or "SMB"
    kind = deepest.fstype.lower()
    return deepest.fstype if any(fnmatch(kind, pattern) for pattern in NETWORK) else ""


def _is_synced(place: Path, patterns: tuple[str, ...]) -> bool:
    marks = [pattern for pattern in patterns if pattern.startswith(".")]
    names = [pattern for pattern in patterns if not pattern.startswith(".")]
    return any(fnmatch(part, pattern) for part in place.parts for pattern in names) or any(
        True for parent in (place, *place.parents) for mark in marks for _ in parent.glob(mark)
    )


def conflict_copies(record: Path) -> list[Path]:
    """The files beside the record that a synchronising program made of it when two had written."""
    return sorted(
        file for file in record.parent.glob(f"{record.stem}*") if "conflict" in file.name.lower()
    )
