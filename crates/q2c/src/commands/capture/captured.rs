//! The outcome of a capture.

use super::Target;
use crate::args::CaptureArgs;
use crate::output::say;
use q2c_capture::{By, Missing};
use q2c_host::{Roots, machine};
use q2c_model::TraceMeta;
use q2c_sys::clock::monotonic_ns;
use q2c_trace::recording::Recording;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::{SystemTime, UNIX_EPOCH};

/// The I/Os of a capture, and their description.
pub struct Captured {
    recording: Recording,
    described: Described,
}

/// The description of a capture, from which the trace's metadata is made.
pub struct Described {
    missing: Missing,
    unix_of_zero: Option<u64>,
    facts: BTreeMap<String, String>,
}

impl Captured {
    pub fn new(recording: Recording, described: Described) -> Captured {
        Captured {
            recording,
            described,
        }
    }

    /// Says on stderr how many I/Os the recording lacks, if it lacks any.
    pub fn tell_missing(&self) {
        let missing = &self.described.missing;
        if missing.lost > 0 {
            let lost = missing.lost;
            say(&format!(
                "{lost} I/Os or events were lost; the trace says why"
            ));
        }
        if missing.unqueued > 0 {
            say(&format!(
                "{} I/Os completed that were not seen queued: in flight when the recording began, or not shown by the kernel",
                missing.unqueued
            ));
        }
    }

    /// The recording and its description, apart.
    pub fn apart(self) -> (Recording, Described) {
        (self.recording, self.described)
    }
}

impl Described {
    /// Describes a capture that ends now. `by` has the way of capturing, and the reason why BPF was
    /// refused, if it was.
    pub fn new(
        roots: &Roots,
        target: &Target,
        args: &CaptureArgs,
        by: (By, Option<String>),
        missing: Missing,
    ) -> Described {
        let machine = machine::read(roots);
        let unproved = &target.target_disk.unproved;
        let facts = [
            ("kernel", Some(machine.kernel)),
            ("cpu_model", machine.cpu_model),
            ("target", Some(target.name.clone())),
            ("disks", Some(target.names())),
            (
                "unproved",
                (!unproved.is_empty()).then(|| unproved.join("; ")),
            ),
            ("capture", Some(by.0.name().to_owned())),
            ("capture.bpf_refused", by.1),
            ("filter", args.filter()),
        ];
        let told = facts
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let mut facts: BTreeMap<String, String> = told.collect();
        facts.extend(missing.facts.clone());
        Described {
            missing,
            unix_of_zero: unix_of_zero(),
            facts,
        }
    }

    /// Adds the command that ran meanwhile, and how it ended.
    pub fn command(&mut self, words: &[OsString], status: Option<String>) {
        let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
        if !words.is_empty() {
            self.facts.insert("command".to_owned(), words.join(" "));
        }
        let status = status.map(|status| ("command_status".to_owned(), status));
        self.facts.extend(status);
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

/// Unix time at which CLOCK_MONOTONIC was zero, ns.
fn unix_of_zero() -> Option<u64> {
    let monotonic = monotonic_ns();
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(unix.as_nanos()).ok()?.checked_sub(monotonic)
}
