//! Reads the trace with other implementations of Parquet: pyarrow, DuckDB or Polars, run by python3
//! (or by the interpreter in `Q2C_PYTHON`).

use crate::support::{block_read, place, write};
use q2c_model::{IoRecord, Nanos, TraceMeta};
use std::process::Command;

const READERS: [(&str, &str); 3] = [
    (
        "pyarrow",
        "import sys, pyarrow.parquet as p\nt = p.read_table(sys.argv[1])\nrows = t.to_pylist()\n\
         assert p.read_metadata(sys.argv[1]).metadata[b'q2c.trace.version'] == b'1'",
    ),
    (
        "duckdb",
        "import sys, duckdb\nq = duckdb.sql(f\"select * from read_parquet('{sys.argv[1]}')\")\n\
         rows = [dict(zip(q.columns, row)) for row in q.fetchall()]",
    ),
    (
        "polars",
        "import sys, polars\nrows = polars.read_parquet(sys.argv[1]).to_dicts()",
    ),
];

const PRINT: &str = "\nfor r in rows:\n    print(*[f'{k}={r[k]}' for k in r if r[k] is not None])";

fn records() -> [IoRecord; 2] {
    let mut second = block_read(1, u64::MAX - 10_000);
    second.comm = Some("fio".to_owned());
    second.error = Some(-5);
    second.missed = Some(true);
    second.slept_ns = Some(Nanos(1 << 63));
    [block_read(0, 1_000), second]
}

const EXPECTED: &str = "\
id=0 layer=block device=259:0 op=read flags=0 sector=0 bytes=4096 lane=0 depth_at_submit=1 queue_ns=1000 complete_ns=11000
id=1 layer=block device=259:0 op=read flags=0 sector=8 bytes=4096 lane=0 depth_at_submit=1 queue_ns=18446744073709541615 complete_ns=18446744073709551615 slept_ns=9223372036854775808 missed=True comm=fio error=-5
";

#[test]
fn others_read_the_same() {
    let python = std::env::var("Q2C_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let (_folder, path) = place();
    write(&path, &TraceMeta::default(), &records(), 2);
    for (module, script) in READERS {
        let run = |script: &str| {
            Command::new(&python)
                .args(["-c", script])
                .arg(&path)
                .output()
        };
        let import_check = run(&format!("import {module}"));
        if !import_check.is_ok_and(|output| output.status.success()) {
            let reason = format!("{python} cannot import {module}");
            q2c_testkit::skip("others_read_the_same", &reason);
            continue;
        }
        let output = run(&format!("{script}{PRINT}")).unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{module}: {errors}");
        let printed = String::from_utf8_lossy(&output.stdout);
        assert_eq!(printed, EXPECTED, "{module}");
    }
}
