"""One function over many items: here, on the processes of this machine, or on many machines."""

from cajole.cluster.mapping import Cluster, map, stream

__all__ = ["Cluster", "map", "stream"]
