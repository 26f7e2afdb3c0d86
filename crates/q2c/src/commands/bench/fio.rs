//! Points for `q2c bench` from a fio job file in the place of flags.

use crate::output::say;
use q2c_bench::BenchSettings;
use q2c_bench::asked::JobFileExtras;
use q2c_model::Fault;
use q2c_result::Exit;
use q2c_run::whole_file;
use std::fmt::Display;
use std::path::Path;

/// Fills the settings that were not typed from the job file. Says on stderr which options of the
/// file change nothing. Returns the bytes of the file, and what it asks for that is no setting.
pub(crate) fn fill(
    settings: &mut BenchSettings,
    path: &Path,
) -> Result<(Vec<u8>, JobFileExtras), Fault> {
    let name = path.display();
    let refused = |reason: &dyn Display| {
        Fault::new(
            Exit::Input,
            format!("run the fio job file {name}: {reason}"),
        )
    };
    let text = whole_file::read_named(path, whole_file::BY_HAND).map_err(|e| refused(&e))?;
    let variable = |name: &str| std::env::var(name).ok();
    let file = q2c_bench::fio::read(&text, &variable).map_err(|e| refused(&e))?;
    let extras = settings.fill_from(&file).map_err(|e| refused(&e))?;
    settings.check_times().map_err(|e| refused(&e))?;
    for remark in &file.not_needed {
        say(&format!("{name}, {remark}"));
    }
    Ok((text, extras))
}
