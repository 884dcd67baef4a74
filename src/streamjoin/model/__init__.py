"""What a join will cost, before it runs: the papers' formulae as pure functions, and ours for Spark.

=================  =====================================================================================
`pairs`            pairs of rows that a window admits, per second and from the start (thesis 4.3, 4.7)
`selectivity`      the share of pairs that a band condition matches
`outputs`          results per second and over an interval (thesis 4.1-4.2, DP-Join Eq. 3-4)
`comparisons`      the rates that a comparison speed sustains (ScaleJoin II and VI, CellJoin 8.2.1)
`bandwidth`        what workers offer, how many are needed (DP-Join 3.3.3, Eq. 6)
`latency`          of a layout, of the fastest grid, of Handshake join (DP-Join Eq. 7-9)
`basic_windows`    their size and their assignment to workers (CellJoin Eq. 2-4)
`kernels`          cost of a probe in each of our kernels
`copies`           copies, shuffled bytes and state of a layout on Spark
`demand`           what is asked of a join, as far as its cost depends on it
`batch`            seconds of a micro-batch, and the shortest interval that is kept up with
`choice`           the layout and the interval that serve a join for least
`thesis`           distribution of windows, map and stencil (thesis 2 and 3); for readers and tests
=================  =====================================================================================

Times are seconds, rates rows per second, sizes bytes. ``docs/model.md`` has the formulae, and where a paper's own was
corrected.
"""
