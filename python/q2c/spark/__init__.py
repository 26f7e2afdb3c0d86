"""q2c on Spark: the traces of a fleet, imported, analysed and swept on many machines.

- `import_fleet` turns a folder of recordings, or a table, into q2c traces by volume and time;
- `analyze_fleet` says where the I/Os of each volume, and of all of them, spend their time;
- `compare_volumes` sets the volumes side by side, with the quantiles over the fleet;
- `sweep_fleet` finds the best sleep rule of each volume, and the one that suits all.

Spark distributes the work, and the kernels of q2c do it: figures and texts are those of the
program. Only the DataFrame API is used, so that plain Spark and Spark Connect serve alike. The
layout of the folder, and what the machines of a cluster need, is in docs/fleet.md.
"""

from __future__ import annotations


def _check() -> None:
    """Says what to install where Spark or Arrow is missing, rather than which line needed it."""
    for module in ("pyspark", "pyarrow", "numpy"):
        try:
            __import__(module)
        except ImportError as missing:
            raise ImportError(
                f"failed to load q2c.spark: it needs {module}, which this Python does not have; "
                "install q2c with its extra spark, as docs/fleet.md says"
            ) from missing
    import pyspark

    if int(pyspark.__version__.split(".")[0]) < 4:
        raise ImportError(
            f"failed to load q2c.spark: expected pyspark 4 or newer, found {pyspark.__version__}; "
            "install q2c with its extra spark, as docs/fleet.md says"
        )


_check()

from q2c.spark._analyses import FleetAnalysis, analyze_fleet  # noqa: E402
from q2c.spark._comparison import compare_volumes, fleet_quantiles  # noqa: E402
from q2c.spark._importing import FleetImport, import_fleet  # noqa: E402
from q2c.spark._layout import volumes  # noqa: E402
from q2c.spark._sweeps import FleetSweep, sweep_fleet  # noqa: E402

__all__ = [
    "FleetAnalysis",
    "FleetImport",
    "FleetSweep",
    "analyze_fleet",
    "compare_volumes",
    "fleet_quantiles",
    "import_fleet",
    "sweep_fleet",
    "volumes",
]
