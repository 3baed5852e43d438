"""Mesh file formats, one module each; readers report the position of an error in the file."""
