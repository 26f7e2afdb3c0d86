//! `q2c tune` in a terminal.

use super::doctor;
use super::said;
use super::screen::{Screen, Tone};
use super::table;
use crate::advice::{self, Words};
use crate::cpu_trials;
use crate::fidelity;
use crate::label;
use crate::program as of_program;
use crate::quantity::{duration, seconds};
use q2c_model::Bytes;
use q2c_result::Check;
use q2c_result::tune::{Lesson, TuneResult, Unavailable};

/// The report of a tune: a table and a recommendation for each block size, then costs, fidelity,
/// effective modes and warnings.
#[must_use]
pub fn tune(result: &TuneResult, screen: Screen) -> String {
    let mut text = head(result, screen);
    for bs in label::block_sizes(result) {
        text += &block_size(result, bs, screen);
    }
    text += &program(result, screen);
    text.push('\n');
    for of_size in &result.lessons {
        text += &lesson(of_size, screen);
    }
    text += &fidelity(result, screen);
    text += &harness_floor(result, screen);
    text += &late_time(result, screen);
    text += &effective_modes(result, screen);
    text += &unavailable(result, screen);
    text += &screen.warnings(&result.warnings);
    // A check that is named as a method says no more than that the method is not available.
    let is_said = |check: &Check| {
        let mut methods = result.unavailable.iter();
        methods.any(|none| none.method.to_string() == check.id)
    };
    text += &doctor::invalid(&result.doctor, is_said, screen);
    text
}

fn head(result: &TuneResult, screen: Screen) -> String {
    let mut text = screen.note(
        Tone::Strong,
        &label::target(&result.target),
        &format!(
            "· {} · took {}",
            label::job(result),
            seconds(result.provenance.seconds)
        ),
    );
    text += &screen.simulated(&result.machine);
    if let Some(words) = cpu_trials::words(&result.target) {
        text += &screen.note(Tone::Dim, "tried from:", &words);
    }
    for job in &result.job.background {
        text += &screen.note(Tone::Dim, "background:", job);
    }
    for limit in &result.job.limits {
        text += &screen.note(Tone::Dim, "limit:", limit);
    }
    if !result.complete {
        text += &screen.note(
            Tone::Bad,
            "incomplete:",
            "the run was stopped early; what is shown is valid, cells are missing",
        );
    }
    text
}

fn block_size(result: &TuneResult, bs: Bytes, screen: Screen) -> String {
    let recommendation = label::recommendation_of(result, bs);
    let title = screen.paint(Tone::Strong, &format!("{bs} {}", result.job.rw));
    let cells = label::cells_of(result, bs);
    let table = match cells.is_empty() {
        true => "nothing was measured at this block size\n".to_owned(),
        false => table::results(&cells, recommendation, screen),
    };
    let Some(recommendation) = recommendation else {
        return format!("\n{title}\n{table}");
    };
    let words = advice::words(result, recommendation);
    let verdict = verdict(&words, screen);
    format!("\n{title}\n{verdict}{table}{}", behind(&words, screen))
}

/// The program that the workload copies: what the answer is worth to it, how like the two are, and
/// what it did.
fn program(result: &TuneResult, screen: Screen) -> String {
    let Some(program) = &result.program else {
        return String::new();
    };
    let mut text = format!("\n{}", said::all(&of_program::worth(program), screen));
    if let Some(table) = of_program::table(program) {
        text += &said::table(&table, screen);
    }
    text + &said::all(&of_program::told(program), screen)
}

/// The verdict and what limits it, which stand before the figures.
fn verdict(words: &Words, screen: Screen) -> String {
    let tone = match words.sure {
        true => Tone::Good,
        false => Tone::Caution,
    };
    let mut text = screen.painted(tone, &format!("▸ {}", words.verdict));
    for sentence in &words.caveats {
        text += &screen.note(Tone::Caution, "caveat:", sentence);
    }
    text
}

/// What the verdict stands on, and how to carry it out.
fn behind(words: &Words, screen: Screen) -> String {
    let mut text = String::new();
    for sentence in &words.evidence {
        text += &screen.note(Tone::Dim, "·", sentence);
    }
    for line in &words.apply {
        text += &screen.step(line);
    }
    text
}

/// The corrections that the trials made to the calibrated costs of a block size.
fn lesson(lesson: &Lesson, screen: Screen) -> String {
    let head = format!("{} costs:", lesson.bs);
    screen.note(Tone::Strong, &head, &crate::advice::lesson(lesson))
}

fn fidelity(result: &TuneResult, screen: Screen) -> String {
    let mut text = screen.note(Tone::Strong, "fidelity:", &fidelity::head(result));
    for size in &result.fidelity.by_block_size {
        text += &screen.note(
            Tone::Strong,
            &format!("  {}:", fidelity::over(size)),
            &fidelity::at(size),
        );
    }
    text
}

fn harness_floor(result: &TuneResult, screen: Screen) -> String {
    let floor = duration(result.harness_floor_ns);
    let bare = duration(result.harness_bare_ns);
    let text = format!(
        "{floor} of CPU per I/O are q2c's own (null engine, recording on; {bare} with nothing kept)"
    );
    screen.note(Tone::Strong, "harness floor:", &text)
}

/// A line for each cell with late time, with its findings below, and one for each reason why there
/// is none.
fn late_time(result: &TuneResult, screen: Screen) -> String {
    let told = label::late(result).into_iter();
    told.map(|(of, findings)| {
        let findings = findings.iter().map(|finding| screen.item(finding));
        screen.note(Tone::Strong, "late time:", &of) + &findings.collect::<String>()
    })
    .collect()
}

/// A line for each cell that ran another method than was asked for, with the counts that prove it.
fn effective_modes(result: &TuneResult, screen: Screen) -> String {
    let told = label::fallbacks(result).into_iter();
    told.map(|told| screen.note(Tone::Bad, "effective mode:", &told))
        .collect()
}

/// A line for each method that is not available on this machine, with the reason.
fn unavailable(result: &TuneResult, screen: Screen) -> String {
    let told = |none: &Unavailable| {
        let text = format!("{}: {}", none.method, none.reason);
        screen.note(Tone::Dim, "not available:", &text)
    };
    result.unavailable.iter().map(told).collect()
}
