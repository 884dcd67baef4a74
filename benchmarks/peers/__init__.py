"""Other ways to do the papers' join, one file each: a module here with a `PEER` takes part."""
