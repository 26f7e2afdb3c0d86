//! The command `q2c poll steer`.

use super::{RestoreOutcome, find_disk};
use crate::commands::restore;
use crate::commands::watch::seconds;
use crate::output::{print_line, say, show_as};
use clap::Args;
use q2c_host::block::TargetDisk;
use q2c_host::{Roots, block};
use q2c_model::{Fault, Nanos, OrFault};
use q2c_policy::{Formula, PolicySpec, SpecError, find};
use q2c_result::Exit;
use q2c_result::steer::{SCHEMA, SteerResult};
use q2c_watch::steer::{Daemon, Log, Pulse, SteerSource};
use q2c_workbench::settings::period;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Which device by which rule.
#[derive(Clone, Debug, Args)]
pub(crate) struct SteerArgs {
    /// Device such as /dev/nvme0n1
    pub device: String,
    /// Sleep rule: min, mean, quantile or fixed, such as min:70%,10ms; or a formula over the last
    /// window's statistics, such as '0.7 * min'
    #[arg(long, visible_alias = "policy", value_name = "RULE")]
    pub rule: RuleArg,
    /// Shortest length of the windows of a formula [default: 10ms]; a named rule has its own
    #[arg(long, value_name = "DURATION", value_parser = period)]
    pub period: Option<Nanos>,
    /// End by itself after this time [default: at a signal]
    #[arg(long, value_name = "DURATION", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Write every completion and every value written to this file, a line each
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Folder of the restore journals [default: /var/lib/q2c/restore for root, else the user's
    /// state folder]
    #[arg(long, value_name = "FOLDER")]
    pub journal: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// A rule as typed: a named rule, or a formula.
#[derive(Clone, Debug)]
pub(crate) enum RuleArg {
    /// A rule by its name, such as `min:70%,10ms`.
    Named(PolicySpec),
    /// A formula, such as `0.7 * min`.
    Formula(Formula),
}

impl FromStr for RuleArg {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let text = text.strip_prefix("hybrid:").unwrap_or(text);
        // `min` alone is also a formula; it counts as the rule of that name.
        match text.split(':').next() {
            Some(name) if find(name.trim()).is_some() => text.parse().map(RuleArg::Named),
            _ => text.parse().map(RuleArg::Formula),
        }
    }
}

/// Length of a formula's windows in `q2c poll steer` without `--period`.
const DEFAULT_PERIOD: Nanos = Nanos::from_millis(10);

impl SteerArgs {
    /// The rule as a policy with its parameters. The error says that the formula does not fit its
    /// period, or that a named rule takes no `--period`.
    pub(crate) fn policy(&self) -> Result<PolicySpec, String> {
        match (&self.rule, self.period) {
            (RuleArg::Named(policy), None) => Ok(policy.clone()),
            (RuleArg::Named(policy), Some(_)) => Err(format!(
                "steer by {policy} with --period: that is for formulas; say the rule's own, as in min:70%,10ms"
            )),
            (RuleArg::Formula(formula), period) => {
                let policy =
                    PolicySpec::from_formula(formula.clone(), period.unwrap_or(DEFAULT_PERIOD));
                policy.map_err(|error| error.to_string())
            }
        }
    }
}

/// Time between two lines of output. With each line the daemon also checks that no other program
/// has changed the setting.
const PULSE_INTERVAL: Duration = Duration::from_secs(1);

/// Steers until the requested time is over or a signal arrives. Both are normal ends. Then restores
/// the setting.
pub(crate) fn run(args: &SteerArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let roots = Roots::live();
    let policy = args.policy().or_exit(Exit::Usage)?;
    let target_disk = find_disk(&roots, &args.device)?;
    let journal = restore::folder(args.journal.as_deref())?;
    let log = open_log(args, &policy, &target_disk)?;
    let source = SteerSource::from_policy(&policy)?;
    let mut steering = SteerRun {
        args,
        daemon: Daemon::begin(&roots, &target_disk.disk, source, &journal, log)?,
        sum: Pulse::default(),
        mixed: false,
    };
    let ended = steering.follow(stop);
    // The setting is restored first of all, even after an error.
    let put_back = RestoreOutcome::announce(&steering.daemon.end());
    let sum = steering.sum;
    let result = SteerResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ended: ended?.to_owned(),
        device: block::device(&roots, &target_disk),
        policy: policy.to_string(),
        seconds: sum.length_s,
        completions: sum.completions,
        lost: sum.lost,
        unpolled: sum.unpolled,
        writes: sum.writes,
        last_delay: sum.delay,
        mixed: steering.mixed,
        own_cpu_pct: sum.own_cpu_pct,
        restored: put_back.text.clone(),
    };
    show_as(&result, args.json, |_| pulse_line("all", &sum))?;
    Ok(put_back.exit())
}

fn open_log(args: &SteerArgs, policy: &PolicySpec, target_disk: &TargetDisk) -> Result<Log, Fault> {
    let Some(path) = &args.log else {
        return Ok(Log::default());
    };
    let open = || {
        let file = BufWriter::new(File::create_new(path)?);
        Log::to(Box::new(file), &policy.to_string(), &target_disk.disk.name)
    };
    let fault = |error| format!("make the log {}: {error}; name a new file", path.display());
    open().map_err(|error| Fault::usage(fault(error)))
}

struct SteerRun<'a> {
    args: &'a SteerArgs,
    daemon: Daemon,
    sum: Pulse,
    mixed: bool,
}

impl SteerRun<'_> {
    /// Runs the daemon until the end, and prints a line each [`PULSE_INTERVAL`]. Returns how the
    /// steering ended, as a word of the result: `signal` or `asked`.
    fn follow(&mut self, stop: &AtomicBool) -> Result<&'static str, Fault> {
        let begun = Instant::now();
        let mut last_line = begun;
        let names = ["until", "IOPS", "written", "delay", "own CPU"];
        let head = names.map(|name| format!("{name:>10}")).concat();
        print_line(&head, self.args.json)?;
        loop {
            self.daemon.turn(&mut |_completion| ())?;
            let stopped = stop.load(Ordering::Acquire);
            let seconds = begun.elapsed().as_secs_f64();
            let over = stopped || self.args.seconds.is_some_and(|s| seconds >= s);
            if !over && last_line.elapsed() < PULSE_INTERVAL {
                continue;
            }
            last_line = Instant::now();
            let pulse = self.daemon.pulse()?;
            self.tell(seconds, &pulse)?;
            self.add(&pulse);
            if over {
                return Ok(if stopped { "signal" } else { "asked" });
            }
        }
    }

    fn tell(&mut self, seconds: f64, pulse: &Pulse) -> Result<(), Fault> {
        // The daemon continues when the reader has closed the pipe.
        print_line(
            &pulse_line(&format!("{seconds:.2} s"), pulse),
            self.args.json,
        )?;
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
        let lost = pulse.lost;
        if lost > 0 {
            say(&format!(
                "warning: {lost} completions were not seen: no room"
            ));
        }
        Ok(())
    }

    fn add(&mut self, pulse: &Pulse) {
        let sum = &mut self.sum;
        let length_s = sum.length_s + pulse.length_s;
        let cpu = sum.own_cpu_pct * sum.length_s + pulse.own_cpu_pct * pulse.length_s;
        sum.own_cpu_pct = cpu / length_s;
        sum.length_s = length_s;
        sum.completions += pulse.completions;
        sum.lost += pulse.lost;
        sum.unpolled += pulse.unpolled;
        sum.writes += pulse.writes;
        sum.delay = pulse.delay;
    }
}

fn pulse_line(until: &str, pulse: &Pulse) -> String {
    let iops = format!("{:.0}", pulse.completions as f64 / pulse.length_s);
    let delay = match pulse.delay {
        -1 => "classic".to_owned(),
        us => format!("{us} us"),
    };
    let cpu = format!("{:.1} %", pulse.own_cpu_pct);
    let fields = [until, &iops, &pulse.writes.to_string(), &delay, &cpu];
    fields.map(|field| format!("{field:>10}")).concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_run::arguments::from_words;

    fn steered(options: &str) -> Result<String, String> {
        let args: SteerArgs = from_words(&format!("nvme0n1 {options}")).unwrap();
        args.policy().map(|policy| policy.to_string())
    }

    #[test]
    fn a_steered_formula_has_a_period_and_a_named_rule_its_own() {
        let named = steered("--rule min:70%,10ms").unwrap();
        assert_eq!(named, "min:ratio=70%,period=10ms");
        let ten = steered("--rule 0.7*min").unwrap();
        assert!(ten.contains("10ms"), "{ten}");
        let five = steered("--rule 0.7*min --period 5ms").unwrap();
        assert!(five.contains("5ms"), "{five}");
        let refused = steered("--rule min:70%,10ms --period 5ms").unwrap_err();
        assert!(refused.contains("--period"), "{refused}");
    }
}
