//! The command `q2c analyze --live`. It analyses each interval of a capture while it runs, and the
//! whole capture at the end.

use super::{Feed, show};
use crate::args::AnalyzeArgs;
use crate::commands::capture::{Child, Ended, Session, Target, Watch, recording_exit};
use crate::failure::{Fails, Failure};
use crate::output::{print_while_read, say, screen};
use q2c_analyze::Analyzer;
use q2c_capture::Recorder;
use q2c_host::Roots;
use q2c_model::Layer;
use q2c_report::terminal::{live, live_head, live_line};
use q2c_result::Exit;
use q2c_result::live::LiveInterval;
use q2c_trace::Span;
use q2c_trace::recording::Recorded;
use q2c_trace::span::NONE;
use std::collections::BTreeMap;
use std::io::{IsTerminal, stdout};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The table needs at least this many columns.
const NARROWEST: u16 = 60;

/// Captures, shows each interval, and analyses the whole capture at the end.
pub fn run(args: &AnalyzeArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let roots = Roots::live();
    let name = args.trace.to_string_lossy();
    let target = Target::find(&roots, &name)?;
    let capture = args.capture();
    let mut session = Session::begin(&roots, &target, &capture)?;
    let told = target.told(&capture, session.by(), args.command.is_empty());
    session.run(Child::start(&args.command)?);
    let interval = Duration::from_nanos(args.interval.0);
    let mut watch = Live::new(told, interval, Face::of(args));
    watch.begin()?;
    let ended = session.follow(&mut watch, stop)?;
    let captured = session.conclude(&mut watch)?;

    captured.tell_missing();
    let (recording, described) = captured.apart();
    if recording.taken() == 0 {
        say("no I/O completed meanwhile");
    } else {
        // The signal that ended the capture is not to end its analysis, too.
        let go_on = AtomicBool::new(false);
        let path = Path::new(&args.trace);
        let mut feed = Feed::new(path, args.window, &go_on);
        let origin = recording.finish(&mut feed).or_exit_of(recording_exit)?;
        show(args, &feed.result(path, described.meta(origin))?)?;
    }
    Ok(match ended {
        Ended::Asked => Exit::Done,
        Ended::Stopped => Exit::Interrupted,
    })
}

/// How intervals are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Face {
    /// A table that takes the place of the one before.
    Table,
    /// Lines to stdout.
    Lines,
    /// Lines to stderr, because stdout is for the result alone.
    Talk,
}

impl Face {
    fn of(args: &AnalyzeArgs) -> Face {
        match (args.json || args.btt, stdout().is_terminal()) {
            (true, _) => Face::Talk,
            (false, true) if screen().width >= NARROWEST => Face::Table,
            _ => Face::Lines,
        }
    }
}

/// The I/Os of the current interval, and what is on the screen.
struct Live {
    title: String,
    face: Face,
    begun: Instant,
    interval: Duration,
    /// Begin and end of the current interval.
    from: Instant,
    until: Instant,
    analyzer: Analyzer,
    /// I/Os that are not analysed yet.
    some: Vec<Span>,
    completed: u64,
    bytes: u64,
    /// Lines of the table on the screen.
    lines: usize,
}

impl Live {
    /// I/Os that are held before they are analysed at most.
    const SOME: usize = 1 << 16;

    fn new(title: String, interval: Duration, face: Face) -> Live {
        let now = Instant::now();
        Live {
            title,
            face,
            begun: now,
            interval,
            from: now,
            until: now + interval,
            analyzer: Analyzer::new(Layer::Block),
            some: Vec::new(),
            completed: 0,
            bytes: 0,
            lines: 0,
        }
    }

    fn begin(&self) -> Result<bool, Failure> {
        match self.face {
            Face::Table => Ok(true),
            Face::Lines => {
                say(&self.title);
                print_while_read(&live_head())
            }
            Face::Talk => {
                say(&self.title);
                say(&live_head());
                Ok(true)
            }
        }
    }

    fn analyse(&mut self) {
        self.some.sort_by_key(Span::first_ns);
        self.analyzer.add(&self.some);
        self.some.clear();
    }

    /// Ends the current interval, and begins the next one.
    fn finish(&mut self, now: Instant, recorder: &Recorder) -> Result<LiveInterval, Failure> {
        self.analyse();
        let analyzer = std::mem::replace(&mut self.analyzer, Analyzer::new(Layer::Block));
        let result = analyzer.finish(&BTreeMap::new());
        let seconds = (now - self.from).as_secs_f64();
        let missing = recorder.missing().or_exit_of(|e| e.exit())?;
        let interval = LiveInterval {
            end_s: (now - self.begun).as_secs_f64(),
            iops: self.completed as f64 / seconds,
            mib_s: self.bytes as f64 / f64::from(1 << 20) / seconds,
            in_flight_mean: result.in_flight.sum_q2c_ns as f64 / 1e9 / seconds,
            in_flight_now: recorder.in_flight().or_exit_of(|e| e.exit())?,
            stages: result.stages,
            bottleneck: result.bottleneck,
            lost: missing.lost,
            unqueued: missing.unqueued,
        };
        (self.completed, self.bytes, self.from) = (0, 0, now);
        while self.until <= now {
            self.until += self.interval;
        }
        Ok(interval)
    }

    /// Shows an interval. Returns false when the reader has closed the pipe.
    fn show(&mut self, interval: &LiveInterval) -> Result<bool, Failure> {
        match self.face {
            Face::Lines => print_while_read(&live_line(interval)),
            Face::Talk => {
                say(&live_line(interval));
                Ok(true)
            }
            Face::Table => {
                let table = live(&self.title, interval, screen());
                let wipe = match self.lines {
                    0 => String::new(),
                    lines => format!("\x1b[{lines}F\x1b[J"),
                };
                self.lines = table.trim_end().lines().count();
                print_while_read(&(wipe + table.trim_end()))
            }
        }
    }
}

impl Watch for Live {
    fn io(&mut self, io: &Recorded) {
        self.completed += 1;
        self.bytes = self.bytes.saturating_add(io.span.bytes);
        // The analysis asks only whether the I/O was merged, so any id will do.
        let merged_into = if io.lead == 0 { NONE } else { 0 };
        self.some.push(Span {
            merged_into,
            ..io.span
        });
        if self.some.len() >= Self::SOME {
            self.analyse();
        }
    }

    fn look(&mut self, recorder: &Recorder) -> Result<bool, Failure> {
        let now = Instant::now();
        if now < self.until {
            return Ok(true);
        }
        let interval = self.finish(now, recorder)?;
        self.show(&interval)
    }
}
