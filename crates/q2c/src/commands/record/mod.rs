//! `q2c trace record`.

mod child;
mod place;
mod session;

use super::trace::{info_of, trace_exit};
use crate::args::{RecordArgs, temporary};
use crate::failure::{Fails, Failure};
use crate::output::say;
use child::Child;
use place::Place;
use q2c_capture::block_io::{BlockIo, Lost};
use q2c_host::block::{Disk, Leaf, of_disk_name, of_path};
use q2c_host::{Roots, machine};
use q2c_model::{Bytes, TraceMeta};
use q2c_result::Exit;
use q2c_trace::TraceWriter;
use q2c_trace::recording::{Recording, RecordingError};
use session::{Ended, Session};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

/// Most of the recording that is held in memory unless told otherwise.
const MEMORY_MOST: u64 = 4 << 30;
/// Where the system does not say what is free.
const MEMORY: u64 = 256 << 20;

/// Records, writes the trace, says what it holds.
pub fn run(args: &RecordArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let roots = Roots::live();
    let leaf = leaf(&roots, &args.target)?;
    let disks = disks(&leaf);
    let place = Place::new(args)?;
    let writer = TraceWriter::create(place.trace(), TraceMeta::default());
    let writer = writer.or_exit_of(trace_exit)?;

    let probe = BlockIo::attach(&roots, &disks, &args.wanted()).or_exit_of(|e| e.exit())?;
    let unix_of_zero = unix_of_zero();
    say(&told(args, &leaf, &disks));
    let mut session = Session {
        probe,
        recording: recording(&roots, args),
        child: Child::start(&args.command)?,
    };
    let ended = session.follow(args.seconds, stop)?;
    let (recording, lost, status) = session.conclude()?;

    let mut facts = facts(&roots, args, &leaf, &disks);
    facts.extend(status.map(|status| ("command_status".to_owned(), status)));
    write(recording, writer, &lost, unix_of_zero, facts)?;
    tell_lost(&lost);
    let trace = place.finish()?;
    // A signal ended the recording; reading the trace is not to end at once, too.
    info_of(&trace, args.json, &AtomicBool::new(false))?;
    Ok(match ended {
        Ended::Asked => Exit::Done,
        Ended::Stopped => Exit::Interrupted,
    })
}

/// The disk of a device's path, of a file's file system, or of a kernel name.
fn leaf(roots: &Roots, target: &str) -> Result<Leaf, Failure> {
    let path = Path::new(target);
    let is_name = !target.contains('/') && !path.exists();
    let leaf = match is_name {
        true => of_disk_name(roots, target),
        false => of_path(roots, path),
    };
    leaf.or_exit(Exit::Target)
}

/// The disks whose queues take the requests.
fn disks(leaf: &Leaf) -> Vec<Disk> {
    match leaf.below.is_empty() {
        true => vec![leaf.disk.clone()],
        false => leaf.below.clone(),
    }
}

fn names(disks: &[Disk]) -> String {
    let name = |disk: &Disk| format!("{} ({})", disk.name, disk.dev);
    disks.iter().map(name).collect::<Vec<_>>().join(", ")
}

fn told(args: &RecordArgs, leaf: &Leaf, disks: &[Disk]) -> String {
    let below = match leaf.below.is_empty() {
        true => String::new(),
        false => format!(", below {}", leaf.disk.name),
    };
    let whole = match &leaf.partition {
        Some(partition) => format!(", the whole disk of {partition}"),
        None => String::new(),
    };
    let filter = args
        .filter()
        .map_or(String::new(), |f| format!("; only {f}"));
    let until = match (args.command.is_empty(), args.seconds) {
        (true, None) => "; ctrl-c ends it",
        _ => "",
    };
    format!("recording {}{below}{whole}{filter}{until}", names(disks))
}

fn recording(roots: &Roots, args: &RecordArgs) -> Recording {
    let free = || machine::free_memory(roots).map(|free| free.0 / 4);
    let memory = args.memory.map(|memory| memory.0).or_else(free);
    let memory = memory.unwrap_or(MEMORY).min(MEMORY_MOST);
    let folder = args.spill.clone().unwrap_or_else(temporary);
    Recording::new(Bytes(memory), &folder)
}

/// Unix time at which CLOCK_MONOTONIC was zero, ns.
fn unix_of_zero() -> Option<u64> {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    let monotonic = now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64;
    u64::try_from(unix.as_nanos()).ok()?.checked_sub(monotonic)
}

fn facts(
    roots: &Roots,
    args: &RecordArgs,
    leaf: &Leaf,
    disks: &[Disk],
) -> BTreeMap<String, String> {
    let machine = machine::read(roots);
    let command: Vec<_> = args
        .command
        .iter()
        .map(|word| word.to_string_lossy())
        .collect();
    let facts = [
        ("kernel", Some(machine.kernel)),
        ("cpu_model", machine.cpu_model),
        ("target", Some(args.target.clone())),
        ("disks", Some(names(disks))),
        (
            "unproved",
            (!leaf.unproved.is_empty()).then(|| leaf.unproved.join("; ")),
        ),
        ("capture", Some("bpf".to_owned())),
        ("filter", args.filter()),
        ("command", (!command.is_empty()).then(|| command.join(" "))),
    ];
    let told = facts
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    told.map(|(name, value)| (name.to_owned(), value)).collect()
}

fn write(
    recording: Recording,
    mut writer: TraceWriter,
    lost: &Lost,
    unix_of_zero: Option<u64>,
    mut facts: BTreeMap<String, String>,
) -> Result<(), Failure> {
    let origin = recording.finish(&mut writer).or_exit_of(recording_exit)?;
    facts.extend(lost.facts());
    *writer.meta_mut() = TraceMeta {
        start_unix_ns: unix_of_zero.zip(origin).map(|(zero, origin)| zero + origin),
        clock: "CLOCK_MONOTONIC".to_owned(),
        source: "q2c trace record".to_owned(),
        source_version: env!("CARGO_PKG_VERSION").to_owned(),
        file: None,
        lost: lost.lost(),
        unmatched: lost.reasons(),
        facts,
    };
    writer.finish().or_exit_of(trace_exit)?;
    Ok(())
}

fn tell_lost(lost: &Lost) {
    if lost.lost() > 0 {
        say(&format!(
            "{} I/Os or events were lost; the trace says why",
            lost.lost()
        ));
    }
}

fn recording_exit(error: &RecordingError) -> Exit {
    match error {
        RecordingError::Trace(error) => trace_exit(error),
        RecordingError::Spill { .. } | RecordingError::InFlight => Exit::Environment,
    }
}
