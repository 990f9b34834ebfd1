"""Counting that was killed and goes on: the same counts, and nothing of another run taken for them."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import numbpe
from numbpe import checkpoints
from numbpe.checkpoints import STATE_NAME, FileGroups, open_checkpoint
from numbpe.errors import ArgumentError, DataError, FolderInUseError
from numbpe.run_descriptions import find_difference

QUIET = {"progress": False, "threads": 2}


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let each file be a group of its own."""
    monkeypatch.setattr(checkpoints, "FIRST_GROUP_NBYTES", 1)
    monkeypatch.setattr(checkpoints, "SECONDS_A_GROUP", 0.0)


def kill_call(patching: pytest.MonkeyPatch, n_commits: int, call, *, before: bool = False) -> None:
    """Let a call end after so many checkpoints."""
    with patching.context() as patch:
        kill_after(patch, n_commits, before=before)
        with pytest.raises(Killed):
            call()


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Nine files of text, the last of them empty."""
    rng = random.Random(1)
    paths = []
    for number in range(9):
        path = tmp_path / f"in{number}.txt"
        words = ["the", " cat", " sat", "\n", "<|endoftext|>", " \u4e2d\u6587", str(number)]
        path.write_text(
            "".join(rng.choice(words) for _ in range((8 - number) * 200)), encoding="utf-8"
        )
        paths.append(path)
    return paths


class Killed(BaseException):
    """Stands for the end of the process."""


def kill_after(monkeypatch: pytest.MonkeyPatch, n_commits: int, *, before: bool = False) -> None:
    """Let the run end after so many checkpoints; ``before``: just before the last is said to be."""
    commit = checkpoints.Checkpoint.commit
    done = 0

    def commit_and_die(self, *arguments) -> None:
        nonlocal done
        done += 1
        if before and done == n_commits:
            raise Killed
        commit(self, *arguments)
        if done == n_commits:
            raise Killed

    monkeypatch.setattr(checkpoints.Checkpoint, "commit", commit_and_die)


@pytest.mark.parametrize("n_commits", [1, 4, 9])
@pytest.mark.parametrize("before", [False, True])
def test_count_words__goes_on_where_it_was(
    files, tmp_path, monkeypatch: pytest.MonkeyPatch, n_commits, before
) -> None:
    """Truth: the run without a checkpoint; read again is only what was not done."""
    expected = numbpe.count_words(files, **QUIET)
    folder = tmp_path / "checkpoint"
    kill_call(
        monkeypatch,
        n_commits,
        lambda: numbpe.count_words(files, checkpoint=folder, **QUIET),
        before=before,
    )
    assert (folder / STATE_NAME).exists() == (n_commits > before)
    read: list[str] = []
    open_reader = numbpe.counting.CountingRun._open_reader

    def note(self, source, *arguments, **options):
        read.extend(Path(file.path).name for file in source.files)
        return open_reader(self, source, *arguments, **options)

    monkeypatch.setattr(numbpe.counting.CountingRun, "_open_reader", note)
    actual = numbpe.count_words(files, checkpoint=folder, resume=True, progress=False, threads=1)
    assert actual == expected
    assert actual.n_source_bytes == expected.n_source_bytes
    assert read == [path.name for path in files[n_commits - before :]]
    assert not folder.exists()


def test_count_words__spilled_in_between(files, tmp_path, monkeypatch) -> None:
    """Truth: the run without a checkpoint; words that went to disk for want of memory are counted once."""
    expected = numbpe.count_words(files, **QUIET)
    monkeypatch.setattr(numbpe.word_counter, "FIRST_SLOTS", 64)
    monkeypatch.setattr(numbpe.word_counter, "FIRST_ARENA_NBYTES", 1 << 14)
    limit = 64 * numbpe.word_counter.ROW_NBYTES + (1 << 14)
    monkeypatch.setattr(numbpe.counting.CountingRun, "_limit_tables", lambda run, n: limit)
    folder = tmp_path / "checkpoint"
    kill_call(monkeypatch, 5, lambda: numbpe.count_words(files, checkpoint=folder, **QUIET))
    assert numbpe.count_words(files, checkpoint=folder, resume=True, **QUIET) == expected


def test_train__and_extend_go_on(files, tmp_path, monkeypatch) -> None:
    """Truth: the runs without a checkpoint; another vocabulary size is no other count."""
    folder = tmp_path / "checkpoint"
    expected = numbpe.train(files, 270, progress=False)
    options = {"checkpoint": folder, "progress": False}
    kill_call(monkeypatch, 3, lambda: numbpe.train(files, 280, **options))
    again = numbpe.train(files, 270, checkpoint=folder, resume=True, progress=False)
    assert (again.merges, again.vocab) == (expected.merges, expected.vocab)
    kill_call(monkeypatch, 3, lambda: expected.extended(files, 275, **options))
    more = expected.extended(files, 275, checkpoint=folder, resume=True, progress=False)
    assert more.merges == numbpe.train(files, 275, progress=False).merges


def leave_checkpoint(files, folder, monkeypatch, **options) -> None:
    options |= {"checkpoint": folder, "progress": False}
    kill_call(monkeypatch, 3, lambda: numbpe.count_words(files, **options))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"pattern": "o200k"}, "pattern was "),
        ({"special_tokens": ["<x>"]}, r"special tokens was \['<\|endoftext\|>'\], and now it is"),
        ({"errors": "ignore"}, "errors was 'replace', and now it is 'ignore'"),
        ({"cuts_lines": True}, "cuts lines was False, and now it is True"),
        ({"unicode_version": "17"}, "unicode version was '16'"),
    ],
)
def test_resume__refuses_other_options(files, tmp_path, monkeypatch, options, message) -> None:
    """Truth: by definition; the difference is named, and the checkpoint stays as it was."""
    folder = tmp_path / "checkpoint"
    leave_checkpoint(files, folder, monkeypatch)
    states = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(DataError, match=f"cannot resume from .*{message}"):
        numbpe.count_words(files, checkpoint=folder, resume=True, progress=False, **options)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == states


def test_resume__refuses_another_corpus(files, tmp_path, monkeypatch) -> None:
    """Truth: by definition; files that were added, exchanged or changed are named."""
    folder = tmp_path / "checkpoint"
    leave_checkpoint(files, folder, monkeypatch)
    resume = {"checkpoint": folder, "resume": True, "progress": False}
    with pytest.raises(DataError, match="corpus had 9 files, and now it has 8"):
        numbpe.count_words(files[:-1], **resume)
    with pytest.raises(DataError, match=r"corpus had '.*in0.txt' where now is '.*in1.txt'"):
        numbpe.count_words([files[1], files[0], *files[2:]], **resume)
    os.utime(files[4], ns=(1, 1))
    with pytest.raises(DataError, match=r"file '.*in4.txt' had another time of change"):
        numbpe.count_words(files, **resume)
    files[4].write_text("x", encoding="utf-8")
    with pytest.raises(DataError, match=r"file '.*in4.txt' had another size"):
        numbpe.count_words(files, **resume)


def test_resume__refuses_what_is_damaged(files, tmp_path, monkeypatch) -> None:
    """Truth: by definition; a file of the checkpoint that is cut, lost or no Arrow is an error."""
    folder = tmp_path / "checkpoint"
    resume = {"checkpoint": folder, "resume": True, "progress": False}
    leave_checkpoint(files, folder, monkeypatch)
    run = max(folder.glob("counts-*.arrow"))
    data = run.read_bytes()
    run.write_bytes(data[:-1])
    with pytest.raises(DataError, match=rf"{run.name} is damaged .*bytes, not"):
        numbpe.count_words(files, **resume)
    run.unlink()
    with pytest.raises(DataError, match=rf"{run.name} is damaged \(it is missing\)"):
        numbpe.count_words(files, **resume)
    (folder / STATE_NAME).write_bytes(b"half")
    with pytest.raises(DataError, match=f"{STATE_NAME} is damaged"):
        numbpe.count_words(files, **resume)


def test_checkpoint__bad_calls(files, tmp_path, monkeypatch) -> None:
    """Truth: by definition; one clear error each."""
    folder = tmp_path / "checkpoint"
    with pytest.raises(ArgumentError, match="give it as checkpoint="):
        numbpe.count_words(files, resume=True)
    with pytest.raises(ArgumentError, match="cannot keep a checkpoint of the iterable"):
        numbpe.count_words(["a text"], checkpoint=folder)
    assert not folder.exists()
    with pytest.raises(ArgumentError, match="it is a file; name a folder"):
        numbpe.count_words(files, checkpoint=files[0])
    with pytest.raises(DataError, match="nothing to read"):
        numbpe.count_words(files[8:], checkpoint=folder)
    leave_checkpoint(files, tmp_path / "other", monkeypatch)
    with pytest.raises(ArgumentError, match=r"pass resume=True \(--resume\)"):
        numbpe.count_words(files, checkpoint=tmp_path / "other")
    with open_checkpoint(tmp_path / "other", resume=True) as held:
        assert held.n_files == 3
        with pytest.raises(FolderInUseError, match="another run"):
            numbpe.count_words(files, checkpoint=tmp_path / "other", resume=True)


def test_file_groups__take_about_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Truth: by definition, with a clock that stands: groups of the first size, then of all the rest."""
    monkeypatch.setattr(checkpoints, "FIRST_GROUP_NBYTES", 10)
    assert list(FileGroups([4, 4, 4, 10, 1, 20], 0)) == [(0, 3), (3, 4), (4, 6)]
    assert list(FileGroups([4, 4, 4], 2)) == [(2, 3)]
    assert list(FileGroups([4], 1)) == []
    monkeypatch.setattr(checkpoints, "SECONDS_A_GROUP", 1e9)
    assert list(FileGroups([10, 1, 1, 1], 0)) == [(0, 1), (1, 4)]


def test_find_difference__looks_into_what_differs() -> None:
    """Truth: hand-computed."""
    assert find_difference({"a": {"b": 1}}, {"a": {"b": 2}}) == "b was 1, and now it is 2"
    assert find_difference({"a": 1}, {"a": 1}) == "description is another"


KILLED_RUN = """
import sys, time
from pathlib import Path
from numbpe import checkpoints, cli
checkpoints.FIRST_GROUP_NBYTES, checkpoints.SECONDS_A_GROUP = 1, 0.0
commit = checkpoints.Checkpoint.commit
def commit_slowly(self, *arguments):
    commit(self, *arguments)
    time.sleep(0.2)
checkpoints.Checkpoint.commit = commit_slowly
sys.exit(cli.main(sys.argv[1:]))
"""


def test_command__goes_on_after_a_kill(files, tmp_path, capsys) -> None:
    """Truth: the run that was never killed, byte for byte."""
    from numbpe import cli

    command = ["train", "--input", *map(str, files), "--vocab", "270", "--quiet", "--name", "x"]
    output = tmp_path / "out"
    state = output / "x.checkpoint" / STATE_NAME
    killed = [*command, "--output", str(output), "--resume"]
    process = subprocess.Popen([sys.executable, "-c", KILLED_RUN, *killed])
    deadline = time.monotonic() + 120
    while not state.exists():
        assert time.monotonic() < deadline
        assert process.poll() is None, "the run ended before it was killed"
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert cli.main([*command, "--output", str(output), "--resume", "--pattern", "o200k"]) == 1
    assert "pattern was" in capsys.readouterr().err
    assert cli.main(killed) == 0
    assert cli.main([*command, "--output", str(tmp_path / "whole")]) == 0
    names = ["x.json", "x_merges.pkl", "x_vocab.pkl"]
    assert sorted(path.name for path in output.iterdir()) == names
    for name in names:
        assert (output / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--input", "in1.txt", "--checkpoint", "c"], "give --resume too"),
        (["--counts", "c.parquet", "--resume"], "for text that is counted"),
        (["--input", "-", "--resume"], "cannot keep a checkpoint"),
    ],
)
def test_command__bad_options(files, tmp_path, monkeypatch, capsys, arguments, message) -> None:
    """Truth: the habit that a wrong command has the exit code 2 and leaves nothing."""
    from numbpe import cli

    monkeypatch.chdir(tmp_path)
    assert cli.main(["train", *arguments, "--vocab", "270"]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "artifacts").exists()
