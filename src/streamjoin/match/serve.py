"""Which dimensions serve a predicate."""

from collections.abc import Iterator

from streamjoin.match.dimension import Dimension, Equality, FloatBand, KeyPositions, Validity, WholeBand
from streamjoin.match.range import RangeBand
from streamjoin.predicate import Predicate
from streamjoin.predicate.conjunct import Band, Equi, Range
from streamjoin.spec.side import SIDES


def key_dimensions(predicate: Predicate) -> Iterator[Dimension]:
    """The dimensions of all conjuncts on keys, in the order of the condition."""
    position = {key.name: i for side in SIDES for i, key in enumerate(predicate.keys(side))}
    for conjunct in predicate.conjuncts:
        if isinstance(conjunct, Range):
            yield RangeBand(conjunct, position)
        if not isinstance(conjunct, Equi | Band):
            continue
        keys: KeyPositions = {"l": position[conjunct.left.name], "r": position[conjunct.right.name]}
        if isinstance(conjunct, Equi):
            yield Equality(conjunct, keys)
            if conjunct.null_safe:
                yield Validity(keys)
        elif conjunct.margin.relative or conjunct.left.type.is_floating or conjunct.right.type.is_floating:
            yield FloatBand(conjunct, keys)
        else:
            yield WholeBand(conjunct, keys)
