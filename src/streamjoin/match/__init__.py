"""Matching: a predicate and a window as dimensions, kernels over segments, exact pairs out."""

from streamjoin.match.matcher import Matcher
from streamjoin.match.pairs import Pairs

__all__ = ["Matcher", "Pairs"]
