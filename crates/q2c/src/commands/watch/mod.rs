//! The command `q2c poll watch`.

mod display;
mod draw;
mod state;

use crate::output::{print, say, screen};
use crate::stream::{MetricsArgs, MetricsStream, listen, print_summary};
use crate::workbench::{open_new, tell_place};
use clap::Args;
use display::{Action, WatchDisplay};
use draw::Head;
use q2c_model::{Bytes, Fault, Nanos, OrFault, parse_seconds_in, parse_time_in};
use q2c_policy::{LaneMethod, SpecError};
use q2c_report::Reported;
use q2c_report::prometheus::WatchMetrics;
use q2c_result::Exit;
use q2c_result::late::LateWatch;
use q2c_result::watch::{LINE_SCHEMA, SCHEMA, WatchJob, WatchResult};
use q2c_watch::endpoint::Endpoint;
use q2c_watch::{Watch, WatchEnd, WatchEvent, WatchPlan};
use q2c_workbench::late::begin_late_capture;
use q2c_workbench::settings::{JobsArg, MachineArgs, MachineName, RuleArgs, WorkloadArgs};
use q2c_workbench::workbench::Workbench;
use state::{WatchOrder, WatchState};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Longest wait for an interval before keys are read again.
const KEY_INTERVAL: Duration = Duration::from_millis(40);

pub(crate) fn run(args: &WatchArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let bs = args.block_size().or_exit(Exit::Usage)?;
    let methods = args.methods().or_exit(Exit::Usage)?;
    let endpoint = listen(args.metrics.prometheus)?;
    let machine = args.machine.clone().map(|name| MachineArgs {
        machine: Some(name),
        real_time: false,
    });
    let jobs = args.jobs.jobs;
    let bench = open_new("poll watch", &args.workload, machine.as_ref(), jobs, stop)?;
    let engine = &bench.workload.engine;
    let mut waits = methods.iter().flat_map(|method| method.build(1));
    if let Some(reason) = waits.find_map(|wait| engine.refuses(1, &wait)) {
        return Err(Fault::usage(format!("watch these methods: {reason}")));
    }
    tell_place(&bench);
    let stream = open_stream(args, &bench, endpoint)?;
    let first = methods[0].clone();
    let mut watcher = WatchSession {
        args,
        state: WatchState::new(methods, !args.workload.background_jobs().is_empty()),
        head: screen_head(args, bs, &bench),
        display: WatchDisplay::open(args.plain || machine.is_some(), args.workload.run.json)?,
        stream,
    };
    let site = &bench.workload.site;
    let sampler_cpu = bench.workload.sampler_cpu;
    let capture = args.parts.then(|| begin_late_capture(site, sampler_cpu));
    let (capture, late_unseen) = match capture.transpose() {
        Ok(capture) => (capture, None),
        Err(reason) => (None, Some(LateWatch::Unseen(reason))),
    };
    // A capture needs the kernel's clock, so that its times can be compared.
    let workload = match &capture {
        Some(_) => bench.workload.with_kernel_clock(),
        None => bench.workload.clone(),
    };
    let plan = WatchPlan {
        bs,
        first_method: &first,
        interval: args.interval,
        seed: args.workload.run.seed,
        capture,
    };
    let follow = |watch: &mut Watch<'_, '_>| watcher.follow(watch);
    let watched = q2c_watch::watch(&workload, plan, stop, follow);
    let (interrupted, mut end) = watched.or_exit(Exit::Environment)?;
    let WatchSession { state, display, .. } = watcher;
    // The terminal is restored before anything is printed.
    drop(display);
    end.stopped |= interrupted?;
    end.late = end.late.take().or(late_unseen);
    conclude(args, &bench, state, end)
}

/// Opens the outputs of each interval beside the display: lines of JSON, and metrics. The sampler's
/// CPU serves the metrics, since on another CPU they might take time from a lane.
fn open_stream(
    args: &WatchArgs,
    bench: &Workbench,
    endpoint: Option<Endpoint>,
) -> Result<MetricsStream<WatchMetrics>, Fault> {
    let device = bench.target.path.as_str();
    let schema = args.workload.run.json.then_some(LINE_SCHEMA);
    let cpu = bench.workload.sampler_cpu;
    // If the sampler's CPU is unavailable, any CPU serves the metrics.
    let pin = move || {
        if let Some(cpu) = cpu {
            q2c_sys::thread::pin(cpu).ok();
        }
    };
    MetricsStream::open(device, schema, endpoint, WatchMetrics::new(device), pin)
}

fn screen_head(args: &WatchArgs, bs: Bytes, bench: &Workbench) -> Head {
    let cpus = bench.workload.cpus.iter().map(|cpu| cpu.0.to_string());
    let cpus = cpus.collect::<Vec<String>>().join(", ");
    let (path, rw) = (bench.target.path.escape_debug(), args.workload.rw);
    Head {
        job: format!("{path}: {bs} {rw}, CPU {cpus}"),
        interval: args.interval,
    }
}

struct WatchSession<'a> {
    args: &'a WatchArgs,
    state: WatchState,
    head: Head,
    display: WatchDisplay,
    stream: MetricsStream<WatchMetrics>,
}

impl WatchSession<'_> {
    /// Follows the watch to its end. Returns true if the user interrupted it.
    fn follow(&mut self, watch: &mut Watch<'_, '_>) -> Result<bool, Fault> {
        self.display.draw(&self.state, &self.head)?;
        loop {
            let mut changed = false;
            match watch.next_event(KEY_INTERVAL) {
                WatchEvent::End => return Ok(false),
                WatchEvent::Nothing => {}
                WatchEvent::Interval(interval) => {
                    self.state.add_interval(&interval);
                    changed = true;
                    let seconds = self.args.seconds;
                    let over = seconds.is_some_and(|s| is_over(interval.span.1, s));
                    if !self.tell()? || over {
                        return Ok(false);
                    }
                    let every = self.args.every;
                    if every.is_some_and(|period| self.state.is_order_over(period)) {
                        self.act(Action::Method { next: true }, watch)?;
                    }
                }
            }
            for action in self.display.actions()? {
                match action {
                    Action::Quit => return Ok(false),
                    Action::Interrupt => return Ok(true),
                    _ => self.act(action, watch)?,
                }
                changed = true;
            }
            if changed {
                self.display.draw(&self.state, &self.head)?;
            }
        }
    }

    /// Passes the latest interval to all outputs. Returns false if the reader of the lines has
    /// closed the pipe.
    fn tell(&mut self) -> Result<bool, Fault> {
        let read = self.display.tell(&self.state)?;
        match self.stream.is_used().then(|| self.state.line()).flatten() {
            Some(line) => Ok(self.stream.tell(&line)? && read),
            None => Ok(read),
        }
    }

    fn act(&mut self, action: Action, watch: &mut Watch<'_, '_>) -> Result<(), Fault> {
        let order_number = match self.state.act(action) {
            None => return Ok(()),
            Some(WatchOrder::Method(method)) => watch.switch(&method),
            Some(WatchOrder::Background(on)) => watch.switch_background(on),
        };
        self.state.note_order(order_number.or_exit(Exit::Internal)?);
        Ok(())
    }
}

/// True if a watch of `seconds` is over at `end_ns`. A watch may be a microsecond too short, since
/// intervals have whole nanoseconds, and the last interval may end a few of them early.
fn is_over(end_ns: u64, seconds: f64) -> bool {
    end_ns + 1_000 >= Nanos::from_secs_f64(seconds).0
}

/// Prints the result if there is an interval. Returns the exit code for the end of the watch.
fn conclude(
    args: &WatchArgs,
    bench: &Workbench,
    state: WatchState,
    end: WatchEnd,
) -> Result<Exit, Fault> {
    let (methods, intervals, not_kept) = state.into_rows();
    let has_intervals = !intervals.is_empty();
    let ended = match &end.fault {
        Some(fault) => format!("fault: {fault}"),
        None => if end.stopped { "signal" } else { "asked" }.to_owned(),
    };
    let background = bench.workload.background.iter();
    let job = WatchJob {
        rw: args.workload.rw.to_string(),
        bs: args.workload.bs[0],
        cpus: bench.workload.cpus.clone(),
        background: background.map(ToString::to_string).collect(),
        interval_s: args.interval.as_secs_f64(),
        seed: args.workload.run.seed,
    };
    let result = WatchResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ended,
        job,
        machine: bench.machine.clone(),
        target: bench.target.clone(),
        methods,
        intervals,
        not_kept,
        late: end.late,
    };
    if has_intervals && args.workload.run.json {
        print_summary(&result)?;
    } else if has_intervals {
        print(&format!("\n{}", result.document().text(screen())))?;
    }
    match end.fault {
        Some(fault) => Err(Fault::new(Exit::Device, fault)),
        None if !end.stopped => Ok(Exit::Done),
        None if has_intervals => {
            say("stopped by a signal");
            Ok(Exit::Interrupted)
        }
        None => Err(Fault::stopped(
            "watch: stopped by a signal before the first interval was over",
        )),
    }
}

/// Watch a workload while it runs.
#[derive(Clone, Debug, Args)]
pub(crate) struct WatchArgs {
    /// Target, job and place.
    #[command(flatten)]
    pub workload: WorkloadArgs,
    /// Number of jobs.
    #[command(flatten)]
    pub jobs: JobsArg,
    /// A method to choose among: poll, interrupt, or a sleep rule such as mean or min:70%,10ms (may
    /// be given again); the first runs at the start [default: poll, interrupt, mean:50%,100ms,
    /// min:70%,10ms, pas]
    #[arg(long, value_name = "METHOD", value_parser = method)]
    pub policy: Vec<LaneMethod>,
    /// Own rules.
    #[command(flatten)]
    pub own: RuleArgs,
    /// Length of an interval
    #[arg(long, value_name = "DURATION", default_value = "1s", value_parser = interval)]
    pub interval: Nanos,
    /// End by itself after this time [default: at a key or a signal]
    #[arg(short = 's', long, value_name = "DURATION", value_parser = seconds)]
    pub seconds: Option<f64>,
    /// Go on to the next method by itself each time this is over
    #[arg(long, value_name = "DURATION", value_parser = switch_period)]
    pub every: Option<Nanos>,
    /// Watch a simulated target in simulated time, on this machine: here (as calibrated), keys such
    /// as cores=120,threads=2, or a TOML file of all keys; prints lines [default: real time]
    #[arg(long, value_name = "MACHINE", requires = "seconds")]
    #[arg(conflicts_with_all = ["kernel", "parts"])]
    pub machine: Option<MachineName>,
    /// Watch the kernel's own hybrid polling of this device instead (Linux 5.8 to 5.18), whoever
    /// uses it: no I/O is done, and the options of a job mean nothing
    #[arg(long, conflicts_with_all = ["policy", "rule", "every", "scratch", "background"])]
    pub kernel: bool,
    /// Split the latency into submission, device, return, oversleep, wake-up and reap, by the block
    /// layer's capture (root); it slows each I/O
    #[arg(long, conflicts_with = "kernel")]
    pub parts: bool,
    /// A line per interval, as where there is no terminal
    #[arg(long)]
    pub plain: bool,
    /// Where metrics are served.
    #[command(flatten)]
    pub metrics: MetricsArgs,
}

impl WatchArgs {
    /// The workload's only block size. Refuses several sizes, and a watch shorter than an interval.
    pub(crate) fn block_size(&self) -> Result<Bytes, String> {
        let [bs] = self.workload.bs[..] else {
            let sizes: Vec<String> = self.workload.bs.iter().map(Bytes::to_string).collect();
            let sizes = sizes.join(", ");
            let message = format!("watch one block size: expected one for --bs, found {sizes}");
            return Err(message);
        };
        let interval = self.interval;
        if self.seconds.is_some_and(|s| s < interval.as_secs_f64()) {
            return Err(format!(
                "watch one interval at least: expected --seconds of {interval} or more, or a shorter --interval"
            ));
        }
        Ok(bs)
    }

    /// The methods to choose from, at least one. The first one runs at the start.
    pub(crate) fn methods(&self) -> Result<Vec<LaneMethod>, SpecError> {
        let own_rules = self.own.policies()?.into_iter().map(LaneMethod::Hybrid);
        let mut methods: Vec<LaneMethod> = self.policy.iter().cloned().chain(own_rules).collect();
        if methods.is_empty() {
            methods = standard_methods();
        }
        Ok(methods)
    }
}

/// The methods without `--policy` and `--rule`: the baselines, Linux's rule, and the best published
/// rules. These are `min`, which has windows, and `pas`, which learns from every completion.
fn standard_methods() -> Vec<LaneMethod> {
    ["poll", "interrupt", "mean:50%,100ms", "min:70%,10ms", "pas"]
        .map(|text| method(text).expect("a known method"))
        .to_vec()
}

/// A method as typed: `poll`, `interrupt`, or a sleep rule with or without `hybrid:`.
fn method(text: &str) -> Result<LaneMethod, SpecError> {
    Ok(match text {
        "poll" => LaneMethod::Poll,
        "interrupt" => LaneMethod::Interrupt,
        _ => LaneMethod::Hybrid(text.strip_prefix("hybrid:").unwrap_or(text).parse()?),
    })
}

fn interval(text: &str) -> Result<Nanos, String> {
    parse_time_in(text, Nanos::from_millis(100)..=Nanos::from_millis(60_000))
}

fn switch_period(text: &str) -> Result<Nanos, String> {
    let ms = Nanos::from_millis;
    parse_time_in(text, ms(100)..=ms(86_400_000))
}

/// Parses the seconds of a watch or of steering: 0.1 to 86,400 (a day).
pub(crate) fn seconds(text: &str) -> Result<f64, String> {
    parse_seconds_in(text, 0.1..=86_400.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_run::arguments::from_words;

    fn watch(options: &str) -> WatchArgs {
        from_words(&format!("null {options}")).unwrap()
    }

    #[test]
    fn without_methods_there_are_five() {
        let args = watch("");
        let methods = args.methods().unwrap();
        assert_eq!(methods.len(), 5);
        assert!(matches!(methods[0], LaneMethod::Poll));
        assert_eq!(args.block_size(), Ok(Bytes(4096)));
    }

    #[test]
    fn own_rules_come_after_named_methods() {
        let args = watch("--rule 0.7*min --policy interrupt --policy hybrid:pas");
        let methods = args.methods().unwrap();
        let [
            interrupt,
            LaneMethod::Hybrid(pas),
            LaneMethod::Hybrid(own_rule),
        ] = &methods[..]
        else {
            panic!("{methods:?}");
        };
        assert!(matches!(interrupt, LaneMethod::Interrupt));
        assert!(pas.to_string().starts_with("pas") && own_rule.to_string().contains("0.7"));
    }

    #[test]
    fn one_block_size_and_one_interval_at_least() {
        assert!(watch("--bs 4k,8k").block_size().is_err());
        assert!(watch("--seconds 1 --interval 2s").block_size().is_err());
        assert!(watch("--seconds 2 --interval 2s").block_size().is_ok());
    }
}
