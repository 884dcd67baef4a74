"""A Kafka broker for tests: one process in KRaft mode, on loopback, its data in a directory of the test's."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.spark.maven import copy_jars

KAFKA = "3.9.1"
_JARS = [f"org.apache.kafka:kafka_2.13:{KAFKA}", "org.slf4j:slf4j-nop:1.7.36"]
_CLUSTER = "AAAAAAAAAAAAAAAAAAAAAA"
_PATIENCE_SECONDS = 120.0


def fetch_jars() -> Path:
    """The broker's jars, fetched once a machine; without them the test is skipped."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "streamjoin-tests", f"kafka-{KAFKA}")
    if not home.is_dir():
        home.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=home.parent) as scratch:
            jars = copy_jars(_JARS, Path(scratch))
            with suppress(OSError):  # another process was first
                jars.rename(home)
    return home


def find_tool(name: str) -> str:
    """One of Java's programs; without it the test is skipped."""
    if (found := shutil.which(name)) is None:
        pytest.skip(f"{name} is not on the PATH, so no Kafka broker can be started: install a JDK, 17 or later")
    return found


STORE_PASSWORD = "swordfish"
"""Opens the store that holds the broker's certificate."""
_MAKE_STORE = ["-genkeypair", "-alias", "broker", "-keyalg", "EC", "-dname", "CN=127.0.0.1"]
_MAKE_STORE += ["-ext", "SAN=ip:127.0.0.1", "-storetype", "PKCS12", "-storepass", STORE_PASSWORD]
LOGIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
USER, PASSWORD = "reader", "hunter2"
"""Who may come in by the listener that asks for a password."""


class Places(NamedTuple):
    """Host and port of a broker's listeners: for everybody, with a password (SASL, PLAIN), and with both it and TLS."""

    plain: str
    sasl: str
    tls: str
    certificate: Path
    """The store that a client trusts; `STORE_PASSWORD` opens it."""


@contextmanager
def broker(home: Path) -> Iterator[Places]:
    """A running broker; without Java's tools on the PATH the test is skipped."""
    keytool, java = find_tool("keytool"), find_tool("java")
    ports, store = find_ports(4), home / "broker.p12"
    subprocess.run([keytool, *_MAKE_STORE, "-keystore", str(store)], check=True, capture_output=True)
    served = {"PLAINTEXT": ports[0], "SASL_PLAINTEXT": ports[2], "SASL_SSL": ports[3]}
    settings = home / "server.properties"
    settings.write_text(
        f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{ports[1]}
listeners={_list({"CONTROLLER": ports[1]} | served)}
advertised.listeners={_list(served)}
sasl.enabled.mechanisms=PLAIN
listener.name.sasl_plaintext.plain.sasl.jaas.config={LOGIN_MODULE} required user_{USER}="{PASSWORD}";
listener.name.sasl_ssl.plain.sasl.jaas.config={LOGIN_MODULE} required user_{USER}="{PASSWORD}";
ssl.keystore.location={store}
ssl.keystore.password={STORE_PASSWORD}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
log.dirs={home / "data"}
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
num.partitions=2
"""
    )
    run = [java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{fetch_jars()}/*"]
    format = ["kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(settings)]
    subprocess.run([*run, *format], check=True, capture_output=True)
    with (home / "broker.log").open("wb") as log:
        process = subprocess.Popen([*run, "kafka.Kafka", str(settings)], stdout=log, stderr=log)
    try:
        until = time.monotonic() + _PATIENCE_SECONDS
        while not all(map(_answers, served.values())):
            assert process.poll() is None, (home / "broker.log").read_text()
            assert time.monotonic() < until, "the broker does not answer"
            time.sleep(0.2)
        yield Places(*(f"127.0.0.1:{port}" for port in served.values()), store)
    finally:
        process.kill()
        process.wait()


def create_topics(spark: SparkSession, servers: str, names: Sequence[str]) -> None:
    """Empty topics, by the client that Spark's connector has loaded."""
    jvm: Any = spark._jvm
    settings, topics = jvm.java.util.Properties(), jvm.java.util.ArrayList()
    settings.put("bootstrap.servers", servers)
    for name in names:
        topics.add(jvm.org.apache.kafka.clients.admin.NewTopic(name, 2, 1))
    admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(settings)
    try:
        admin.createTopics(topics).all().get()
    finally:
        admin.close()


def _list(listeners: dict[str, int]) -> str:
    return ",".join(f"{name}://127.0.0.1:{port}" for name, port in listeners.items())


def measure_topic(home: Path, name: str) -> int:
    """The bytes of a topic that a broker has on disk."""
    return sum(log.stat().st_size for log in home.glob(f"data/{name}-*/*.log"))


def find_ports(count: int) -> list[int]:
    """Ports of loopback that are free now."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def _answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False
