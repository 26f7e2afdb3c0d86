//! The command `q2c report`.

use crate::args::ReportArgs;
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, say, screen, write_new};
use q2c_result::Exit;
use q2c_result::analyze::{self, AnalyzeResult};
use q2c_result::bench::{self, BenchResult};
use q2c_result::compare::{self, CompareResult};
use q2c_result::replay::{self, ReplayResult};
use q2c_result::tune::{self, TuneResult};
use serde::Deserialize;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A result of any command whose reports can be drawn again.
enum Kept {
    Tune(Box<TuneResult>),
    Bench(Box<BenchResult>),
    Analyze(Box<AnalyzeResult>),
    Replay(Box<ReplayResult>),
    Compare(Box<CompareResult>),
}

impl Kept {
    fn page(&self) -> Result<String, Failure> {
        match self {
            Kept::Tune(result) => q2c_report::html::tune(result).or_exit(Exit::Internal),
            Kept::Bench(result) => q2c_report::html::bench(result).or_exit(Exit::Internal),
            Kept::Analyze(result) => q2c_report::html::analyze(result).or_exit(Exit::Internal),
            Kept::Replay(result) => q2c_report::html::replay(result).or_exit(Exit::Internal),
            Kept::Compare(result) => q2c_report::html::compare(result).or_exit(Exit::Internal),
        }
    }

    fn csv(&self) -> Result<String, Failure> {
        match self {
            Kept::Tune(result) => q2c_report::csv::cells(result).or_exit(Exit::Internal),
            Kept::Bench(result) => q2c_report::csv::bench(result).or_exit(Exit::Internal),
            Kept::Analyze(result) => q2c_report::csv::analyze(result).or_exit(Exit::Internal),
            Kept::Replay(result) => q2c_report::csv::replay(result).or_exit(Exit::Internal),
            Kept::Compare(result) => q2c_report::csv::compare(result).or_exit(Exit::Internal),
        }
    }

    fn json(&self) -> Result<(), Failure> {
        match self {
            Kept::Tune(result) => print_json(result),
            Kept::Bench(result) => print_json(result),
            Kept::Analyze(result) => print_json(result),
            Kept::Replay(result) => print_json(result),
            Kept::Compare(result) => print_json(result),
        }
    }

    fn table(&self) -> String {
        match self {
            Kept::Tune(result) => q2c_report::terminal::tune(result, screen()),
            Kept::Bench(result) => q2c_report::terminal::bench(result, screen()),
            Kept::Analyze(result) => q2c_report::terminal::analyze(result, screen()),
            Kept::Replay(result) => q2c_report::terminal::replay(result, screen()),
            Kept::Compare(result) => q2c_report::terminal::compare(result, screen()),
        }
    }
}

/// Draws what is asked for: the table when no option is given.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let result = result(&args.run)?;
    if let Some(path) = &args.html {
        write_new(path, result.page()?.as_bytes())?;
        say(&format!("report: {}", path.display()));
    }
    match (args.csv, args.json) {
        (true, _) => print(&result.csv()?)?,
        (_, true) => result.json()?,
        _ if args.html.is_some() => {}
        _ => print(&result.table())?,
    }
    Ok(Exit::Done)
}

/// The field that every result has, whatever its version.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

fn result(run: &Path) -> Result<Kept, Failure> {
    let path: PathBuf = match run.is_dir() {
        true => run.join("result.json"),
        false => run.to_owned(),
    };
    let bad = |why: String| Failure::new(Exit::Input, format!("read {}: {why}", path.display()));
    let text = fs::read_to_string(&path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound if run.is_dir() => bad(
            "expected the result of q2c tune, bench, analyze, replay or compare, found none: the run has not ended, or was another command's".to_owned(),
        ),
        _ => bad(e.to_string()),
    })?;
    let head: Head = serde_json::from_str(&text)
        .map_err(|e| bad(format!("expected a result of q2c, found {e}")))?;
    let schema = head.schema.as_str();
    let unlike = |e: serde_json::Error| bad(format!("expected schema {schema}, found {e}"));
    match schema {
        of if of == tune::SCHEMA || tune::EARLIER.contains(&of) => {
            serde_json::from_str(&text).map(Kept::Tune).map_err(unlike)
        }
        of if of == bench::SCHEMA || bench::EARLIER.contains(&of) => {
            serde_json::from_str(&text).map(Kept::Bench).map_err(unlike)
        }
        analyze::SCHEMA => serde_json::from_str(&text)
            .map(Kept::Analyze)
            .map_err(unlike),
        // Until 2026-11-22 these results had the key `complete` twice, which a struct does not
        // take. A JSON value keeps one of the two.
        of if of == replay::SCHEMA || replay::EARLIER.contains(&of) => serde_json::from_str(&text)
            .and_then(serde_json::from_value)
            .map(Kept::Replay)
            .map_err(unlike),
        of if of == compare::SCHEMA || compare::EARLIER.contains(&of) => {
            serde_json::from_str(&text)
                .map(Kept::Compare)
                .map_err(unlike)
        }
        _ => Err(bad(format!(
            "expected schema {}, {}, {}, {} or {}, found `{}`; use the q2c that wrote it",
            tune::SCHEMA,
            bench::SCHEMA,
            analyze::SCHEMA,
            replay::SCHEMA,
            compare::SCHEMA,
            schema.escape_debug()
        ))),
    }
}
