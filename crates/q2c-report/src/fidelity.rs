//! How far predictions were off, in words.

use crate::label;
use crate::phrase::{counted, when};
use crate::quantity::number;
use crate::said::Said;
use q2c_result::tune::{Errors, SizeFidelity, TuneResult};

/// What is compared, over all block sizes, and with whose costs.
pub(crate) fn head(result: &TuneResult) -> String {
    let reused = result.calibration.iter().any(|costs| costs.reused);
    let earlier = when(
        reused,
        "; the calibration was that of an earlier run (--recalibrate makes it anew)",
    );
    let fidelity = &result.fidelity;
    if fidelity.cells == 0 {
        return format!("no sleeping cell was measured, so predictions are unchecked{earlier}");
    }
    let drift = number(fidelity.drift_pct);
    let awake = match fidelity.never_slept {
        0 => String::new(),
        n => format!("; {n} more never left the CPU in their sleeps and are not counted"),
    };
    format!(
        "predicted against measured, median / 90th percentile / worst sleeping cell, before its \
         own trials corrected the costs; the device drifted by {drift} %{awake}{earlier}"
    )
}

/// The errors at one block size: `IOPS 0.80 / 2.40 / 2.40 % (hybrid min:70%,1ms), ...`.
pub(crate) fn said(of: &SizeFidelity) -> Said {
    let told = |errors: &Errors, unit: &str| {
        format!(
            "{} / {} / {} {unit} ({})",
            number(errors.median),
            number(errors.p90),
            number(errors.max),
            label::method(&errors.worst.0)
        )
    };
    let words = format!(
        "IOPS {}, CPU {}, miss rate {}",
        told(&of.iops_pct, "%"),
        told(&of.cpu_points, "points"),
        told(&of.miss_points, "points"),
    );
    Said::plain(&format!("{}, {}", of.bs, counted(of.cells, "cell")), words)
}
