"""Matching: a predicate and a window as dimensions, kernels over segments, exact pairs out."""

from streamjoin.match.matcher import Matcher, Pairs

__all__ = ["Matcher", "Pairs"]
