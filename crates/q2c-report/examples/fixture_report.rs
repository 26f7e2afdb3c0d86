//! Writes the report of the tests' result: `cargo run -p q2c-report --example fixture_report -- report.html [hostile]`.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().ok_or("name the file to write")?;
    let result = match arguments.next().as_deref() {
        Some("hostile") => fixture::hostile(),
        _ => fixture::realistic(),
    };
    std::fs::write(path, q2c_report::html::tune(&result)?)?;
    Ok(())
}
