"""Kernels compiled while Spark plans the first query."""

import logging
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from streamjoin.spark.compat import find_python

if TYPE_CHECKING:
    from streamjoin.plan import Plan

log = logging.getLogger(__name__)


def compile_ahead(spark: SparkSession, plan: "Plan") -> None:
    """Start compiling what a join needs, where its tasks run on this machine; on others the first tasks do it."""
    try:
        if find_python(spark) is not None:
            from streamjoin.compile.ahead import start
            from streamjoin.match.warm import outline, warm_in_background

            join = plan.predicate, plan.window
            start(warm_in_background, *join, outline=outline(*join))
            if plan.reduction is not None:
                from streamjoin.worker.warm import warm_reduction

                start(warm_reduction, plan, outline=f"{outline(*join)}\n{plan.how} {plan.reduction}")
    except Exception:  # whatever it is, no join must fail by this
        log.info("nothing is compiled ahead", exc_info=True)
