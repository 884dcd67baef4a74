"""Delta as source and sink of a join: exactly the reference's rows, whatever is started again. Run by `make test-delta`."""

import io
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

import streamjoin as sj
from streamjoin.cli.files import FileJoin
from streamjoin.reference import Batch, join_batches
from streamjoin.spark.compat import VERSION
from streamjoin.spark.packages import PACKAGES
from tests.spark.maven import fetch
