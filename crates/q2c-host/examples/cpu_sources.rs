//! Compares the two sources of idle time under known loads. The module documentation of
//! `q2c_host::cpu_time` holds a table of its results.
//!
//! `cargo run -p q2c-host --example cpu_sources -- CPU [SECONDS] [FILE]` pins each load to CPU for
//! SECONDS (5 by default). Run it on an otherwise idle machine. FILE must not exist: it becomes the
//! scratch file for direct reads.
#![expect(clippy::print_stdout, reason = "the table is the result")]

use q2c_host::Roots;
use q2c_host::cpu_time::{BusySource, CpuTimes, TaskTimes};
use q2c_host::target::{Scratch, TargetRequirements, WritePermission, open};
use q2c_model::{Bytes, CpuId, Nanos};
use std::error::Error;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let cpu = CpuId(args.first().ok_or("name a CPU")?.parse()?);
    let seconds = args.get(1).map_or(Ok(5), |s| s.parse())?;
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu.0 as usize);
    rustix::thread::sched_setaffinity(None, &set)?;
    println!("load        wall s  thread s  busy by stat s  busy by cpuidle s    rounds/s");
    row("idle", cpu, seconds, || {
        std::thread::sleep(Duration::from_millis(500))
    })?;
    row("spin", cpu, seconds, std::hint::spin_loop)?;
    row("sleep100us", cpu, seconds, || {
        std::thread::sleep(Duration::from_micros(50))
    })?;
    if let Some(path) = args.get(2) {
        let (_scratch, file) = direct_file(Path::new(path))?;
        let mut memory = vec![0; 8192];
        let start = memory.as_ptr().align_offset(4096);
        let mut at = 0u64;
        row("read4k", cpu, seconds, || {
            at = (at * 5 + 1) % 16384;
            file.read_exact_at(&mut memory[start..start + 4096], at * 4096)
                .expect("the scratch file can be read");
        })?;
    }
    Ok(())
}

fn direct_file(path: &Path) -> Result<(Scratch, File), Box<dyn Error>> {
    let scratch = Scratch::create(path, Bytes(64 << 20), 1, &mut |_written| true)?;
    let wanted = TargetRequirements {
        path: path.to_owned(),
        write: false,
        block: Bytes(4096),
        smallest_block: Bytes(4096),
        blocks: 16384,
    };
    let target = open(&Roots::live(), &wanted, &WritePermission::none())?;
    Ok((scratch, target.file))
}

fn row(name: &str, cpu: CpuId, seconds: u64, mut load: impl FnMut()) -> Result<(), Box<dyn Error>> {
    let roots = Roots::live();
    let (thread, before) = (own_times()?, CpuTimes::read(&roots)?);
    let start = Instant::now();
    let mut rounds = 0u64;
    while start.elapsed() < Duration::from_secs(seconds) {
        load();
        rounds += 1;
    }
    let (after, used) = (CpuTimes::read(&roots)?, own_times()?.since(&thread));
    let busy = after
        .busy_since_by(&before, BusySource::ProcStat)
        .ok_or("no /proc/stat")?;
    let mut cpus = busy.cpus.iter();
    let of_cpu = cpus.find(|c| c.cpu == cpu).ok_or("no such CPU")?;
    let seconds = Nanos::as_secs_f64;
    println!(
        "{name:<10} {:>7.3} {:>9.3} {:>15.3} {:>18} {:>11.0}",
        seconds(busy.window),
        seconds(used.cpu),
        seconds(of_cpu.busy),
        of_cpu
            .other
            .map_or("-".into(), |n| format!("{:.3}", seconds(n))),
        rounds as f64 / seconds(busy.window),
    );
    Ok(())
}

fn own_times() -> Result<TaskTimes, Box<dyn Error>> {
    let tid = rustix::thread::gettid().as_raw_nonzero();
    let path = format!("/proc/self/task/{tid}");
    Ok(TaskTimes::read(Path::new(&path)).ok_or("no schedstat")?)
}
