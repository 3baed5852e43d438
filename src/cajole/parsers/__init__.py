"""Parsers of foreign file formats, and the child process that they run in.

Modules here import NumPy and the package of their format only, so that a child process starts quickly.
"""
