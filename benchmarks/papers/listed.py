"""All experiments, in the order of the report: a new one is a file, and its name here."""

from benchmarks.papers import (
    cell_basic_window,
    cell_batching,
    cell_simd,
    dp_bandwidth,
    dp_latency,
    handshake_scaling,
    handshake_simd,
    peers,
    peers_sustained,
    scale_balance,
    scale_gate,
    scale_latency,
    scale_rates,
    scale_threads,
    thesis_outputs,
)
from benchmarks.papers.experiment import Experiment

EXPERIMENTS: list[Experiment] = [
    module.EXPERIMENT
    for module in (
        *(peers, peers_sustained, scale_threads, scale_rates, scale_gate, scale_latency, scale_balance),
        *(cell_basic_window, cell_batching, cell_simd, handshake_scaling, handshake_simd),
        *(dp_bandwidth, dp_latency, thesis_outputs),
    )
]
