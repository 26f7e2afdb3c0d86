//! Describes a recording for the metadata of its trace.

use crate::{CaptureTarget, Missing, Recorder};
use q2c_host::block::{Disk, hardware_queues, show_hardware_queues};
use q2c_host::{Roots, machine};
use q2c_model::{TraceMeta, facts};
use q2c_sys::clock::kernel_ns;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

/// The description of a recording, from which the trace's metadata is made.
#[derive(Clone, Debug)]
pub struct Description {
    missing: Missing,
    /// Unix time at which CLOCK_MONOTONIC was zero, ns.
    unix_of_zero: Option<u64>,
    facts: BTreeMap<String, String>,
}

impl Description {
    /// Describes a recording that ends now. `filter` says in words which I/Os were wanted; it is
    /// `None` when all were. `missing` says what the recording lacks.
    pub fn new(
        roots: &Roots,
        target: &CaptureTarget,
        filter: Option<String>,
        recorder: &Recorder,
        missing: Missing,
    ) -> Self {
        let machine = machine::read(roots);
        let unproved = target.target_disks.iter().flat_map(|disk| &disk.unproved);
        let unproved: Vec<&str> = unproved.map(String::as_str).collect();
        let unproved = (!unproved.is_empty()).then(|| unproved.join("; "));
        let refused = recorder.bpf_refusal().map(ToString::to_string);
        let mut facts: BTreeMap<String, String> = [
            ("kernel", Some(machine.kernel)),
            ("cpu_model", machine.cpu_model),
            ("target", Some(target.name.clone())),
            ("disks", Some(target.names())),
            ("unproved", unproved),
            ("capture", Some(recorder.captured_by().name().to_owned())),
            ("capture.bpf_refused", refused),
            ("filter", filter),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect();
        facts.extend(missing.facts.clone());
        facts.extend(target.disks().iter().flat_map(queue_facts));
        let unix_of_zero = unix_of_zero();
        Description {
            missing,
            unix_of_zero,
            facts,
        }
    }

    /// Everything that the recording lacks.
    pub fn missing(&self) -> &Missing {
        &self.missing
    }

    /// Adds the command that ran meanwhile, and how it ended, in words.
    pub fn command(&mut self, words: &[OsString], status: Option<String>) {
        let arguments: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        if !arguments.is_empty() {
            self.facts.insert("command".to_owned(), arguments.join(" "));
        }
        let status = status.map(|status| ("command_status".to_owned(), status));
        self.facts.extend(status);
    }

    /// Notes how many of the I/Os are of the command and its children, as far as they could be
    /// distinguished.
    pub fn ios_of_command(&mut self, ios: u64) {
        self.facts.insert("command_ios".to_owned(), ios.to_string());
    }

    /// The metadata of a trace whose first I/O began at `origin`, ns of CLOCK_MONOTONIC.
    pub fn meta(self, origin: Option<u64>) -> TraceMeta {
        let zero = self.unix_of_zero.zip(origin);
        TraceMeta {
            start_unix_ns: zero.map(|(zero, origin)| zero + origin),
            clock: "CLOCK_MONOTONIC".to_owned(),
            source: "q2c trace record".to_owned(),
            source_version: env!("CARGO_PKG_VERSION").to_owned(),
            file: None,
            lost: self.missing.lost,
            unmatched: self.missing.reasons,
            facts: self.facts,
        }
    }
}

/// The facts of a disk's queues as a trace keeps them, as far as sysfs shows them: the map from
/// CPUs to hardware queues, and the setting of the kernel's own hybrid polling.
pub fn queue_facts(disk: &Disk) -> impl Iterator<Item = (String, String)> + use<> {
    let map = hardware_queues(disk).map(|queues| show_hardware_queues(&queues));
    let delay = fs::read_to_string(disk.dir.join("queue/io_poll_delay")).ok();
    let delay = delay.map(|text| text.trim().to_owned());
    let map = map.map(|map| (facts::queue_map(disk.dev), map));
    let delay = delay.map(|delay| (facts::poll_delay(disk.dev), delay));
    map.into_iter().chain(delay)
}

fn unix_of_zero() -> Option<u64> {
    let monotonic = kernel_ns();
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(unix.as_nanos()).ok()?.checked_sub(monotonic)
}
