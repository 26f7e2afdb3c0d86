//! The command `q2c poll steer`.

use super::{PutBack, device};
use crate::args::SteerArgs;
use crate::commands::restore;
use crate::output::{print_json, print_while_read, say};
use q2c_host::block::TargetDisk;
use q2c_host::{Roots, block};
use q2c_model::{Fault, OrFault};
use q2c_policy::PolicySpec;
use q2c_result::Exit;
use q2c_result::steer::{SCHEMA, SteerResult};
use q2c_steer::{Daemon, Log, Pulse};
use std::fs::File;
use std::io::BufWriter;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time between two lines of output. With each line the daemon also looks whether the setting is
/// still its own.
const PULSE: Duration = Duration::from_secs(1);

/// Steers until the time asked for is over or a signal comes. Both are normal ends. Then puts the
/// setting back.
pub fn run(args: &SteerArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let roots = Roots::live();
    let policy = args.policy().or_exit(Exit::Usage)?;
    let target_disk = device(&roots, &args.device)?;
    let journal = restore::folder(args.journal.as_deref())?;
    let log = open_log(args, &policy, &target_disk)?;
    let daemon = Daemon::begin(&roots, &target_disk.disk, &policy, &journal, log);
    let mut steering = SteerRun {
        args,
        daemon: daemon?,
        sum: Pulse::default(),
        mixed: false,
    };
    let followed = steering.follow(stop);
    // The setting is put back before anything else, also after an error.
    let SteerRun {
        daemon, sum, mixed, ..
    } = steering;
    let put_back = PutBack::told(&daemon.end());
    let ended = followed?;
    let result = SteerResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ended: ended.to_owned(),
        device: block::device(&roots, &target_disk),
        policy: policy.to_string(),
        seconds: sum.length_s,
        completions: sum.completions,
        lost: sum.lost,
        unpolled: sum.unpolled,
        writes: sum.writes,
        last_delay: sum.delay,
        mixed,
        own_cpu_pct: sum.own_cpu_pct,
        restored: put_back.words.clone(),
    };
    match args.json {
        true => print_json(&result)?,
        false => print_while_read(&line("all", &sum)).map(drop)?,
    }
    Ok(put_back.exit())
}

fn open_log(args: &SteerArgs, policy: &PolicySpec, target_disk: &TargetDisk) -> Result<Log, Fault> {
    let Some(path) = &args.log else {
        return Ok(Log::none());
    };
    let open = || {
        let file = BufWriter::new(File::create_new(path)?);
        Log::to(Box::new(file), &policy.to_string(), &target_disk.disk.name)
    };
    let fault = |error| format!("make the log {}: {error}; name a new file", path.display());
    open().map_err(|error| Fault::new(Exit::Usage, fault(error)))
}

struct SteerRun<'a> {
    args: &'a SteerArgs,
    daemon: Daemon,
    sum: Pulse,
    mixed: bool,
}

impl SteerRun<'_> {
    /// Turns the daemon until the end, and prints a line each [`PULSE`]. Returns how the steering
    /// ended, as the result says it: `signal` or `asked`.
    fn follow(&mut self, stop: &AtomicBool) -> Result<&'static str, Fault> {
        let begun = Instant::now();
        let mut told = begun;
        self.line(&head())?;
        loop {
            self.daemon.turn()?;
            let stopped = stop.load(Ordering::Acquire);
            let seconds = begun.elapsed().as_secs_f64();
            let over = stopped || self.args.seconds.is_some_and(|s| seconds >= s);
            if !over && told.elapsed() < PULSE {
                continue;
            }
            told = Instant::now();
            let pulse = self.daemon.pulse()?;
            self.tell(seconds, &pulse)?;
            self.add(&pulse);
            if over {
                return Ok(if stopped { "signal" } else { "asked" });
            }
        }
    }

    fn tell(&mut self, seconds: f64, pulse: &Pulse) -> Result<(), Fault> {
        self.line(&line(&format!("{seconds:.2} s"), pulse))?;
        if pulse.is_mixed() && !self.mixed {
            self.mixed = true;
            say(
                "warning: requests of several sizes or directions complete here, and the kernel has one sleep for all: the rule \
                 sees them as one, so a rule on the shortest sleeps too short for the longer ones",
            );
        }
        if pulse.unpolled > 0 && self.sum.unpolled == 0 {
            say(
                "note: requests complete here that nobody polls for; the rule is not made from them",
            );
        }
        if pulse.lost > 0 {
            say(&format!(
                "warning: {} completions were not seen: no room",
                pulse.lost
            ));
        }
        Ok(())
    }

    fn add(&mut self, pulse: &Pulse) {
        let sum = &mut self.sum;
        let all = sum.length_s + pulse.length_s;
        let cpu = sum.own_cpu_pct * sum.length_s + pulse.own_cpu_pct * pulse.length_s;
        sum.own_cpu_pct = cpu / all;
        sum.length_s = all;
        sum.completions += pulse.completions;
        sum.lost += pulse.lost;
        sum.unpolled += pulse.unpolled;
        sum.writes += pulse.writes;
        sum.delay = pulse.delay;
    }

    /// Prints a line: to stderr with `--json`, else to stdout. The daemon goes on when the reader
    /// has closed the pipe.
    fn line(&self, line: &str) -> Result<(), Fault> {
        match self.args.json {
            true => {
                say(line);
                Ok(())
            }
            false => print_while_read(line).map(drop),
        }
    }
}

fn head() -> String {
    let names = ["until", "IOPS", "written", "delay", "own CPU"];
    names.map(|name| format!("{name:>10}")).concat()
}

fn line(until: &str, pulse: &Pulse) -> String {
    let iops = format!("{:.0}", pulse.completions as f64 / pulse.length_s);
    let delay = match pulse.delay {
        -1 => "classic".to_owned(),
        us => format!("{us} us"),
    };
    let cpu = format!("{:.1} %", pulse.own_cpu_pct);
    let fields = [until, &iops, &pulse.writes.to_string(), &delay, &cpu];
    fields.map(|field| format!("{field:>10}")).concat()
}
