"""What to expect of a join, and which layout and interval to give it: the model asked in the words of a user.

================  ===============================================================================================
`advise`          the verb: from what the user knows to a question, from a question to advice
`question`        a join and its demand: the condition understood, sizes of rows, where each figure is from
`ranges`          the hit rate of bands and equalities over uniform values
`sample`          the hit rate in sampled rows, which the condition itself decides on
`files`           rows of both inputs out of files
`answer`          the answer: figures, and how they read in a terminal, a notebook, as JSON
`plot`            the answer as a picture
`calibrate`       this machine's constants, measured and kept
================  ===============================================================================================
"""
