//! The command `q2c trace copy`.

use super::tell;
use crate::progress::Line;
use clap::Args;
use q2c_model::{Fault, Nanos, OrFault, parse_time};
use q2c_result::Exit;
use q2c_trace::{Counting, Scan, TraceReader, TraceWriter};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// What to copy, and what to say of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct CopyArgs {
    /// The q2c trace
    pub trace: PathBuf,
    /// A fact for the description, such as pattern.source=nvme0n1; it replaces one of the same name
    /// (may be given again)
    #[arg(long = "fact", value_name = "NAME=VALUE", value_parser = fact)]
    pub facts: Vec<(String, String)>,
    /// Only requests that start at this time of the trace or later, such as 1.5s
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub from: Option<Nanos>,
    /// Only requests that start before this time of the trace
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub to: Option<Nanos>,
    /// Only so many of them, from the first on
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    pub first: Option<u64>,
    /// The trace to make, a name that is not taken yet
    #[arg(short, long, alias = "out", value_name = "TRACE")]
    pub output: PathBuf,
    /// Print the new trace's description as JSON
    #[arg(long)]
    pub json: bool,
}

fn fact(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("expected NAME=VALUE, found `{text}`")),
    }
}

/// Copies a trace, or a part of it, with the facts asked for in its description.
pub(crate) fn run(args: &CopyArgs, stop: &AtomicBool) -> Result<Exit, Fault> {
    let reader = TraceReader::open(&args.trace).or_exit(Exit::Input)?;
    let mut meta = reader.meta().clone();
    meta.facts.extend(args.facts.iter().cloned());
    let mut writer = TraceWriter::create(&args.output, meta.clone())?;
    let mut counting = Counting::default();
    let line = Line::reading([args.trace.as_path()]);
    let mut left = args.first.unwrap_or(u64::MAX);
    for records in reader.records(&window(args)?).or_exit(Exit::Input)? {
        if stop.load(Ordering::Relaxed) {
            let path = args.trace.display();
            let message = format!("copy trace {path}: stopped by a signal; nothing was kept");
            return Err(Fault::new(Exit::Interrupted, message));
        }
        let mut records = records.or_exit(Exit::Input)?;
        records.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        left -= records.len() as u64;
        counting.add(&records);
        writer.push(&records)?;
        if left == 0 {
            break;
        }
    }
    writer.finish()?;
    drop(line);
    tell(&args.output, &meta, counting.finish(), args.json)
}

fn window(args: &CopyArgs) -> Result<Scan, Fault> {
    let window = args.from.unwrap_or(Nanos::ZERO)..args.to.unwrap_or(Nanos(u64::MAX));
    if window.is_empty() {
        let message = format!(
            "copy trace: expected --from before --to, found {} and {}",
            window.start, window.end
        );
        return Err(Fault::new(Exit::Usage, message));
    }
    Ok(match (args.from, args.to) {
        (None, None) => Scan::new(),
        _ => Scan::new().starting_in(window),
    })
}
