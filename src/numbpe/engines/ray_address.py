"""Addresses of Ray clusters, and whether anything answers there.

Ray itself tries for minutes, and ends the whole process where it gives up. So what is asked first is
what every server of gRPC says at once: the settings of HTTP/2.
"""

import os
import socket
from typing import Final

from numbpe.errors import ArgumentError, EngineError, shorten_value

_EMPTY_SETTINGS: Final = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
_GREETING: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _EMPTY_SETTINGS
_FRAME_HEADER_NBYTES: Final = 9
_SETTINGS: Final = 4
_DEFAULT_PORT: Final = 6379


def check_address(address: str) -> str:
    """Return an address of a cluster: "auto", "local" or "host:port"; ArgumentError for another."""
    if address in ("auto", "local"):
        return address
    if isinstance(address, str) and "://" in address:
        raise ArgumentError(
            f"cannot use the address {shorten_value(address)}: it is one of a Ray client; run numbpe on "
            f"a node of the cluster, and give that of its head, such as 10.0.0.1:{_DEFAULT_PORT}, or auto"
        )
    split_address(address)
    return address


def split_address(address: str) -> tuple[str, int]:
    """Return host and port of ``"host:port"``."""
    host, _, port = address.rpartition(":") if isinstance(address, str) else ("", "", "")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise ArgumentError(
            f"the address of a Ray cluster must be 'host:port', 'auto' or 'local', not "
            f"{shorten_value(address)}; write one such as 10.0.0.1:{_DEFAULT_PORT}"
        )
    return host.strip("[]"), int(port)


def check_answer(address: str, timeout: float) -> None:
    """Raise EngineError unless a server of gRPC answers at an address within ``timeout`` seconds."""
    try:
        with socket.create_connection(split_address(address), timeout) as connection:
            if os.environ.get("RAY_USE_TLS", "0") == "1":
                return  # the greeting would have to be sealed
            connection.settimeout(timeout)
            connection.sendall(_GREETING)
            answer = b""
            while len(answer) < _FRAME_HEADER_NBYTES:
                more = connection.recv(_FRAME_HEADER_NBYTES - len(answer))
                if not more:
                    break
                answer += more
    except TimeoutError:
        raise _word_silence(address, f"nothing answers within {timeout:g} s") from None
    except OSError as error:
        raise _word_silence(address, str(error.strerror or error)) from error
    if len(answer) < _FRAME_HEADER_NBYTES or answer[3] != _SETTINGS:
        raise _word_silence(address, f"what answers there is no head of a cluster ({answer!r})")


def _word_silence(address: str, found: str) -> EngineError:
    return EngineError(
        f"cannot connect to Ray at {address!r}: {found}; check that the cluster runs ('ray status' on "
        f"its head) and that this is its address, with the port of its head (by default "
        f"{_DEFAULT_PORT}), or raise the timeout (--connect-timeout)"
    )
