//! Prints the CPU time that the harness itself takes per I/O, for every CPU that this process may
//! use. Build it with --release.

#![expect(clippy::print_stdout, reason = "an example talks to the terminal")]

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let clock = q2c_sys::Clock::new();
    let time = clock.into();
    for cpu in q2c_sys::thread::allowed_cpus()? {
        let ns = q2c_engine::floor::measure(&time, cpu)?;
        let bare = q2c_engine::floor::measure_counting(&time, cpu)?;
        let reading = q2c_engine::floor::clock_ns(clock);
        println!(
            "CPU {}: {ns:.1} ns CPU per I/O, recorded; {bare:.1} with nothing kept; a reading of the clock {reading:.1}",
            cpu.0
        );
    }
    Ok(())
}
