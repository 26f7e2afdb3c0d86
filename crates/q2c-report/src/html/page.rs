//! The page of `q2c tune`, and the parts that all pages share.

use super::chart::{self, Chart};
use super::checks::{self, CheckRow};
use super::facts::{self, Fact};
use super::replayed::{Table, Told};
use super::results::{self, Results};
use super::shell::Shell;
use super::summary::{self, Advice, Trust};
use crate::label;
use crate::program;
use crate::quantity;
use crate::said::Said;
use crate::sim_machine;
use askama::Template;
use q2c_model::Bytes;
use q2c_result::Warning;
use q2c_result::program::Program;
use q2c_result::tune::TuneResult;
use std::time::{Duration, UNIX_EPOCH};
use thiserror::Error;

/// The error of a page that could not be made.
#[derive(Debug, Error)]
#[error("fill the report's template: {0}")]
pub struct RenderError(#[from] askama::Error);

/// The part of the page on one block size.
struct Panel {
    /// Block size in bytes, which is part of the elements' ids.
    id: u64,
    /// Block size as shown: `4 KiB`.
    name: String,
    results: Results,
    charts: Vec<Chart>,
    /// Calibration and predictions.
    knowledge: Vec<Chart>,
    calibration: Vec<Fact>,
}

/// The program that the workload copies: worth, program and workload side by side, and what the
/// program did, each with its heading if there is any of it.
struct OfProgram {
    worth: Vec<Told>,
    tables: Vec<Table>,
    told: Vec<Told>,
}

impl OfProgram {
    fn new(of: &Program) -> Self {
        let headed = |title: &str, said: Vec<Said>| match said.is_empty() {
            true => Vec::new(),
            false => vec![Told::new(title, said)],
        };
        let table = program::table(of).map(|table| Table::new("Program and workload", table));
        OfProgram {
            worth: headed("What it is worth to the program", program::worth(of)),
            tables: table.into_iter().collect(),
            told: headed("The program", program::told(of)),
        }
    }
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    result: &'a TuneResult,
    shell: Shell,
    target_name: String,
    /// Kernel and processor, or the simulated machine.
    ran_on: Vec<String>,
    started: String,
    took: String,
    advice: Vec<Advice>,
    program: Option<OfProgram>,
    /// The corrections that the trials made to the calibrated costs, a sentence for each block
    /// size.
    lessons: Vec<String>,
    trust: Vec<Trust>,
    /// Why cells that were to have late time have none.
    no_late_time: Vec<String>,
    fallbacks: Vec<String>,
    warnings: &'a [Warning],
    panels: Vec<Panel>,
    machine: Vec<Fact>,
    target: Vec<Fact>,
    checks: Vec<CheckRow<'a>>,
}

/// Makes the page of `q2c tune`. It has some 0.7 MB, most of which is the chart library.
///
/// # Errors
/// A template could not be filled; its types leave no way for that.
pub fn tune(result: &TuneResult) -> Result<String, RenderError> {
    let sizes = chart::block_sizes(result);
    let panels: Vec<Panel> = sizes.iter().map(|&bs| panel(result, bs)).collect();
    let page = Page {
        shell: Shell::new(
            "tune",
            label::job(result),
            panels
                .iter()
                .flat_map(|panel| panel.charts.iter().chain(&panel.knowledge)),
        ),
        target_name: sim_machine::title(&result.target, &result.machine),
        ran_on: sim_machine::about(&result.machine),
        started: started(result.provenance.started_unix_s),
        took: quantity::seconds(result.provenance.seconds),
        advice: summary::advice(result),
        program: result.program.as_ref().map(OfProgram::new),
        lessons: summary::lessons(result),
        trust: summary::trust(result),
        no_late_time: label::no_late_time(result),
        fallbacks: label::fallbacks(result),
        warnings: &result.warnings,
        panels,
        machine: facts::machine(&result.machine),
        target: facts::target(&result.target),
        checks: checks::rows(&result.doctor),
        result,
    };
    Ok(page.render()?)
}

fn panel(result: &TuneResult, bs: Bytes) -> Panel {
    let calibration = result.calibration.iter().find(|c| c.bs == bs);
    Panel {
        id: bs.0,
        name: bs.to_string(),
        results: results::of(result, bs),
        charts: chart::of_block_size(result, bs),
        knowledge: chart::of_knowledge(result, bs),
        calibration: calibration.map_or_else(Vec::new, facts::calibration),
    }
}

/// The start as `2026-01-01 00:00 UTC`; after the year 9999 as seconds since 1970.
pub(crate) fn started(unix_s: u64) -> String {
    const END_OF_YEAR_9999: u64 = 253_402_300_799;
    if unix_s > END_OF_YEAR_9999 {
        return format!("{unix_s} s after 1970");
    }
    let time =
        humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(unix_s)).to_string();
    format!(
        "{} UTC",
        time.replace('T', " ")
            .trim_end_matches(":00Z")
            .trim_end_matches('Z')
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_is_a_date() {
        assert_eq!(started(1_767_225_600), "2026-01-01 00:00 UTC");
        assert_eq!(started(951_782_399), "2000-02-28 23:59:59 UTC");
        assert_eq!(started(u64::MAX), "18446744073709551615 s after 1970");
    }
}
