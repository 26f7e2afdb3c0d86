//! `q2c poll tune-kernel` in a terminal.

use super::said;
use super::screen::{Screen, Tone};
use crate::kernel_tune;
use crate::said::Said;
use q2c_result::kernel_tune::KernelTuneResult;

/// The report of a run.
#[must_use]
pub fn kernel_tune(result: &KernelTuneResult, screen: Screen) -> String {
    let about = format!("· {}", kernel_tune::about(result));
    let mut text = screen.note(Tone::Strong, &result.device.name, &about);
    text += &said::table(&kernel_tune::methods(result), screen);
    text += "\n";
    text += &said::all(&[kernel_tune::verdict(result)], screen);
    text += &said::all(&kernel_tune::words(result), screen);
    text += &said::table(&kernel_tune::points(result), screen);
    let warnings: Vec<Said> = result.warnings.iter().map(Said::warning).collect();
    text + &said::all(&warnings, screen)
}
