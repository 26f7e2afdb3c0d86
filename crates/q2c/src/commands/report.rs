//! `q2c report`.

use crate::args::ReportArgs;
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, say, screen};
use q2c_result::Exit;
use q2c_result::bench::{self, BenchResult};
use q2c_result::tune::{self, TuneResult};
use serde::Deserialize;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A result of any command whose reports can be drawn again.
enum Kept {
    Tune(Box<TuneResult>),
    Bench(Box<BenchResult>),
}

impl Kept {
    fn page(&self) -> Result<String, Failure> {
        match self {
            Kept::Tune(result) => q2c_report::html::tune(result).or_exit(Exit::Internal),
            Kept::Bench(result) => q2c_report::html::bench(result).or_exit(Exit::Internal),
        }
    }

    fn csv(&self) -> Result<String, Failure> {
        match self {
            Kept::Tune(result) => q2c_report::csv::cells(result).or_exit(Exit::Internal),
            Kept::Bench(result) => q2c_report::csv::bench(result).or_exit(Exit::Internal),
        }
    }

    fn json(&self) -> Result<(), Failure> {
        match self {
            Kept::Tune(result) => print_json(result),
            Kept::Bench(result) => print_json(result),
        }
    }

    fn table(&self) -> String {
        match self {
            Kept::Tune(result) => q2c_report::terminal::tune(result, screen()),
            Kept::Bench(result) => q2c_report::terminal::bench(result, screen()),
        }
    }
}

/// Draws what is asked: the table when nothing is.
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

/// What every result begins with, whatever its version.
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
            "expected the result of q2c tune or bench, found none: the run has not ended, or was another command's".to_owned(),
        ),
        _ => bad(e.to_string()),
    })?;
    let head: Head = serde_json::from_str(&text)
        .map_err(|e| bad(format!("expected a result of q2c, found {e}")))?;
    let schema = head.schema.as_str();
    let unlike = |e: serde_json::Error| bad(format!("expected schema {schema}, found {e}"));
    match schema {
        tune::SCHEMA => serde_json::from_str(&text).map(Kept::Tune).map_err(unlike),
        bench::SCHEMA => serde_json::from_str(&text).map(Kept::Bench).map_err(unlike),
        _ => Err(bad(format!(
            "expected schema {} or {}, found `{}`; use the q2c that wrote it",
            tune::SCHEMA,
            bench::SCHEMA,
            schema.escape_debug()
        ))),
    }
}

/// A file that is there already is not written over: it may be anything.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let failed = |exit, why: String| Failure::new(exit, format!("write {}: {why}", path.display()));
    let mut file = match fs::File::create_new(path) {
        Ok(file) => file,
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let why = "expected a new name, found an existing file; remove it or name another";
            return Err(failed(Exit::Usage, why.to_owned()));
        }
        Err(e) => return Err(failed(Exit::Device, e.to_string())),
    };
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    written.map_err(|e| {
        // Half a page is worse than none; the first error is the one to report.
        fs::remove_file(path).ok();
        failed(Exit::Device, e.to_string())
    })
}
