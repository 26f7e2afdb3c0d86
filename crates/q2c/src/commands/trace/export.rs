//! The command `q2c trace export`.

use crate::output::say;
use crate::progress::Line;
use clap::Args;
use clap::builder::PossibleValuesParser;
use q2c_model::{Fault, Nanos, OrFault, parse_time};
use q2c_report::counted;
use q2c_result::Exit;
use q2c_trace::TraceReader;
use q2c_trace::export::{self, ExportOptions, Exported, TimelineLanes};
use std::io::{self, ErrorKind, stdout};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// What to export, and as what.
#[derive(Clone, Debug, Args)]
pub(crate) struct ExportArgs {
    /// The q2c trace
    pub trace: PathBuf,
    /// The format to write
    #[arg(long, value_parser = PossibleValuesParser::new(export::FORMATS.iter().map(|f| f.name)))]
    pub format: String,
    /// Only requests that start at this time of the trace or later, such as 1.5s
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub from: Option<Nanos>,
    /// Only requests that start before this time of the trace
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub to: Option<Nanos>,
    /// chrome: lanes by submitting CPU or by hardware queue, cpu or hctx [default: cpu]
    #[arg(long, value_name = "LANES")]
    pub lanes: Option<TimelineLanes>,
    /// The file to make, a name that is not taken yet; - for standard output
    #[arg(short, long, alias = "out", value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

/// Exports the trace, and says on stderr how many requests were written and left out.
pub(crate) fn run(args: &ExportArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let usage = |message: &str| Fault::new(Exit::Usage, message);
    let format = export::by_name(&args.format).ok_or_else(|| usage("find the format"))?;
    if args.lanes.is_some() && format.name != "chrome" {
        let message =
            "use --lanes: expected --format chrome, found another format; leave --lanes out";
        return Err(usage(message));
    }
    let options = ExportOptions {
        window: window(args)?,
        lanes: args.lanes.unwrap_or_default(),
    };
    let path = args.trace.as_path();
    let reader = TraceReader::open(path).or_exit(Exit::Input)?;
    let go_on = || !stop.load(Ordering::Relaxed);
    let line = Line::reading([path]);
    let exported = if args.output.as_path() == Path::new("-") {
        export::trace(format, path, &reader, &options, &go_on, &mut stdout())
    } else {
        export::file(format, path, &reader, &options, &go_on, &args.output)
    };
    drop(line);
    match exported {
        Ok(exported) => say(&export_summary(&exported)),
        // It is no failure when the reader has closed the pipe.
        Err(fault) if is_broken_pipe(&fault) => {}
        Err(fault) => return Err(fault),
    }
    Ok(Exit::Done)
}

fn is_broken_pipe(fault: &Fault) -> bool {
    let system: Option<&io::Error> = fault.cause();
    system.is_some_and(|error| error.kind() == ErrorKind::BrokenPipe)
}

fn window(args: &ExportArgs) -> Result<Option<Range<Nanos>>, Fault> {
    let window = args.from.unwrap_or(Nanos::ZERO)..args.to.unwrap_or(Nanos(u64::MAX));
    if window.is_empty() {
        let message = format!(
            "use --from and --to: expected a time before --to, found {} and {}",
            window.start, window.end
        );
        return Err(Fault::new(Exit::Usage, message));
    }
    Ok((args.from.is_some() || args.to.is_some()).then_some(window))
}

fn export_summary(exported: &Exported) -> String {
    let left_out = exported.left_out.iter();
    let left_out = left_out.map(|(reason, n)| format!(", {n} left out: {reason}"));
    let left_out: String = left_out.collect();
    let requests = counted(exported.written, "request");
    format!("{requests} exported{left_out}")
}
