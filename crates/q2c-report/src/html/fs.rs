//! A benchmark of file systems as a page.

use super::page::RenderError;
use super::replayed::{self, Content, Facts, Made, Table, Told};
use crate::fs;
use q2c_result::fs::FsResult;

/// Makes the page of a benchmark of file systems.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn fs(result: &FsResult) -> Result<String, RenderError> {
    let throughput = fs::throughput(result).into_iter();
    let mut tables: Vec<Table> = throughput
        .map(|(title, table)| Table::new(title, table))
        .collect();
    tables.extend(result.program.as_ref().map(|program| {
        let (title, table) = fs::program(program);
        Table::new(title, table)
    }));
    if !result.ratios.is_empty() {
        tables.push(Table::new("Shared to private", fs::ratios(result)));
    }
    replayed::render(Content {
        command: "fs bench",
        result: Made {
            version: &result.version,
            schema: &result.schema,
            started_unix_s: result.started_unix_s,
            complete: result.complete,
            warnings: &result.warnings,
        },
        title: fs::title(result),
        about: about(result),
        seed: result.seed,
        notices: fs::findings(result),
        verdict: Vec::new(),
        tables,
        told: vec![
            Told::new("Locks", fs::locks(result)),
            Told::new("CPU time", fs::profiles(result)),
            Told::new("File systems", fs::file_systems(result)),
        ],
        charts: Vec::new(),
        facts: vec![Facts::machine(&result.machine)],
    })
}

/// The run in a line, with the disks of its file systems.
fn about(result: &FsResult) -> String {
    let devices = result.file_systems.iter().map(|made| made.device.as_str());
    let devices: Vec<&str> = devices.collect();
    match devices.is_empty() {
        true => fs::about(result),
        false => format!("{} \u{b7} on {}", fs::about(result), devices.join(", ")),
    }
}
