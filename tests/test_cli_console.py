"""The command line as such: help that teaches, any console, one sentence per failure."""

import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from children import child

from medn_edu import __version__, cli
from medn_edu.cli import console, main
from medn_edu.datasets import DataError

COMMANDS = ["demo", "lab", "reproduce", "claims", "bench", "data", "doctor", "warmup"]


def run_process(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "medn_edu.cli", *arguments],
        capture_output=True,
        env={**os.environ, **environment},
        check=False,
    )


def help_text(capsys, *arguments):
    with pytest.raises(SystemExit) as stopped:
        main([*arguments, "--help"])
    assert stopped.value.code == 0
    return capsys.readouterr().out


def test_help_names_every_command(capsys):
    text = help_text(capsys)
    for command in COMMANDS:
        assert f"\n    {command} " in text
    assert "medn-edu demo" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_teaches(command, capsys):
    text = help_text(capsys, command)
    assert "example" in text
    assert f"medn-edu {command}" in text.partition("example")[2]
    assert len(text.splitlines()) > 8
    assert max(map(len, text.splitlines())) <= 100


def test_help_is_quick_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom medn_edu.cli import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'numpy', 'numba', 'matplotlib', 'sklearn', 'tqdm'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def test_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert __version__ in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [[], ["dmeo"], ["demo", "--jobs", "0"], ["demo", "--seed", "x"]]
)
def test_wrong_usage(arguments, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "medn-edu" in capsys.readouterr().err


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_any_console(encoding):
    done = run_process("doctor", PYTHONIOENCODING=encoding)
    assert done.returncode in (0, 1)
    assert not done.stderr
    text = done.stdout.decode(encoding)
    assert "Python" in text
    assert "?" not in text.partition("Python")[0], "characters are replaced by readable ones"


def test_what_a_console_lacks_is_replaced():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="replace")
    console.say("─ ½‖w‖² ± λ → 日", file=stream)
    assert stream.buffer.getvalue().decode().split() == ["-", "1/2|w|^2", "+/-", "lam", "->", "?"]


def failing(monkeypatch, error):
    def run(arguments):
        raise error

    monkeypatch.setattr(cli, "build_parser", lambda: Parser(run))


class Parser:
    """Stands for a parser of one command."""

    def __init__(self, run):
        self.run = run

    def parse_args(self, argv):
        return self


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (console.CommandError("choose another."), "choose another."),
        (DataError("the file is cut short;\n  fetch it."), "the file is cut short; fetch it."),
        (ValueError("C is -1; expected a number > 0."), "C is -1; expected a number > 0."),
        (PermissionError(13, "Permission denied", "/x"), "/x: permission denied."),
        (KeyError("x"), "unexpected KeyError: 'x' (MEDN_EDU_DEBUG=1 shows where it happened)."),
    ],
)
def test_errors_are_one_sentence(error, sentence, monkeypatch, capsys):
    monkeypatch.delenv("MEDN_EDU_DEBUG", raising=False)
    failing(monkeypatch, error)
    assert main([]) == 2
    output = capsys.readouterr()
    assert output.err == f"medn-edu: {sentence}\n"
    assert not output.out


def test_debugging_shows_the_traceback(monkeypatch):
    monkeypatch.setenv("MEDN_EDU_DEBUG", "1")
    failing(monkeypatch, KeyError("x"))
    with pytest.raises(KeyError):
        main([])


def test_ctrl_c_is_one_sentence(monkeypatch, capsys):
    failing(monkeypatch, KeyboardInterrupt())
    assert main([]) == 130
    assert capsys.readouterr().err == (
        "\nStopped. What was finished is kept; nothing is half-written.\n"
    )


@pytest.mark.skipif(os.name == "nt", reason="pipes end differently on Windows")
def test_a_reader_that_has_seen_enough():
    command = f"{sys.executable} -m medn_edu.cli doctor | true"
    done = subprocess.run(command, shell=True, capture_output=True, check=False)
    assert not done.stderr


@pytest.mark.parametrize("command", ["demo", "reproduce ocr", "bench"])
def test_an_unwritable_results_folder_is_named_before_any_work(command, tmp_path, capsys, request):
    if command == "reproduce ocr":
        request.getfixturevalue("require_ocr")
    (tmp_path / "file").write_text("", encoding="utf-8")
    folder = tmp_path / "file" / "results"
    assert main([*command.split(), "--out", str(folder)]) == 2
    output = capsys.readouterr()
    assert output.err.startswith(f"medn-edu: the results folder {folder} cannot be written (")
    assert output.err.count("\n") == 1
    assert "--out" in output.err
    assert not output.out


class Terminal(io.StringIO):
    """A stream somebody watches."""

    def isatty(self):
        return True


def progress_output(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    with console.Progress("Training", "models", delay=0) as progress:
        for n_done in range(3):
            progress(n_done, 3)
    return stream.getvalue()


def test_progress_is_silent_where_nobody_watches(monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    assert progress_output(monkeypatch, io.StringIO()) == ""


def test_progress_shows_on_a_terminal(monkeypatch):
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    assert "Training" in progress_output(monkeypatch, Terminal())


def test_progress_can_be_silenced(monkeypatch):
    monkeypatch.setenv("TQDM_DISABLE", "1")
    assert progress_output(monkeypatch, Terminal()) == ""


# -- serving until told to stop -------------------------------------------------------------------

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


def is_running(pid):
    stat = Path(f"/proc/{pid}/stat")
    return stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
@pytest.mark.parametrize("hearing", ["hears", "deaf"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 0)])
def test_a_server_ends_with_its_command(tmp_path, number, code, hearing):
    notes, work = tmp_path / "notes", tmp_path / "work"
    notes.mkdir()
    work.mkdir()
    arguments = [str(work), SERVER, str(notes), hearing]
    with child([sys.executable, "-c", COMMAND, *arguments]) as command:
        for _ in range(2400):
            if (notes / "server").exists() and (notes / "server").read_text():
                break
            time.sleep(0.05)
        assert len(list(work.iterdir())) == 1
        command.send_signal(number)
        assert command.wait(120) == code
    assert not list(work.iterdir()), "the temporary folder is left"
    pids = [(notes / name).read_text() for name in ("server", "helper")]
    for _ in range(100):  # orphans take a moment to be buried
        if not any(map(is_running, pids)):
            break
        time.sleep(0.05)
    assert not any(map(is_running, pids))


def test_a_server_that_ends_says_how():
    before = signal.getsignal(signal.SIGTERM)
    assert console.serve([sys.executable, "-c", "raise SystemExit(3)"]) == 3
    assert signal.getsignal(signal.SIGTERM) is before


# -- odd values: one sentence each, and nothing is written ------------------------------------------


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("lab --port 70000", "'70000' is not a whole number from 1 to 65535"),
        ("app --port 70000", "'70000' is not a whole number from 1 to 65535"),
        ("lab --port=-5", "'-5' is not a whole number from 1 to 65535"),
        ("app --port 0", "'0' is not a whole number from 1 to 65535"),
        ("lab --port 1e3", "'1e3' is not a whole number"),
        ("demo --jobs 0", "'0' is not a whole number of at least 1"),
        ("demo --seed 1e3", "'1e3' is not a whole number"),
        ("demo --out file", "the results folder file cannot be written (file exists)"),
        ("progress nowhere", "there is no folder nowhere; `medn-edu lab FOLDER` makes one"),
        ("progress file", "there is no folder file; `medn-edu lab FOLDER` makes one"),
        ("progress .", ". holds no notebooks of the course; name the folder"),
        ("progress ~nobody-of-this-name/x", "there is no folder ~nobody-of-this-name/x"),
        ("course file", "the course cannot be copied to file (a file is in the way)"),
        ("claims --results file", "there is no folder file"),
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


@pytest.mark.skipif(
    not Path("/dev/full").is_char_device(), reason="needs the device that is always full"
)
@pytest.mark.parametrize("arguments", [["reproduce", "--list"], ["--version"]])
def test_output_to_a_full_disk(arguments):
    """Told once, also of what the parser has printed; Python's own shutdown adds nothing."""
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "medn_edu.cli", *arguments],
            stdout=full, stderr=subprocess.PIPE, text=True, check=False,
        )  # fmt: skip
    assert done.stderr == "medn-edu: standard output: no space left on device.\n"
    assert done.returncode == 2
