"""The joins that this driver has built, by the fingerprints that their metrics carry."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock

from streamjoin.flow.job import Job
from streamjoin.spec.side import Side

MOST = 1000


@dataclass(frozen=True)
class Known:
    """A join, its plan in words, and how long the watermark of each input waits, in microseconds."""

    job: Job
    plan: str
    delays: Mapping[Side, int | None]


_known: OrderedDict[str, Known] = OrderedDict()
_turn = Lock()


def remember_job(job: Job, plan: str, delays: Mapping[Side, int | None]) -> str:
    """Keep a join, the last 1,000 of them; its fingerprint."""
    fingerprint = job.key.digest
    with _turn:
        _known[fingerprint] = Known(job, plan, delays)
        _known.move_to_end(fingerprint)
        while len(_known) > MOST:
            _known.popitem(last=False)
    return fingerprint


def find_known(fingerprint: str) -> Known | None:
    """The join of a fingerprint; None where another driver built it."""
    return _known.get(fingerprint)
