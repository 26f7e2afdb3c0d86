//! The command `q2c analyze --live`. It analyses each interval of a capture while it runs, and the
//! whole capture at the end.

use super::AnalyzeArgs;
use super::show;
use crate::commands::capture::{
    CaptureEnd, CaptureWatcher, Child, FinishedCapture, RunningCapture,
};
use crate::output::{NewFile, height, print_while_read, say, screen};
use crate::stream::{MetricsStream, listen};
use q2c_analyze::{LiveAnalysis, RecorderCounts, RecordingAnalysis};
use q2c_capture::{CaptureTarget, Missing, Recorder};
use q2c_host::Roots;
use q2c_host::signals::Orderly;
use q2c_model::{Fault, OrFault};
use q2c_report::prometheus::LiveMetrics;
use q2c_report::terminal::{LiveView, live, live_head, live_line};
use q2c_result::Exit;
use q2c_result::live::{LiveInterval, SCHEMA};
use q2c_trace::recording::Recorded;
use std::collections::VecDeque;
use std::io::{IsTerminal, stdout};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// The view needs at least this many columns.
const NARROWEST: u16 = 60;
/// Intervals kept for the history of the view: more than any terminal has columns for.
const KEPT: usize = 600;

/// Captures, shows each interval, and analyses the whole capture at the end. `page` is the file for
/// the page, if there is to be one.
pub(crate) fn run(
    args: &AnalyzeArgs,
    page: Option<NewFile>,
    stop: &AtomicBool,
) -> Result<Exit, Fault> {
    let roots = Roots::live();
    let name = args.trace.to_string_lossy();
    let target = CaptureTarget::find(&roots, &name).or_exit(Exit::Target)?;
    let capture = args.capture.of_ops(args.recording.op);
    let endpoint = listen(args.metrics.prometheus)?;
    // What was captured when a signal comes is analysed.
    let _orderly = Orderly::begin();
    let mut session = RunningCapture::begin(&roots, &target, &capture)?;
    let title = session.message(args.command.is_empty());
    session.run(Child::start(&args.command)?);
    let interval = Duration::from_nanos(args.interval.0);
    let names = target.disks().iter().map(|disk| disk.name.as_str());
    let device = names.collect::<Vec<_>>().join(",");
    let (schema, metrics) = (args.json.then_some(SCHEMA), LiveMetrics::new(&device));
    let mut watch = LiveDisplay {
        title,
        face: Face::choose(args),
        begun: Instant::now(),
        analysis: LiveAnalysis::new(interval),
        history: VecDeque::new(),
        lines: 0,
        stream: MetricsStream::open(&device, schema, endpoint, metrics, || {})?,
    };
    watch.begin()?;
    let (ended, captured) = session.finish(&mut watch, stop)?;

    captured.tell_missing();
    let FinishedCapture {
        recording,
        description,
    } = captured;
    if recording.taken() == 0 {
        say("no I/O completed meanwhile");
    } else {
        // The signal that ended the capture is not to end its analysis, too.
        let go_on = AtomicBool::new(false);
        let mut analysis = RecordingAnalysis::new(&args.trace, args.window(), &go_on);
        let origin = recording.finish(&mut analysis)?;
        let result = analysis.finish(description.meta(origin));
        show(args, page, &result?)?;
    }
    Ok(match ended {
        CaptureEnd::Asked => Exit::Done,
        CaptureEnd::Stopped => Exit::Interrupted,
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Face {
    View,
    Lines,
    /// Lines to stderr, because stdout is for the result alone.
    Talk,
}

impl Face {
    fn choose(args: &AnalyzeArgs) -> Face {
        match (args.json || args.btt, stdout().is_terminal()) {
            (true, _) => Face::Talk,
            (false, true) if screen().width >= NARROWEST => Face::View,
            _ => Face::Lines,
        }
    }
}

struct LiveDisplay {
    title: String,
    face: Face,
    begun: Instant,
    analysis: LiveAnalysis,
    history: VecDeque<LiveInterval>,
    /// Lines of the view on the screen.
    lines: usize,
    stream: MetricsStream<LiveMetrics>,
}

impl LiveDisplay {
    fn begin(&self) -> Result<bool, Fault> {
        if self.face != Face::View {
            say(&self.title);
        }
        match self.face {
            Face::Lines => return print_while_read(&live_head()),
            Face::Talk => say(&live_head()),
            Face::View => {}
        }
        Ok(true)
    }

    fn show(&mut self, interval: LiveInterval) -> Result<bool, Fault> {
        let read = self.stream.tell(&interval)?;
        match self.face {
            Face::Lines => print_while_read(&live_line(&interval)),
            Face::Talk => {
                say(&live_line(&interval));
                Ok(read)
            }
            Face::View => self.draw(interval),
        }
    }

    fn draw(&mut self, interval: LiveInterval) -> Result<bool, Fault> {
        if self.history.len() == KEPT {
            self.history.pop_front();
        }
        self.history.push_back(interval);
        let view = LiveView {
            title: &self.title,
            intervals: self.history.make_contiguous(),
        };
        let view = live(&view, screen(), height());
        let wipe = match self.lines {
            0 => String::new(),
            lines => format!("\x1b[{lines}F\x1b[J"),
        };
        self.lines = view.trim_end().lines().count();
        print_while_read(&(wipe + view.trim_end()))
    }
}

impl CaptureWatcher for LiveDisplay {
    fn io(&mut self, io: &Recorded) {
        self.analysis.take(io);
    }

    fn look(&mut self, recorder: &Recorder) -> Result<bool, Fault> {
        let now = self.begun.elapsed();
        if !self.analysis.is_due(now) {
            return Ok(true);
        }
        let Missing { lost, unqueued, .. } = recorder.missing()?;
        let counts = RecorderCounts {
            in_flight: recorder.in_flight()?,
            lost,
            unqueued,
        };
        let interval = self.analysis.end_interval(now, counts);
        self.show(interval)
    }
}
