"""What goes to the host goes whole, whatever state the pipe is in."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from sliphook_sdk.process.streams import Output

WAIT_S = 120.0


class Pipe:
    """A pipe and a thread that reads it, from the moment it is told to."""

    def __init__(self) -> None:
        self.out, self.into = os.pipe()
        self.read = b""
        self._reader = threading.Thread(target=self._read, daemon=True)

    def start(self) -> None:
        self._reader.start()

    def all_of_it(self) -> bytes:
        os.close(self.into)
        self._reader.join(WAIT_S)
        assert not self._reader.is_alive()
        return self.read

    def _read(self) -> None:
        while data := os.read(self.out, 65536):
            self.read += data


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    pipe = Pipe()
    yield pipe
    for descriptor in (pipe.out, pipe.into):
        with suppress(OSError):
            os.close(descriptor)


@pytest.mark.parametrize("blocking", [True, False])
def test_more_than_the_pipe_takes_is_written_in_parts(pipe: Pipe, blocking: bool) -> None:
    os.set_blocking(pipe.into, blocking)  # a program that the plugin started may have changed it
    data = bytes(range(256)) * 4000
    threading.Timer(0.01, pipe.start).start()
    Output(pipe.into).write(data)
    assert pipe.all_of_it() == data


def test_frames_of_many_threads_stay_whole(pipe: Pipe) -> None:
    os.set_blocking(pipe.into, False)
    output = Output(pipe.into)
    frames = [b"%d" % number * 30_000 for number in range(8)]
    writers = [threading.Thread(target=output.write, args=(frame,)) for frame in frames]
    pipe.start()
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(WAIT_S)
        assert not writer.is_alive()
    read = pipe.all_of_it()
    assert sorted(read[at : at + 30_000] for at in range(0, len(read), 30_000)) == frames


@pytest.mark.parametrize("blocking", [True, False])
def test_a_host_that_is_gone_is_no_error(pipe: Pipe, blocking: bool) -> None:
    os.set_blocking(pipe.into, blocking)
    os.close(pipe.out)
    Output(pipe.into).write(b"x" * 100_000)
