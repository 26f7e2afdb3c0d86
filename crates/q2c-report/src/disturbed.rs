//! The warnings that say that something disturbed the trials. They limit what a verdict is worth,
//! so they stand right under it.

use q2c_result::Warning;

/// Names of these warnings.
const DISTURBED: [&str; 9] = [
    "busy-at-rest",
    "busy-cpus-unknown",
    "calibration-contradicted",
    "device-drift",
    "device-statistics",
    "others-ran",
    "requests-differ",
    "shared-cpu",
    "stood-still",
];

/// A caveat for each of `warnings` that says so. What to do about it stands with the warning.
pub(crate) fn caveats<'a>(warnings: impl Iterator<Item = &'a Warning>) -> Vec<String> {
    let says = |warning: &&Warning| DISTURBED.contains(&warning.id.as_str());
    let told = |warning: &Warning| {
        let Warning {
            id, found, means, ..
        } = warning;
        format!("{found}; {means} (warning {id})")
    };
    warnings.filter(says).map(told).collect()
}
