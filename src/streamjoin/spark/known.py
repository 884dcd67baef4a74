"""The joins that this driver has built, by the fingerprints that their metrics carry."""

from collections import OrderedDict
from threading import Lock

from streamjoin.flow.job import Job

MOST = 1000
_known: OrderedDict[str, Job] = OrderedDict()
_turn = Lock()


def remember_job(job: Job) -> str:
    """Keep a join, the last 1,000 of them; its fingerprint."""
    fingerprint = job.key.digest
    with _turn:
        _known[fingerprint] = job
        _known.move_to_end(fingerprint)
        while len(_known) > MOST:
            _known.popitem(last=False)
    return fingerprint


def find_job(fingerprint: str) -> Job | None:
    """The join of a fingerprint; None where another driver built it."""
    return _known.get(fingerprint)
