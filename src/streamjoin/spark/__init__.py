"""The join as Spark operators: the only package, with the command line, that imports pyspark."""
