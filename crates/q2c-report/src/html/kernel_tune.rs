//! A run of `q2c poll tune-kernel` as a page.

use super::chart;
use super::page::RenderError;
use super::replayed::{self, Content, Facts, Made, Table, Told};
use crate::kernel_tune;
use q2c_result::kernel_tune::KernelTuneResult;

/// Makes the page of a run.
///
/// # Errors
/// The template could not be filled; its types leave no way for that.
pub fn kernel_tune(result: &KernelTuneResult) -> Result<String, RenderError> {
    let verdict = kernel_tune::verdict(result);
    replayed::render(Content {
        command: "poll tune-kernel",
        result: Made {
            version: &result.version,
            schema: &result.schema,
            started_unix_s: result.started_unix_s,
            complete: true,
            warnings: &result.warnings,
        },
        title: result.device.name.clone(),
        about: kernel_tune::about(result),
        seed: result.job.seed,
        notices: Vec::new(),
        verdict: vec![format!("{}: {}", verdict.what, verdict.words)],
        tables: vec![
            Table::new("Methods", kernel_tune::methods(result)),
            Table::new("Calibration in the kernel", kernel_tune::points(result)),
        ],
        told: vec![Told::new("How it was found", kernel_tune::words(result))],
        charts: chart::kernel_tune::all(result),
        facts: vec![Facts::machine(&result.machine)],
    })
}
