"""An application as a user writes it: for spark-submit, and for Spark Connect.

    application.py TEXT OUT

It imports a fleet, analyses it, and prints the figures of the volumes as JSON.
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession
from q2c.spark import analyze_fleet, compare_volumes, import_fleet


def main(text: str, out: str) -> None:
    spark = SparkSession.builder.appName("q2c application").getOrCreate()
    done = import_fleet(spark, text, out, format="alibaba", stretch_rows=5_000)
    with analyze_fleet(spark, out) as analysis:
        volumes = {row["device"]: row["json"] for row in analysis.volumes.collect()}
        table = [row.asDict() for row in compare_volumes(analysis).collect()]
    spark.stop()
    print(json.dumps({"rows": done.rows, "volumes": volumes, "table": table}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
