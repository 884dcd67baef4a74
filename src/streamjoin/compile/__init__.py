"""Compiled code on disk: where it lies, who compiles, how it is found again, and compiling before it is needed.

Numba compiles a function for the types of its arguments. Each such result is one file, named after all that it depends
on, so a file never changes and reading one takes no lock. Whoever finds none compiles under a lock on that one file,
and everybody else who needs it waits: each is compiled once on a machine, whatever starts at the same time.

- `place` decides which directories are used: only those that nobody else can write to, for what lies there is run;
- `ondisk` gives a function its files, `lock` lets one process at a time make one;
- `modules` are functions whose source is generated;
- `ahead` starts a process that compiles what will be needed.
"""
