//! The warnings that say that something disturbed the trials. They limit what a verdict is worth,
//! so they stand right under it.

use q2c_result::Warning;

/// A caveat for each of `warnings` that says so. What to do about it stands with the warning.
pub(crate) fn caveats<'a>(warnings: impl Iterator<Item = &'a Warning>) -> Vec<String> {
    let told = |warning: &Warning| {
        let Warning {
            id, found, means, ..
        } = warning;
        format!("{found}; {means} [{id}]")
    };
    warnings
        .filter(|warning| warning.is_of_disturbance())
        .map(told)
        .collect()
}
