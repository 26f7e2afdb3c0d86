//! The command `q2c report`.

mod kinds;

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::output::{print, say, screen, write_new};
use kinds::{KINDS, Kept};
use q2c_result::Exit;
use q2c_run::whole_file;
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};

/// Draws what is asked for: the table when no option is given.
pub fn run(args: &ReportArgs) -> Result<Exit, Failure> {
    let result = result(&args.run)?;
    if let Some(path) = &args.html {
        write_new(path, result.page()?.as_bytes())?;
        say(&format!("report: {}", path.display()));
    }
    match (args.csv, args.json) {
        (true, _) => print(&result.csv()?)?,
        (_, true) => result.print_json()?,
        _ if args.html.is_some() => {}
        _ => print(&result.table(screen()))?,
    }
    Ok(Exit::Done)
}

/// The field that every result has, whatever its version.
#[derive(Deserialize)]
struct Head {
    schema: String,
}

fn result(run: &Path) -> Result<Box<dyn Kept>, Failure> {
    let path: PathBuf = match run.is_dir() {
        true => run.join("result.json"),
        false => run.to_owned(),
    };
    let bad = |why: String| Failure::new(Exit::Input, format!("read {}: {why}", path.display()));
    let text = match run.is_dir() {
        true => whole_file::read_text(&path, whole_file::RESULT),
        false => whole_file::read_named_text(&path, whole_file::RESULT),
    };
    let text = text.map_err(|e| match e.kind() {
        io::ErrorKind::NotFound if run.is_dir() => bad(
            "expected the result of q2c tune, bench, analyze, replay or compare, found none: the run has not ended, or was another command's".to_owned(),
        ),
        _ => bad(e.to_string()),
    })?;
    let head: Head = serde_json::from_str(&text)
        .map_err(|e| bad(format!("expected a result of q2c, found {e}")))?;
    let schema = head.schema.as_str();
    let Some(kind) = kinds::of(schema) else {
        return Err(bad(format!(
            "expected schema {}, found `{}`; use the q2c that wrote it",
            schemas(),
            schema.escape_debug()
        )));
    };
    kind.read(&text)
        .map_err(|e| bad(format!("expected schema {schema}, found {e}")))
}

/// The schemas of this version in words: `a, b or c`.
fn schemas() -> String {
    let all: Vec<&str> = KINDS.iter().map(|kind| kind.schema()).collect();
    match all.split_last() {
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}
