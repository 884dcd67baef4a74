"""Programs that tests start and kill: a driver of Spark with all it starts, a standalone cluster on loopback."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pyspark

import streamjoin
from streamjoin.spark.java import ensure_java
from tests.spark.filejoin import FileJoin

ROOT = Path(__file__).parents[2]
SOURCES = Path(streamjoin.__file__).parents[1]
PATIENCE_SECONDS = 600.0


@dataclass(frozen=True)
class Process:
    pid: int
    parent: int
    command: str

    def kill(self) -> None:
        """Kill it, if it is still there."""
        self.send(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it is still there."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)


class Program:
    """A program of our own with everything it has started; what it prints goes to a file."""

    def __init__(self, command: list[str], log: Path, **own: str) -> None:
        self.log = log
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(ROOT), str(SOURCES), os.environ.get("PYTHONPATH", "")]),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "JAVA_HOME": str(ensure_java()),
            "TZ": "UTC",
            **own,
        }
        with log.open("ab") as output:
            self._popen = subprocess.Popen(
                command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )

    @property
    def is_running(self) -> bool:
        return self._popen.poll() is None

    @property
    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def processes(self) -> list[Process]:
        """The program and all that descends from it, parents first."""
        listed = subprocess.run(
            ["ps", "-A", "-ww", "-o", "pid=,ppid=,args="], capture_output=True, text=True, check=True
        )
        lines = [line.split(None, 2) for line in listed.stdout.splitlines()]
        running = [Process(int(pid), int(parent), "".join(command)) for pid, parent, *command in lines]
        family = [process for process in running if process.pid == self._popen.pid]
        for member in family:
            family += [process for process in running if process.parent == member.pid]
        return family

    def python_workers(self) -> list[Process]:
        """The processes in which Spark runs Python: children of a daemon of PySpark's."""
        daemons = [process for process in self.processes() if "pyspark.daemon" in process.command]
        return [process for process in daemons if process.parent in {daemon.pid for daemon in daemons}]

    def executors(self) -> list[Process]:
        """The executor JVMs of a standalone cluster's worker."""
        return [process for process in self.processes() if "CoarseGrainedExecutorBackend" in process.command]

    def kill(self) -> None:
        """Kill the program with all it has started, without a warning."""
        for process in self.processes() if self.is_running else ():
            process.kill()
        self._popen.wait()

    def finish(self) -> None:
        """Wait for the end, which must be a good one."""
        code = self._popen.wait(PATIENCE_SECONDS)
        assert code == 0, f"ended with {code}:\n{self.said[-6000:]}"

    def wait_for(self, met: Callable[[], bool]) -> bool:
        """Whether something came true while the program ran."""
        until = time.monotonic() + PATIENCE_SECONDS
        while self.is_running and not met():
            assert time.monotonic() < until, f"nothing happened for long:\n{self.said[-6000:]}"
            time.sleep(0.02)
        return self.is_running


@contextmanager
def running(command: list[str], log: Path, **own: str) -> Iterator[Program]:
    """A program that does not outlive the block; `own` is put into its environment."""
    program = Program(command, log, **own)
    try:
        yield program
    finally:
        program.kill()


def driver(job: FileJoin) -> AbstractContextManager[Program]:
    """The program of a job, running."""
    return running([sys.executable, *job.arguments()], Path(job.home, "driver.log"))


@contextmanager
def cluster(home: Path, workers: int = 2, **environment: str) -> Iterator[tuple[str, list[Program]]]:
    """A standalone cluster: the URL of its master, and its workers, each with one core and this `environment`."""
    home.mkdir(parents=True, exist_ok=True)
    spark_class = str(Path(pyspark.__file__).parent / "bin" / "spark-class")
    deploy, local = "org.apache.spark.deploy", ["--host", "127.0.0.1", "--port", "0", "--webui-port", "0"]
    with ExitStack() as programs:
        command = [spark_class, f"{deploy}.master.Master", *local]
        master = programs.enter_context(running(command, home / "master.log", **environment))
        assert master.wait_for(lambda: _master_url(master) is not None), master.said
        url = _master_url(master) or ""
        started = []
        for number in range(workers):
            own = ["--cores", "1", "--memory", "1g", "--work-dir", str(home / f"work{number}"), url]
            command = [spark_class, f"{deploy}.worker.Worker", *local, *own]
            started.append(programs.enter_context(running(command, home / f"worker{number}.log", **environment)))
        for worker in started:
            assert worker.wait_for(lambda worker=worker: "Successfully registered" in worker.said), worker.said
        yield url, started


def _master_url(master: Program) -> str | None:
    found = re.search(r"Starting Spark master at (spark://\S+)", master.said)
    return found and found[1]


def pause(chance: random.Random, most_seconds: float) -> None:
    """Wait for a random moment."""
    time.sleep(chance.uniform(0, most_seconds))
