//! How far predictions were off, in words that terminal and page share.

use crate::label;
use crate::quantity::number;
use q2c_result::tune::{Errors, Fidelity, SizeFidelity, TuneResult};

/// What is compared, over all block sizes, and with whose costs.
pub(crate) fn head(result: &TuneResult) -> String {
    let earlier = match result.calibration.iter().any(|costs| costs.reused) {
        true => "; the calibration was that of an earlier run (--recalibrate makes it anew)",
        false => "",
    };
    compared(&result.fidelity) + earlier
}

fn compared(fidelity: &Fidelity) -> String {
    if fidelity.cells == 0 {
        return "no sleeping cell was measured, so predictions are unchecked".to_owned();
    }
    let drift = number(fidelity.drift_pct);
    let awake = match fidelity.never_slept {
        0 => String::new(),
        n => format!("; {n} more never left the CPU in their sleeps and are not counted"),
    };
    let what = match fidelity.by_block_size.is_empty() {
        // A result of a version that told the errors of all block sizes together.
        true => format!(
            "median over {} sleeping cells, before their own trials corrected the costs: {}",
            fidelity.cells,
            pooled(fidelity)
        ),
        false => "median / 90th percentile / worst sleeping cell, before its own trials corrected \
                  the costs"
            .to_owned(),
    };
    format!("predicted against measured, {what}; the device drifted by {drift} %{awake}")
}

fn pooled(fidelity: &Fidelity) -> String {
    let told = |median: f64, worst: f64, unit: &str| {
        format!("{} {unit} (worst {})", number(median), number(worst))
    };
    format!(
        "IOPS {}, CPU {}, miss rate {}",
        told(
            fidelity.iops_error_pct_median,
            fidelity.iops_error_pct_max,
            "%"
        ),
        told(
            fidelity.cpu_points_median,
            fidelity.cpu_points_max,
            "points"
        ),
        told(
            fidelity.miss_points_median,
            fidelity.miss_points_max,
            "points"
        ),
    )
}

/// What the errors of a block size are over: `4 KiB, 6 cells`.
pub(crate) fn over(of: &SizeFidelity) -> String {
    let cells = if of.cells == 1 { "cell" } else { "cells" };
    format!("{}, {} {cells}", of.bs, of.cells)
}

/// The errors at one block size: `IOPS 0.80 / 2.40 / 2.40 % (hybrid min:70%,1ms), ...`.
pub(crate) fn at(of: &SizeFidelity) -> String {
    let told = |errors: &Errors, unit: &str| {
        format!(
            "{} / {} / {} {unit} ({})",
            number(errors.median),
            number(errors.p90),
            number(errors.max),
            label::method(&errors.worst.0)
        )
    };
    format!(
        "IOPS {}, CPU {}, miss rate {}",
        told(&of.iops_pct, "%"),
        told(&of.cpu_points, "points"),
        told(&of.miss_points, "points"),
    )
}
