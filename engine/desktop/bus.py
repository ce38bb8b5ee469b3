"""D-Bus on Linux: one call to a service of the session or of the system."""

import sys
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from jeepney.io.blocking import DBusConnection

TIMEOUT = 3.0  # seconds for a service to answer

Bus = Literal["SESSION", "SYSTEM"]


class NoAnswer(OSError):
    """The bus or service does not exist, or refuses."""


def connect(bus: Bus) -> "DBusConnection":
    """A connection that can carry files. Raises NoAnswer if there is no bus."""
    if sys.platform != "linux":
        raise NoAnswer("no D-Bus")
    from jeepney.io.blocking import open_dbus_connection

    try:
        return open_dbus_connection(bus, enable_fds=True)
    except (OSError, ValueError, KeyError) as error:
        raise NoAnswer(f"no {bus.lower()} bus: {error}") from error


def call(
    connection: "DBusConnection",
    service: str,
    path: str,
    method: str,
    signature: str,
    body: tuple[Any, ...],
) -> tuple[Any, ...]:
    """Call a method and return its result. Raises NoAnswer if it fails or does not answer."""
    from jeepney import DBusAddress, new_method_call
    from jeepney.wrappers import DBusErrorResponse

    interface, _, name = method.rpartition(".")
    address = DBusAddress(path, bus_name=service, interface=interface)
    message = new_method_call(address, name, signature, body)
    try:
        reply = connection.send_and_get_reply(message, timeout=TIMEOUT)
        if reply.header.message_type.name == "error":
            raise DBusErrorResponse(reply)
        result: tuple[Any, ...] = reply.body
        return result
    except (OSError, DBusErrorResponse) as error:
        raise NoAnswer(f"{service}: {error}") from error
