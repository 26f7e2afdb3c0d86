//! Tests of `q2c replay` and `q2c compare`.

mod compare;
mod outstanding;
mod published;
mod split;
mod target;
mod timed;

use crate::program::*;

/// The options to read CSV files with latencies.
const CSV: &str = "--format csv --unit us \
    --columns submit_ns=submit,latency=took,offset=offset,bytes=size,op=op";
/// The options to read CSV files without latencies.
const NO_ENDS: &str = "--format csv --unit us \
    --columns submit_ns=submit,offset=offset,bytes=size,op=op";

/// Makes a trace of reads. A row has the start and the latency in us, and the block number.
fn trace(folder: &Path, rows: impl Iterator<Item = (u64, u64, u64)>) -> PathBuf {
    let path = folder.join("trace.csv");
    let mut text = "submit,took,offset,size,op\n".to_owned();
    for (start, latency, block) in rows {
        text += &format!("{start},{latency},{},4096,read\n", block * 4096);
    }
    fs::write(&path, text).unwrap();
    let parquet = folder.join("trace.parquet");
    let (from, to) = (path.display(), parquet.display());
    run_q2c(folder, &format!("trace import {from} --out {to} {CSV}")).done();
    parquet
}

/// Makes a trace of 500 requests in one second, which take 100 us each.
fn even_trace(folder: &Path) -> PathBuf {
    trace(folder, (0..500).map(|n| (n * 2000, 100, n * 7 % 1000)))
}

/// The result of a replay; `arguments` name trace, target and options.
fn replayed(folder: &Path, arguments: &str) -> Value {
    let line = format!("replay {arguments} --json --max-lateness 1s");
    run_q2c(folder, &line).json()
}

fn json(done: &CommandOutcome) -> Value {
    strict_json(&done.stdout)
}

/// The report on a command's result, in one line.
fn report_text(folder: &Path, done: &CommandOutcome) -> String {
    let path = folder.join("told.json");
    fs::write(&path, &done.stdout).unwrap();
    unwrapped(&run_q2c(folder, &format!("report {}", path.display())).done())
}

fn only(result: &Value) -> &Value {
    let comparisons = result.list("comparisons");
    assert_eq!(comparisons.len(), 1, "{result}");
    &comparisons[0]
}

/// The kinds of a comparison's findings, in their order.
fn kinds(comparison: &Value) -> Vec<&str> {
    let findings = comparison.list("verdict");
    let kinds = findings.iter().map(|finding| finding["kind"].as_str());
    kinds.collect::<Option<_>>().unwrap()
}
