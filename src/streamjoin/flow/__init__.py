"""The stages of a micro-batch without a runtime: emit, a cell's batch, settle. Clock, state and cache are handed in."""
