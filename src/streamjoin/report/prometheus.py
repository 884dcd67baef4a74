"""The metrics of running joins as Prometheus reads them: counts as counters, levels and seconds as gauges."""

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from streamjoin.flow.metrics import METRICS
from streamjoin.report.history import History

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
LABELS = ("query", "join")


class JoinCollector(Collector):
    """Reads a history whenever Prometheus asks."""

    def __init__(self, history: History) -> None:
        self._history = history

    def collect(self) -> Iterator[Metric]:
        """Every metric, of every join of every running query."""
        found = self._history.read_last()
        for metric in METRICS:
            name, each = f"streamjoin_{metric.name}", metric.together == "each"
            family: Metric
            if metric.kind == "count":
                family = CounterMetricFamily(name, metric.meaning, labels=LABELS)
            else:
                family = GaugeMetricFamily(name, metric.meaning, labels=(*LABELS, "cell") if each else LABELS)
            for query, join, metrics in found:
                if each:
                    for cell, value in enumerate(metrics[metric.name]):
                        family.add_metric((query, join, str(cell)), value)
                elif metrics[metric.name] is not None:
                    family.add_metric((query, join), metrics[metric.name])
            yield family


def write_metrics(history: History) -> bytes:
    """The page that Prometheus scrapes."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(JoinCollector(history))
    return generate_latest(registry)
