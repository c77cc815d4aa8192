"""Ctrl-C while kernels are loaded, and everywhere else."""

import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest

import fsgym
from fsgym.support.interrupts import interrupts_between_kernels
from support import interrupted_load


@pytest.fixture
def _python_handles_interrupts():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def test_a_kernel_is_loaded_whole_and_then_the_run_stops(tmp_path):
    done = subprocess.run(
        [sys.executable, interrupted_load.__file__],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "True [{'value': 2}, None] [None, None]\n"


@pytest.mark.usefixtures("_python_handles_interrupts")
def test_elsewhere_an_interrupt_is_raised_where_it_arrives():
    with pytest.raises(KeyboardInterrupt), interrupts_between_kernels():
        signal.raise_signal(signal.SIGINT)


class Thing:
    """What an interrupt meets where Python drops exceptions."""

    def __del__(self):
        interrupt()


def interrupt(*_):
    signal.raise_signal(signal.SIGINT)


def drop_a_thing():
    thing = Thing()
    del thing


def call_back_a_reference():
    thing, kept = set(), weakref.WeakValueDictionary()
    kept[0] = thing
    weakref.finalize(thing, interrupt)
    del thing


def forget_the_lock_of_an_import():
    names = {"__name__": "importlib._bootstrap", "interrupt": interrupt}
    exec("def cb(_): interrupt()", names)  # as the callback there is called
    thing = set()
    reference = weakref.ref(thing, names["cb"])
    del thing
    assert reference() is None


@pytest.mark.usefixtures("_python_handles_interrupts")
@pytest.mark.parametrize("happen", [drop_a_thing, call_back_a_reference, forget_the_lock_of_an_import])
def test_an_interrupt_is_not_dropped_where_exceptions_are(happen):
    passed = []

    def run():
        happen()
        passed.append(True)
        time.sleep(60)

    with pytest.raises(KeyboardInterrupt), interrupts_between_kernels():
        run()
    assert passed


@pytest.mark.usefixtures("_python_handles_interrupts")
def test_handlers_of_others_and_other_threads_are_left_alone():
    def own(number, frame):
        arrived.append(number)

    arrived = []
    signal.signal(signal.SIGINT, own)
    with interrupts_between_kernels():
        signal.raise_signal(signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is own
    assert arrived == [signal.SIGINT]
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def elsewhere():
        with interrupts_between_kernels():
            arrived.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert arrived[1:] == [signal.default_int_handler]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize(
    ("words", "status", "said"), [(["-m", "fsgym"], 130, "fsgym: stopped\n"), (["-c", "import fsgym"], -2, "Traceback")]
)
def test_ctrl_c_while_the_command_is_imported_is_a_sentence(tmp_path, words, status, said):
    stub = tmp_path / "gymnasium.py"
    stub.write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n")
    path = os.pathsep.join([str(tmp_path), str(Path(fsgym.__file__).parent.parent)])
    done = subprocess.run(
        [sys.executable, *words],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in the background
    )
    assert done.returncode == status
    assert done.stderr.startswith(said)
