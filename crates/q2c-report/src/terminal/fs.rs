//! `q2c fs bench` in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::fs;
use crate::said::Said;
use q2c_result::fs::FsResult;

/// The report of a benchmark of file systems.
#[must_use]
pub fn fs(result: &FsResult, screen: Screen) -> String {
    let about = format!("· {}", fs::about(result));
    let mut text = screen.note(Tone::Strong, &fs::title(result), &about);
    if !result.complete {
        let what = "the run was stopped early; what is shown is valid, trials are missing";
        text += &screen.note(Tone::Bad, "incomplete:", what);
    }
    for (title, table) in fs::throughput(result) {
        text += &format!("\n{}\n", screen.paint(Tone::Strong, &title));
        text += &said::table(&table, screen);
    }
    if let Some(program) = &result.program {
        let (title, table) = fs::program(program);
        text += &format!("\n{}\n", screen.paint(Tone::Strong, &title));
        text += &said::table(&table, screen);
    }
    if !result.ratios.is_empty() {
        text.push('\n');
        text += &said::table(&fs::ratios(result), screen);
    }
    text.push('\n');
    text += &said::all(&fs::findings(result), screen);
    text += &said::all(&fs::locks(result), screen);
    text += &said::all(&fs::profiles(result), screen);
    text += &said::all(&fs::file_systems(result), screen);
    let warnings: Vec<Said> = result.warnings.iter().map(Said::warning).collect();
    text + &said::all(&warnings, screen)
}
