"""Addresses of Ray clusters, and whether anything answers there.

Ray itself goes on trying for minutes, whatever it is told. So the head of the cluster, a server of
gRPC, is asked first, by the few bytes of HTTP/2 that this takes.
"""

import os
import socket
import time
from typing import Final

from numbpe.errors import ArgumentError, EngineError, shorten_value

_PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME_HEADER_NBYTES: Final = 9
_HEADERS, _SETTINGS = 1, 4
"""Types of frames."""

_ENDS_STREAM_AND_HEADERS: Final = 5
_STATUS_200: Final = 0x88
"""How a server of gRPC begins each answer; what the answer is does not matter here."""

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
                return  # what is asked would have to be sealed
            connection.sendall(_make_question(address))
            answer = _read_answer(connection, time.monotonic() + timeout)
    except TimeoutError:
        raise _word_silence(address, f"nothing answers within {timeout:g} s") from None
    except OSError as error:
        raise _word_silence(address, str(error.strerror or error)) from error
    # Before the status a server may say how much it remembers of what was sent.
    if answer.lstrip(bytes(range(0x20, 0x40)))[:1] != bytes([_STATUS_200]):
        raise _word_silence(address, "what answers there is no head of a cluster")


def _make_question(address: str) -> bytes:
    """Return a request to a server of gRPC for its health."""

    def encode(text: str) -> bytes:
        return bytes([len(text)]) + text.encode()

    fields = b"\x83\x86"  # the method POST, the scheme http
    fields += b"\x04" + encode("/grpc.health.v1.Health/Check") + b"\x01" + encode(address[:100])
    fields += b"\x0f\x10" + encode("application/grpc") + b"\x00" + encode("te") + encode("trailers")
    settings = _make_frame(_SETTINGS, 0, 0, b"")
    return _PREFACE + settings + _make_frame(_HEADERS, _ENDS_STREAM_AND_HEADERS, 1, fields)


def _make_frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return len(content).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + content


def _read_answer(connection: socket.socket, deadline: float) -> bytes:
    """Return the first headers that a server sends; nothing if it sends no HTTP/2.

    Raises TimeoutError at the deadline, by the clock of time.monotonic.
    """
    frames = b""
    while True:
        n_bytes = _FRAME_HEADER_NBYTES + int.from_bytes(frames[:3])
        if len(frames) >= max(n_bytes, _FRAME_HEADER_NBYTES):
            if frames[3] == _HEADERS:
                return frames[_FRAME_HEADER_NBYTES:n_bytes]
            frames = frames[n_bytes:]
            continue
        connection.settimeout(max(1e-3, deadline - time.monotonic()))
        more = connection.recv(1 << 14)
        frames += more
        if not more or frames[:5] == b"HTTP/":
            return b""


def _word_silence(address: str, found: str) -> EngineError:
    return EngineError(
        f"cannot connect to Ray at {address!r}: {found}; check that the cluster runs ('ray status' on "
        f"its head) and that this is its address, with the port of its head (by default "
        f"{_DEFAULT_PORT}), or raise the timeout (--connect-timeout)"
    )
