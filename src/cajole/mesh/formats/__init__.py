"""One file format a file; each reads to plain arrays or meshes and says where a file is wrong."""
