//! Writes the page of a result of the tests:
//!
//! ```text
//! cargo run -p q2c-report --example fixture_report -- report.html [RESULT]
//! ```
//!
//! `RESULT` is `hostile`, `replay`, `saturated`, `outstanding`, `compare`, `published` or
//! `over-jobs`.

#[path = "../tests/fixture/mod.rs"]
mod fixture;
#[path = "../tests/fixture/replay.rs"]
mod replay_fixture;
#[path = "../tests/fixture/tune_jobs.rs"]
mod tune_jobs_fixture;

use q2c_report::html;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name the file to write")?;
    let page = match arguments.next().as_deref() {
        Some("hostile") => html::tune(&fixture::hostile())?,
        Some("replay") => html::replay(&replay_fixture::timed())?,
        Some("saturated") => html::replay(&replay_fixture::saturated())?,
        Some("outstanding") => html::replay(&replay_fixture::outstanding())?,
        Some("compare") => html::compare(&replay_fixture::compare())?,
        Some("published") => html::compare(&replay_fixture::published())?,
        Some("over-jobs") => html::tune_jobs(&tune_jobs_fixture::over_jobs(&fixture::realistic()))?,
        _ => html::tune(&fixture::realistic())?,
    };
    std::fs::write(path, page)?;
    Ok(())
}
