"""Fake notification service and logind that record their calls on a private bus.

Run as a program with the file to write into; each line is JSON. It exits with its bus.
"""

import json
import os
import sys
import threading
from pathlib import Path

from jeepney import MessageType, new_method_return
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection

NAMES = ("org.freedesktop.Notifications", "org.freedesktop.login1")


def main(file: Path) -> None:
    connection = open_dbus_connection("SESSION", enable_fds=True)
    for name in NAMES:
        connection.send_and_get_reply(message_bus.RequestName(name))
    log(file, ["ready"])
    while True:
        message = connection.receive()
        if message.header.message_type is not MessageType.method_call:
            continue
        fields = {field.name: value for field, value in message.header.fields.items()}
        log(file, [fields["member"], *map(str, message.body)])
        if fields["member"] == "Notify":
            connection.send(new_method_return(message, "u", (7,)))
        elif fields["member"] == "Inhibit":
            read, write = os.pipe()
            threading.Thread(target=wait, args=(file, read), daemon=True).start()
            connection.send(new_method_return(message, "h", (write,)))
            os.close(write)


def wait(file: Path, read: int) -> None:
    """Wait until the file of an inhibition is closed by all its holders."""
    os.read(read, 1)
    log(file, ["released"])


def log(file: Path, entry: list[str]) -> None:
    with open(file, "a", encoding="utf-8") as out:
        out.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
