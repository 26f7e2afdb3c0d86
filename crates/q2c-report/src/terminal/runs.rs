//! `q2c runs` in a terminal.

use super::screen::{Screen, Tone};
use super::table::{TerminalColumn, TerminalField, TerminalTable};
use crate::html::started;
use q2c_result::runs::{ListedRun, RunEnd, RunsResult};

/// The table of the runs, the latest first, and how to continue one.
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
        let (word, tone) = state_text(run.end);
        let facts = [&run.name, &run.target, &run.started_unix_s.map(started)];
        let facts = facts.map(|fact| fact.as_deref().unwrap_or("-").into());
        let fields = std::iter::once(TerminalField::from(&run.path)).chain(facts);
        table.add(fields.chain([TerminalField::new(tone, word)]));
    }
    let mut text = table.text(screen);
    for run in &result.runs {
        if let Some(reason) = &run.unreadable {
            text += &screen.note(Tone::Bad, &format!("{}:", run.path), reason);
        }
    }
    text + &next_steps(result, screen)
}

fn state_text(end: RunEnd) -> (&'static str, Tone) {
    match end {
        RunEnd::Running => ("running", Tone::Plain),
        RunEnd::Complete => ("complete", Tone::Good),
        RunEnd::Interrupted => ("stopped", Tone::Caution),
        RunEnd::Crashed => ("killed", Tone::Caution),
        RunEnd::Unreadable => ("unreadable", Tone::Bad),
    }
}

fn next_steps(result: &RunsResult, screen: Screen) -> String {
    let complete = result.runs.iter().find(|run| run.end == RunEnd::Complete);
    let shown = complete.map(|run| format!("q2c report {}", run.path));
    let resume = result.runs.iter().find_map(|run: &ListedRun| {
        let command = match run.name.as_deref()? {
            name @ ("tune" | "bench" | "reproduce") => name,
            "reproduce-all" => "reproduce",
            _ => return None,
        };
        let is_stopped = matches!(run.end, RunEnd::Interrupted | RunEnd::Crashed);
        is_stopped.then(|| format!("q2c {command} --resume {}", run.path))
    });
    let lines = [("show one:", shown), ("go on with one:", resume)].into_iter();
    let notes = lines.filter_map(|(head, line)| Some(screen.note(Tone::Dim, head, &line?)));
    notes.collect()
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
        let text = runs(&result, Screen::new(80, false));
        for words in [
            "runs/b  tune     /dev/nvme0n1  2026-01-01 00:00 UTC  killed",
            "show one: q2c report runs/a",
            "go on with one: q2c tune --resume runs/b",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
