"""The command line as such: help that teaches, any console, one sentence per failure."""

import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from children import child, is_running, wait_until

from medn_edu import __version__, cli
from medn_edu.cli import console, main
from medn_edu.datasets import DataError


def run_process(*arguments, **options):
    command = [sys.executable, "-m", "medn_edu.cli", *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, check=False, **options)


def printed(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 0
    return capsys.readouterr().out


def test_help_teaches_and_names_every_command(capsys):
    text = printed(capsys, "--help")
    assert "medn-edu demo" in text
    assert __version__ in printed(capsys, "--version")
    for command in console.WORDS.keys() - {"medn-edu"}:
        assert f"\n    {command} " in text
        its_own = printed(capsys, command, "--help")
        assert f"medn-edu {command}" in its_own.partition("example")[2]
        assert len(its_own.splitlines()) > 8
        assert max(map(len, its_own.splitlines())) <= 100


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom medn_edu.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'numba', 'matplotlib', 'sklearn', 'tqdm'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_console(encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    done = run_process("doctor", stdout=subprocess.PIPE, env=environment)
    assert done.returncode in (0, 1)
    assert not done.stderr
    text = done.stdout.decode(encoding)
    assert "Python" in text
    assert "?" not in text.partition("Python")[0], "characters are replaced by readable ones"


def test_what_a_console_lacks_is_replaced():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    console.say("─ ½‖w‖² ± λ → 日", file=stream)
    assert stream.buffer.getvalue().decode().split() == ["-", "1/2|w|^2", "+/-", "lam", "->", "?"]


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (console.CommandError("choose another."), "choose another."),
        (DataError("the file is cut short;\n  fetch it."), "the file is cut short; fetch it."),
        (ValueError("C is -1; expected a number > 0."), "C is -1; expected a number > 0."),
        (PermissionError(13, "Permission denied", "/x"), "/x: permission denied."),
        (KeyError("x"), "unexpected KeyError: 'x' (MEDN_EDU_DEBUG=1 shows where it happened)."),
        (KeyboardInterrupt(), "\nStopped. What was finished is kept; nothing is half-written."),
    ],
)
def test_errors_are_one_sentence(error, sentence, monkeypatch, capsys):
    def run(arguments):
        raise error

    parser = SimpleNamespace(parse_args=lambda argv: SimpleNamespace(run=run))
    monkeypatch.setattr(cli, "build_parser", lambda: parser)
    monkeypatch.delenv("MEDN_EDU_DEBUG", raising=False)
    stopped = isinstance(error, KeyboardInterrupt)
    assert main([]) == (130 if stopped else 2)
    told = sentence if stopped else f"medn-edu: {sentence}"
    assert capsys.readouterr() == ("", f"{told}\n")
    monkeypatch.setenv("MEDN_EDU_DEBUG", "1")
    if not stopped:
        with pytest.raises(type(error)):  # the traceback is seen
            main([])


@pytest.mark.skipif(os.name == "nt", reason="pipes end differently on Windows")
def test_a_reader_that_has_seen_enough():
    command = f"{sys.executable} -m medn_edu.cli doctor | true"
    done = subprocess.run(command, shell=True, capture_output=True, check=False)
    assert not done.stderr


def test_progress_shows_where_somebody_watches(monkeypatch):
    for on_terminal, silenced, said in (False, "", ""), (True, "1", ""), (True, "", "Training"):
        stream = io.StringIO()
        monkeypatch.setattr(stream, "isatty", lambda here=on_terminal: here, raising=False)
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setenv("TQDM_DISABLE", silenced)
        with console.Progress("Training", "models", delay=0) as progress:
            for n_done in range(3):
                progress(n_done, 3)
        assert said in stream.getvalue()
        assert bool(said) == bool(stream.getvalue())


# A server, and something that it starts; both say who they are by files in the folder.
SERVER = """
import signal, subprocess, sys, time
from pathlib import Path
if sys.argv[2] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
Path(sys.argv[1], "helper").write_text(str(helper.pid))
Path(sys.argv[1], "server").write_text(str(__import__("os").getpid()))
time.sleep(60)
"""
COMMAND = """
import sys, tempfile
from medn_edu.cli.console import serve
with tempfile.TemporaryDirectory(dir=sys.argv[1]):
    code = serve([sys.executable, "-c", *sys.argv[2:]], patience=2.0)
sys.exit(code)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize("hearing", ["hears", "deaf"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 0)])
def test_a_server_ends_with_its_command(tmp_path, number, code, hearing):
    notes, work = tmp_path / "notes", tmp_path / "work"
    notes.mkdir()
    work.mkdir()
    arguments = [str(work), SERVER, str(notes), hearing]
    with child([sys.executable, "-c", COMMAND, *arguments]) as command:
        server = notes / "server"
        wait_until(lambda: server.exists() and server.read_text(), 120)
        assert len(list(work.iterdir())) == 1
        command.send_signal(number)
        assert command.wait(120) == code
    assert not list(work.iterdir()), "the temporary folder is left"
    pids = [(notes / name).read_text() for name in ("server", "helper")]
    wait_until(lambda: not any(map(is_running, pids)), 5)  # orphans take a moment to be buried


def test_a_server_that_ends_says_how():
    before = signal.getsignal(signal.SIGTERM)
    assert console.serve([sys.executable, "-c", "raise SystemExit(3)"]) == 3
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_server_finds_a_folder_of_ours_after_those_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("JUPYTER_PATH", "theirs")
    code = "import os, sys; sys.exit(os.environ['JUPYTER_PATH'] != sys.argv[1])"
    expected = os.pathsep.join(["theirs", str(tmp_path)])
    assert console.serve([sys.executable, "-c", code, expected], JUPYTER_PATH=tmp_path) == 0


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("", "the following arguments are required: COMMAND"),
        ("dmeo", "invalid choice: 'dmeo'"),
        ("app --port 70000", "'70000' is not a whole number from 1 to 65535"),
        ("lab --port 1e3", "'1e3' is not a whole number"),
        ("demo --jobs 0", "'0' is not a whole number of at least 1"),
        ("demo --seed=-1", "'-1' is not a whole number of at least 0"),
        ("demo --out file", "the results folder file cannot be written (file exists); choose"),
        ("progress nowhere", "nowhere does not exist; `medn-edu lab FOLDER` makes a folder"),
        ("progress .", ". isn't a folder of the course: 00-start-here.ipynb is missing."),
        ("progress ~nobody-of-this-name/x", "~nobody-of-this-name/x does not exist;"),
        ("course file", "the course cannot be copied to file (a file is in the way); name a fol"),
        ("lab file/course", "the course cannot be copied to file/course (a file is in the way)"),
        ("claims medn-99", "there is no claim 'medn-99'"),
        ("claims --results file", "there is no folder file"),
        ("claims --results .", "no results at paper scale in .; expected folders such as ocr-p"),
        ("claims asp --write nowhere/claims.md", "there is no folder nowhere"),
    ],
)
def test_odd_values(command, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("mine")
    try:
        code = main(command.split())
    except SystemExit as stopped:
        code = stopped.code
    assert code == 2
    assert said in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {"file"}
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs an always full device")
@pytest.mark.parametrize("arguments", [["reproduce", "--list"], ["--version"]])
def test_output_to_a_full_disk(arguments):
    """Told once, also of what the parser has printed; Python's own shutdown adds nothing."""
    with open("/dev/full", "w") as full:
        done = run_process(*arguments, stdout=full, text=True)
    assert done.stderr == "medn-edu: standard output: no space left on device.\n"
    assert done.returncode == 2
