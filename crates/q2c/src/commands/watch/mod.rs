//! The command `q2c poll watch`.

mod columns;
mod display;
mod draw;
mod keys;
mod state;

pub(crate) use display::give_back_the_screen;

use crate::args::WatchArgs;
use crate::output::{print, say, screen};
use crate::stream::{MetricsStream, listen, print_summary};
use crate::workbench::{open_new_without_rest, tell_place};
use display::WatchDisplay;
use draw::Head;
use keys::Action;
use q2c_model::{Bytes, Fault, Nanos, OrFault};
use q2c_report::Reported;
use q2c_report::prometheus::WatchMetrics;
use q2c_result::Exit;
use q2c_result::late::{LateWatch, Unseen};
use q2c_result::watch::{LINE_SCHEMA, SCHEMA, WatchJob, WatchResult};
use q2c_watch::endpoint::Endpoint;
use q2c_watch::{Watch, WatchEnd, WatchEvent, WatchPlan};
use q2c_workbench::late::LateCapture;
use q2c_workbench::workbench::Workbench;
use q2c_workbench::workload::Workload;
use state::{WatchOrder, WatchState};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_millis(40);

pub(crate) fn run(args: &WatchArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let bs = args.block_size().or_exit(Exit::Usage)?;
    let methods = args.methods().or_exit(Exit::Usage)?;
    let endpoint = listen(args.metrics.prometheus)?;
    let bench = open_new_without_rest("poll watch", &args.workload, args.jobs.jobs, stop)?;
    tell_place(&bench);
    let stream = stream(args, &bench, endpoint)?;
    let first = methods[0].clone();
    let mut watcher = WatchSession {
        args,
        state: WatchState::new(methods, !args.workload.background_jobs().is_empty()),
        head: head(args, bs, &bench),
        display: WatchDisplay::open(args.plain, args.workload.run.json)?,
        stream,
    };
    let (workload, capture) = with_capture(&bench.workload, args.parts);
    let (capture, none) = match capture {
        Some(Err(unseen)) => (None, Some(LateWatch::Unseen(unseen))),
        Some(Ok(capture)) => (Some(capture), None),
        None => (None, None),
    };
    let plan = WatchPlan {
        bs,
        first: &first,
        interval: args.interval,
        seed: args.workload.run.seed,
        capture,
    };
    let follow = |watch: &mut Watch<'_, '_>| watcher.follow(watch);
    let (left, mut end) =
        q2c_watch::watch(&workload, plan, stop, follow).or_exit(Exit::Environment)?;
    let WatchSession { state, display, .. } = watcher;
    // The terminal is given back before anything is printed.
    drop(display);
    let late = end.late.take().or(none);
    conclude(
        args,
        &bench,
        state,
        late,
        WatchOutcome::from_end(left?, end),
    )
}

/// The capture beside the workload, or why there is none; `None` when none was asked for.
type WatchCapture = Option<Result<LateCapture, Unseen>>;

/// The workload with a clock that a capture can be set beside, and the capture, if `parts` asks for
/// them. Without a capture the workload stays as it is.
fn with_capture(workload: &Workload, parts: bool) -> (Workload, WatchCapture) {
    let capture = parts.then(|| LateCapture::begin(&workload.site, workload.sampler_cpu));
    let workload = match &capture {
        Some(Ok(_)) => workload.beside_the_kernel(),
        _ => workload.clone(),
    };
    (workload, capture)
}

/// What is handed over of each interval beside the screen or the lines. Metrics are served from the
/// CPU from which the lanes are listened to, since on another one they might take time of a lane.
fn stream(
    args: &WatchArgs,
    bench: &Workbench,
    endpoint: Option<Endpoint>,
) -> Result<MetricsStream<WatchMetrics>, Fault> {
    let device = bench.target.path.as_str();
    let schema = args.workload.run.json.then_some(LINE_SCHEMA);
    let cpu = bench.workload.sampler_cpu;
    // Where that CPU is not to be had, they are served from any.
    let settle = move || {
        if let Some(cpu) = cpu {
            q2c_sys::thread::pin(cpu).ok();
        }
    };
    MetricsStream::open(device, schema, endpoint, WatchMetrics::new(device), settle)
}

fn head(args: &WatchArgs, bs: Bytes, bench: &Workbench) -> Head {
    let cpus = bench.workload.cpus.iter().map(|cpu| cpu.0.to_string());
    let cpus: Vec<String> = cpus.collect();
    Head {
        job: format!(
            "{}: {bs} {}, CPU {}",
            bench.target.path.escape_debug(),
            args.workload.rw,
            cpus.join(", ")
        ),
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

#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    Asked,
    Interrupted,
    /// The workload ended first: by a signal or a fault.
    After,
}

impl WatchSession<'_> {
    fn follow(&mut self, watch: &mut Watch<'_, '_>) -> Result<Left, Fault> {
        self.display.draw(&self.state, &self.head)?;
        loop {
            let mut changed = false;
            match watch.see(PATIENCE) {
                WatchEvent::End => return Ok(Left::After),
                WatchEvent::Nothing => {}
                WatchEvent::Interval(interval) => {
                    self.state.see(&interval);
                    changed = true;
                    let seconds = self.args.seconds;
                    let over = seconds.is_some_and(|s| reached(interval.span.1, s));
                    if !self.tell()? || over {
                        return Ok(Left::Asked);
                    }
                    let every = self.args.every;
                    if every.is_some_and(|period| self.state.is_order_over(period)) {
                        self.act(Action::Method { next: true }, watch)?;
                    }
                }
            }
            for action in self.display.asked()? {
                match action {
                    Action::Quit => return Ok(Left::Asked),
                    Action::Interrupt => return Ok(Left::Interrupted),
                    _ => self.act(action, watch)?,
                }
                changed = true;
            }
            if changed {
                self.display.draw(&self.state, &self.head)?;
            }
        }
    }

    /// Tells the latest interval to whoever wants it. Returns false when the reader of the lines
    /// has closed the pipe.
    fn tell(&mut self) -> Result<bool, Fault> {
        let read = self.display.tell(&self.state)?;
        match self.stream.wants().then(|| self.state.line()).flatten() {
            Some(line) => Ok(self.stream.tell(&line)? && read),
            None => Ok(read),
        }
    }

    fn act(&mut self, action: Action, watch: &mut Watch<'_, '_>) -> Result<(), Fault> {
        let number = match self.state.act(action) {
            None => return Ok(()),
            Some(WatchOrder::Method(method)) => watch.switch(&method),
            Some(WatchOrder::Background(on)) => watch.switch_background(on),
        };
        self.state.ordered(number.or_exit(Exit::Internal)?);
        Ok(())
    }
}

/// Whether a watch of `seconds` is over at `end_ns`. A microsecond may be missing: slices have
/// whole nanoseconds, so the last one may end a few of them early.
fn reached(end_ns: u64, seconds: f64) -> bool {
    end_ns + 1_000 >= Nanos::from_secs_f64(seconds).0
}

enum WatchOutcome {
    Asked,
    Signal,
    Fault(String),
}

impl WatchOutcome {
    fn from_end(left: Left, end: WatchEnd) -> Self {
        match end.fault {
            Some(fault) => WatchOutcome::Fault(fault),
            None if end.stopped || left == Left::Interrupted => WatchOutcome::Signal,
            None => WatchOutcome::Asked,
        }
    }

    fn word(&self) -> String {
        match self {
            WatchOutcome::Asked => "asked".to_owned(),
            WatchOutcome::Signal => "signal".to_owned(),
            WatchOutcome::Fault(fault) => format!("fault: {fault}"),
        }
    }
}

/// Prints the result, if there is an interval, and returns the exit code of how the watch ended.
fn conclude(
    args: &WatchArgs,
    bench: &Workbench,
    state: WatchState,
    late: Option<LateWatch>,
    ended: WatchOutcome,
) -> Result<Exit, Fault> {
    let (methods, intervals, not_kept) = state.end();
    let some = !intervals.is_empty();
    let result = WatchResult {
        schema: SCHEMA.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        ended: ended.word(),
        job: job(args, bench),
        machine: bench.machine.clone(),
        target: bench.target.clone(),
        methods,
        intervals,
        not_kept,
        late,
    };
    if some && args.workload.run.json {
        print_summary(&result)?;
    } else if some {
        print(&format!("\n{}", result.document().text(screen())))?;
    }
    match ended {
        WatchOutcome::Fault(fault) => Err(Fault::new(Exit::Device, fault)),
        WatchOutcome::Signal if some => {
            say("stopped by a signal");
            Ok(Exit::Interrupted)
        }
        WatchOutcome::Signal => {
            let message = "watch: stopped by a signal before the first interval was over";
            Err(Fault::new(Exit::Interrupted, message))
        }
        WatchOutcome::Asked => Ok(Exit::Done),
    }
}

fn job(args: &WatchArgs, bench: &Workbench) -> WatchJob {
    WatchJob {
        rw: args.workload.rw.to_string(),
        bs: args.workload.bs[0],
        cpus: bench.workload.cpus.clone(),
        background: bench
            .workload
            .background
            .iter()
            .map(ToString::to_string)
            .collect(),
        interval_s: args.interval.as_secs_f64(),
        seed: args.workload.run.seed,
    }
}
