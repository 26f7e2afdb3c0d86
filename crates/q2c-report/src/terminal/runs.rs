//! `q2c runs` in a terminal.

use super::screen::{Screen, Tone};
use super::table::{TerminalColumn, TerminalField, TerminalTable};
use crate::html::started;
use q2c_result::runs::{ListedRun, RunEnd, RunsResult};

/// The table of the runs, the latest first, and how to go on with one.
#[must_use]
pub fn runs(result: &RunsResult, screen: Screen) -> String {
    if result.runs.is_empty() {
        return screen.note(Tone::Plain, "no runs in", &result.folder);
    }
    let mut table = TerminalTable::new([
        TerminalColumn::words("run"),
        TerminalColumn::words("command").left(),
        TerminalColumn::words("target"),
        TerminalColumn::words("started").left().optional(),
        TerminalColumn::words("state").left(),
    ]);
    for run in &result.runs {
        let (word, tone) = state(run.end);
        table.add([
            TerminalField::from(&run.path),
            TerminalField::from(run.name.as_deref().unwrap_or("-")),
            TerminalField::from(run.target.as_deref().unwrap_or("-")),
            TerminalField::from(run.started_unix_s.map_or_else(|| "-".to_owned(), started)),
            TerminalField::new(tone, word),
        ]);
    }
    let mut text = table.text(screen);
    for run in &result.runs {
        if let Some(reason) = &run.unreadable {
            text += &screen.note(Tone::Bad, &format!("{}:", run.path), reason);
        }
    }
    text + &next(result, screen)
}

fn state(end: RunEnd) -> (&'static str, Tone) {
    match end {
        RunEnd::Running => ("running", Tone::Plain),
        RunEnd::Complete => ("complete", Tone::Good),
        RunEnd::Interrupted => ("stopped", Tone::Caution),
        RunEnd::Crashed => ("killed", Tone::Caution),
        RunEnd::Unreadable => ("unreadable", Tone::Bad),
    }
}

fn next(result: &RunsResult, screen: Screen) -> String {
    let mut runs = result.runs.iter();
    let mut text = String::new();
    if let Some(run) = runs.find(|run| run.end == RunEnd::Complete) {
        text += &screen.note(Tone::Dim, "show one:", &format!("q2c report {}", run.path));
    }
    let again = |run: &ListedRun| {
        let has_ended = !matches!(run.end, RunEnd::Interrupted | RunEnd::Crashed);
        let command = resumed_by(run.name.as_deref()?).filter(|_| !has_ended)?;
        Some(format!("q2c {command} --resume {}", run.path))
    };
    if let Some(line) = result.runs.iter().find_map(again) {
        text += &screen.note(Tone::Dim, "go on with one:", &line);
    }
    text
}

fn resumed_by(name: &str) -> Option<&str> {
    match name {
        "tune" | "bench" | "reproduce" => Some(name),
        "reproduce-all" => Some("reproduce"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stopped_run_is_told_how_to_go_on() {
        let run = |path: &str, name: &str, end| ListedRun {
            path: path.to_owned(),
            name: Some(name.to_owned()),
            target: Some("/dev/nvme0n1".to_owned()),
            started_unix_s: Some(1_767_225_600),
            end,
            unreadable: None,
        };
        let result = RunsResult {
            schema: q2c_result::runs::SCHEMA.to_owned(),
            folder: "runs".to_owned(),
            runs: vec![
                run("runs/c", "replay", RunEnd::Interrupted),
                run("runs/b", "tune", RunEnd::Crashed),
                run("runs/a", "tune", RunEnd::Complete),
            ],
        };
        let screen = Screen::new(80, false);
        let text = runs(&result, screen);
        for words in [
            "runs/b  tune     /dev/nvme0n1  2026-01-01 00:00 UTC  killed",
            "show one: q2c report runs/a",
            "go on with one: q2c tune --resume runs/b",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
