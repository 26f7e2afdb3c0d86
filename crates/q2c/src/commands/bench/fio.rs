//! Points for `q2c bench` from a fio job file in the place of flags.

use crate::args::SECONDS;
use crate::failure::{Fails, Failure};
use crate::output::say;
use q2c_bench::asked::Asked;
use q2c_result::Exit;
use std::fmt::Display;
use std::path::Path;

/// Adds to `asked` what the job file asks for and no flag has set. Says on stderr which options of
/// the file change nothing. Returns the bytes of the file.
pub fn fill(asked: &mut Asked, path: &Path) -> Result<Vec<u8>, Failure> {
    let refused = |why: &dyn Display| {
        let why = format!("run the fio job file {}: {why}", path.display());
        Failure::new(Exit::Input, why)
    };
    let text = std::fs::read(path).map_err(|e| refused(&e))?;
    let variable = |name: &str| std::env::var(name).ok();
    let file = q2c_fio::read(&text, &variable).map_err(|e| refused(&e))?;
    asked.fill_from(&file).map_err(|e| refused(&e))?;
    let times = [
        ("runtime", asked.seconds),
        ("ramp_time", asked.warm_up_seconds),
    ];
    for (option, time) in times {
        let wrong = time.filter(|time| *time > 0.0 && !SECONDS.contains(time));
        if let Some(time) = wrong {
            let (least, most) = (SECONDS.start(), SECONDS.end());
            return Err(refused(&format!(
                "{option} is {time} s, and q2c bench has {least} to {most} s"
            )));
        }
    }
    for remark in &file.not_needed {
        say(&format!("{}, {remark}", path.display()));
    }
    Ok(text)
}

/// The part of the target that `size` of a job file asks for, bytes; `None` for all of it. The
/// target has `whole` bytes, and the part must hold `least_blocks` blocks of `largest` bytes.
pub fn span(
    size: Option<q2c_fio::Size>,
    whole: u64,
    largest: u64,
    least_blocks: u64,
) -> Result<Option<u64>, Failure> {
    let span = match size {
        None | Some(q2c_fio::Size::Percent(100)) => return Ok(None),
        Some(q2c_fio::Size::Bytes(bytes)) => bytes.0,
        Some(q2c_fio::Size::Percent(percent)) => {
            (u128::from(whole) * u128::from(percent) / 100) as u64
        }
    };
    let least = least_blocks * largest;
    let fits = (least..=whole).contains(&span).then_some(Some(span));
    let why = format!(
        "use {span} bytes of the target, as size= of the fio job file asks: the target has {whole}, and {least_blocks} of the largest \
         blocks, {least} bytes, must fit"
    );
    fits.ok_or(why).or_exit(Exit::Target)
}
