//! `q2c bench` in a terminal: a table for each block size, pattern and depth, then the scaling
//! curves, the points left out and the warnings.

use super::doctor;
use super::screen::{Screen, Tone, printable};
use super::table::{self, Column, Field, Table};
use crate::bench::{
    LEGEND, OWN_CPU, RANGE, Section, WAS, curve, failed, head, left_out, not_measured, row,
    sections, trials,
};
use crate::bench_remarks::{remarks, tuned};
use crate::conclusion;
use crate::cpu_trials;
use crate::heat;
use crate::label;
use crate::lead::leads;
use crate::mode::{self, Kept};
use crate::quantity::seconds;
use crate::stages;
use q2c_result::bench::{BenchCell, BenchResult};
use q2c_result::tune::PerCore;

/// The report of a benchmark.
#[must_use]
pub fn bench(result: &BenchResult, screen: Screen) -> String {
    let job = &result.job;
    let mut text = screen.note(
        Tone::Strong,
        &label::target(&result.target),
        &format!(
            "· {} · CPUs {} · took {}",
            trials(result),
            job.cpu_order,
            seconds(result.provenance.seconds)
        ),
    );
    text += &screen.simulated(&result.machine);
    if !result.complete {
        let what = "the run was stopped early; what is shown is valid, points are missing";
        text += &screen.note(Tone::Bad, "incomplete:", what);
    }
    for told in conclusion::of(result) {
        let tone = if told.sure { Tone::Good } else { Tone::Caution };
        text += &screen.note(tone, &format!("▸ {}:", told.of), &told.words);
        text.extend(told.evidence.iter().map(|of| screen.item(of)));
    }
    for sentence in conclusion::caveats(result) {
        text += &screen.note(Tone::Caution, "caveat:", &sentence);
    }
    for section in sections(result) {
        let title = screen.paint(Tone::Strong, &section.title());
        let cells = result.cells.iter().filter(|c| section.holds(&c.point));
        text += &format!("\n{title}\n{}", rows(&head(result), cells, screen));
        for remark in remarks(result, &section) {
            text += &screen.note(Tone::Dim, "·", &printable(&remark));
        }
        text += &stages_of(result, &section, screen);
    }
    for grid in heat::grids(result) {
        let title = screen.paint(Tone::Strong, &format!("KIOPS, {}", grid.title));
        let head = grid.head();
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        text += &format!(
            "\n{title}\n{}",
            table::plain(&head, grid.fields().into_iter(), screen)
        );
    }
    if !result.not_measured.is_empty() {
        let words = not_measured(result);
        text += &screen.note(Tone::Dim, "not measured:", &words);
    }
    text += &screen.legend(LEGEND);
    let modes = result.cells.iter().map(|cell| &cell.effective_mode.was);
    if let Some(words) = mode::legend(modes) {
        text += &screen.legend(&words);
    }
    if stages::any(result) {
        text += &screen.legend(stages::LEGEND);
    }
    text += &qualified(result, screen);
    text
}

/// The stages of a section's points; nothing where they were not asked for.
fn stages_of(result: &BenchResult, section: &Section, screen: Screen) -> String {
    let mut text = String::new();
    let rows = stages::rows(&stages::seen(result, section));
    if !rows.is_empty() {
        let rows = rows.into_iter().map(Vec::from);
        text += &format!("\n{}", table::plain(&stages::HEAD, rows, screen));
    }
    for (what, words) in stages::told(result, section) {
        text += &screen.note(Tone::Plain, &format!("{what}:"), &words);
    }
    text
}

fn rows<'a>(
    head: &[String; 10],
    cells: impl Iterator<Item = &'a BenchCell>,
    screen: Screen,
) -> String {
    let column = |(at, head): (usize, &String)| match at {
        0 | WAS => Column::words(head),
        // What is in every report anyway goes first where there is no room.
        RANGE | OWN_CPU => Column::numbers(head).optional(),
        _ => Column::numbers(head),
    };
    let mut table = Table::new(head.iter().enumerate().map(column));
    for cell in cells {
        let tone = match mode::kept(&cell.effective_mode) {
            _ if cell.iops.trials == 0 || cell.too_good.is_some() => Tone::Bad,
            Kept::Differs => Tone::Caution,
            _ => Tone::Plain,
        };
        let fields = row(cell);
        table.add(fields.iter().enumerate().map(|(column, field)| {
            let tone = if column == WAS { tone } else { Tone::Plain };
            Field::new(tone, field).marked("", if column == 0 { "  " } else { "" })
        }));
    }
    table.text(screen)
}

fn qualified(result: &BenchResult, screen: Screen) -> String {
    let mut text = String::new();
    for line in &result.scaling {
        text += &screen.note(Tone::Strong, "scaling:", &curve(line));
        for suspect in &line.suspects {
            text += &screen.note(Tone::Caution, "  suspect", suspect);
        }
        if !line.suspects.is_empty() || line.collapse.is_some() {
            let missing = line.not_looked_at.join(", ");
            if !missing.is_empty() {
                text += &screen.note(Tone::Dim, "  not looked at:", &missing);
            }
        }
    }
    for lead in leads(result) {
        text += &screen.note(Tone::Strong, "lead:", &printable(&lead));
    }
    if let Some(tuned) = tuned(result) {
        text += &screen.note(Tone::Dim, "tuned:", &printable(&tuned));
    }
    if let Some(words) = by_threads(result) {
        text += &screen.note(Tone::Caution, "KIOPS/core:", &words);
    }
    if let Some(words) = unseen(result) {
        text += &screen.note(Tone::Caution, "busy:", &words);
    }
    for line in failed(result) {
        text += &screen.note(Tone::Bad, "no trial:", &line);
    }
    for line in left_out(result) {
        text += &screen.note(Tone::Dim, "left out:", &printable(&line));
    }
    if let Some(words) = cpu_trials::words(&result.target) {
        text += &screen.note(Tone::Dim, "tried from:", &words);
    }
    let floor = format!(
        "{:.0} ns CPU per I/O on an engine that does nothing, {:.0} with nothing kept",
        result.harness_floor_ns, result.harness_bare_ns
    );
    text += &screen.note(Tone::Dim, "harness:", &floor);
    text += &doctor::invalid(&result.doctor, |_| false, screen);
    text += &screen.warnings(&result.warnings);
    text
}

/// In how many points the busy CPUs are not known; `None` where in none.
fn unseen(result: &BenchResult) -> Option<String> {
    let cells = result.cells.iter().filter(|cell| cell.iops.trials > 0);
    let all = cells.clone().count();
    let unseen = cells.filter(|cell| cell.cpu.busy_s.trials == 0).count();
    (unseen > 0).then(|| {
        format!(
            "in {unseen} of {all} points unknown: the kernel's counters could not be read, or I/Os take so long that jobs \
             ended after them"
        )
    })
}

/// In how many points KIOPS/core divides by the threads' own CPU time; `None` where in none.
fn by_threads(result: &BenchResult) -> Option<String> {
    let cells = result.cells.iter().filter(|cell| cell.iops.trials > 0);
    let all = cells.clone().count();
    let threads = cells.filter(|cell| cell.per_core == PerCore::Threads);
    match threads.count() {
        0 => None,
        n => Some(format!(
            "in {n} of {all} points for each CPU that the jobs' threads took, without interrupts and \
             kernel threads: other work on the machine hid what was busy beyond them"
        )),
    }
}
