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
    format!(
        "predicted against measured, median / 90th percentile / worst sleeping cell, before its \
         own trials corrected the costs; the device drifted by {drift} %{awake}"
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
