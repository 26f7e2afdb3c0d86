//! `q2c report`.

use crate::args::ReportArgs;
use crate::failure::{Fails, Failure};
use crate::output::{print, print_json, say, screen};
use q2c_result::Exit;
use q2c_result::tune::{SCHEMA, TuneResult};
use serde::Deserialize;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Draws what is asked: the table when nothing is.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let result = result(&args.run)?;
    if let Some(path) = &args.html {
        let page = q2c_report::html::tune(&result).or_exit(Exit::Internal)?;
        write_new(path, page.as_bytes())?;
        say(&format!("report: {}", path.display()));
    }
    match (args.csv, args.json) {
        (true, _) => print(&q2c_report::csv::cells(&result).or_exit(Exit::Internal)?)?,
        (_, true) => print_json(&result)?,
        _ if args.html.is_some() => {}
        _ => print(&q2c_report::terminal::tune(&result, screen()))?,
    }
    Ok(Exit::Done)
}

/// What every result begins with, whatever its version.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

fn result(run: &Path) -> Result<TuneResult, Failure> {
    let path: PathBuf = match run.is_dir() {
        true => run.join("result.json"),
        false => run.to_owned(),
    };
    let bad = |why: String| Failure::new(Exit::Input, format!("read {}: {why}", path.display()));
    let text = fs::read_to_string(&path).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound if run.is_dir() => bad(
            "expected the result of q2c tune, found none: the run has not ended, or was another command's".to_owned(),
        ),
        _ => bad(e.to_string()),
    })?;
    let head: Head = serde_json::from_str(&text)
        .map_err(|e| bad(format!("expected a result of q2c tune, found {e}")))?;
    if head.schema != SCHEMA {
        let found = head.schema.escape_debug();
        return Err(bad(format!(
            "expected schema {SCHEMA}, found `{found}`; use the q2c that wrote it"
        )));
    }
    serde_json::from_str(&text).map_err(|e| bad(format!("expected schema {SCHEMA}, found {e}")))
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
