//! The options in force for one job. Options that no reader takes are sorted by name at the end.

use crate::fio::lines::{FioOption, FioSection};
use crate::fio::number::{KbBase, parse_integer};
use q2c_model::Pattern;
use std::collections::BTreeMap;
use std::fmt;

/// A property of a job that an option of q2c can state in place of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Topic {
    /// Interface with its options.
    Engine,
    /// Pattern of offsets and direction.
    Rw,
    /// Block size.
    Bs,
    /// Requests in flight.
    Depth,
    /// Number of threads.
    Jobs,
    /// File or device.
    Target,
    /// Part of the target that is used.
    Size,
    /// Measured time.
    Seconds,
    /// Time before the measured time.
    WarmUp,
    /// Submissions per second.
    Rate,
    /// CPUs that threads are pinned to.
    Cpus,
}

/// A remark on an option that is in the file, or is missing from it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Line of the option, from 1. For a missing option it is the line of the section's head.
    pub line: usize,
    /// The option as written, without its value.
    pub option: String,
    /// The reason why the option is not needed or not possible.
    pub reason: String,
    /// The property that an option of q2c can state to settle the remark; `None` if no option can.
    pub topic: Option<Topic>,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}: {}", self.line, self.option, self.reason)
    }
}

/// Options that change nothing in q2c: the reason, and their names separated by spaces.
const NOT_NEEDED: &[(&str, &str)] = &[
    (
        "q2c reports in its own way",
        "block_error_percentiles bwavgtime clat_percentiles clocksource description disable_bw \
         disable_bw_measurement disable_clat disable_lat disable_slat disk_util error_dump \
         group_reporting gtod_cpu gtod_reduce iopsavgtime lat_percentiles log_avg_msec \
         log_compression log_entries log_hist_coarseness log_hist_msec log_max_value log_offset \
         log_prio log_store_compressed log_unix_epoch name new_group per_job_logs percentile_list \
         significant_figures slat_percentiles stats unified_rw_reporting unit_base write_bw_log \
         write_hist_log write_iops_log write_lat_log",
    ),
    (
        "q2c draws offsets by its own generator (--seed)",
        "allrandrepeat norandommap random_generator randrepeat randseed softrandommap use_os_rand",
    ),
    ("jobs are threads here", "thread"),
    (
        "every trial has its fixed time and all jobs of a point end together",
        "exitall exit_what time_based",
    ),
    (
        "the target exists before, and is opened for direct I/O",
        "allow_file_create create_fsync create_on_open create_serialize fadvise_hint fallocate \
         invalidate openfiles overwrite",
    ),
    (
        "it has no effect while a job waits for at least one completion",
        "userspace_reap",
    ),
    (
        "a wait takes all completions that are there",
        "iodepth_batch_complete_max",
    ),
];

/// Options that change nothing at fio's defaults: these values, and the options' names.
const AT_DEFAULT: &[(&[&str], &str)] = &[
    (
        &["0"],
        "atomic cmdprio_percentage end_fsync fill_device force_async fsync fsync_on_close \
         latency_target max_latency nowait offset offset_increment serialize_overlap thinktime \
         trim_percentage uncached unlink",
    ),
    (&["0", "0s"], "startdelay"),
    (&["0", "none"], "sync verify"),
    (&["none"], "continue_on_error zonemode"),
    (
        &["1"],
        "iodepth_batch iodepth_batch_complete_min loops nrfiles",
    ),
    (&["100"], "hipri_percentage percentage_random"),
    (&["inline"], "io_submit_mode"),
    (&["malloc"], "mem"),
    (&["random"], "random_distribution"),
];

/// Options on the contents of written data. They do not matter if a job only reads.
const CONTENTS: &str = "buffer_compress_chunk buffer_compress_percentage buffer_pattern dedupe_mode \
                        dedupe_percentage refill_buffers scramble_buffers zero_buffers";

/// The options of one job, which readers take one by one, and the remarks on them.
pub(crate) struct Reader<'a> {
    pub section: &'a FioSection,
    entries: BTreeMap<String, FioOption>,
    not_needed: Vec<Remark>,
    refused: Vec<Remark>,
    /// The pattern, once it is known; random reads before.
    pub pattern: Pattern,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(section: &'a FioSection, mut entries: BTreeMap<String, FioOption>) -> Self {
        // `kb_base` is part of every option already.
        entries.remove("kb_base");
        Reader {
            section,
            entries,
            not_needed: Vec::new(),
            refused: Vec::new(),
            pattern: Pattern::RANDREAD,
        }
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<FioOption> {
        self.entries.remove(key)
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        self.entries.get(key)?.value.as_deref()
    }

    /// Takes an on/off option. An option without a value is on; a missing option is off.
    pub(crate) fn flag(&mut self, key: &str) -> bool {
        let Some(entry) = self.take(key) else {
            return false;
        };
        if !matches!(entry.value.as_deref(), None | Some("0" | "1")) {
            self.refuse(&entry, "expected 0 or 1", None);
        }
        matches!(entry.value.as_deref(), None | Some("1"))
    }

    pub(crate) fn count(&mut self, key: &str, most: u64, topic: Topic) -> Option<u64> {
        let entry = self.take(key)?;
        let count = self.number(&entry, entry.text(), topic)?;
        let in_range = Some(count).filter(|count| (1..=most).contains(count));
        let reason = || format!("expected 1 to {most}, found {count}");
        self.ok(&entry, topic, in_range.ok_or_else(reason))
    }

    pub(crate) fn number(&mut self, entry: &FioOption, text: &str, topic: Topic) -> Option<u64> {
        let base = match entry.kb_base.as_deref() {
            None | Some("1024") => Ok(KbBase::K1024),
            Some("1000") => Ok(KbBase::K1000),
            Some(other) => Err(format!(
                "kb_base={other} decides what it means: expected 1000 or 1024"
            )),
        };
        let base = self.ok(entry, topic, base)?;
        let reason = || format!("expected a whole number such as 8, 4k or 64KiB, found `{text}`");
        self.ok(entry, topic, parse_integer(text, base).ok_or_else(reason))
    }

    /// Returns the value of an option. An error becomes a remark that refuses the option.
    pub(crate) fn ok<T>(
        &mut self,
        entry: &FioOption,
        topic: Topic,
        value: Result<T, impl AsRef<str>>,
    ) -> Option<T> {
        let refuse = |reason| self.refuse(entry, AsRef::as_ref(&reason), Some(topic));
        value.map_err(refuse).ok()
    }

    pub(crate) fn refuse(&mut self, entry: &FioOption, reason: &str, topic: Option<Topic>) {
        self.refused.push(remark(entry, reason, topic));
    }

    pub(crate) fn refuse_missing(&mut self, option: &str, reason: &str, topic: Option<Topic>) {
        self.refused.push(Remark {
            line: self.section.line,
            option: format!("[{}] without {option}", self.section.name),
            reason: reason.to_owned(),
            topic,
        });
    }

    pub(crate) fn not_needed(&mut self, entry: &FioOption, reason: &str) {
        self.not_needed.push(remark(entry, reason, None));
    }

    /// Sorts the options that no reader took into those not needed and those refused.
    pub(crate) fn finish(mut self) -> (Vec<Remark>, Vec<Remark>) {
        for entry in std::mem::take(&mut self.entries).into_values() {
            match self.harmless_reason(&entry) {
                Ok(reason) => self.not_needed(&entry, reason),
                Err(reason) => self.refuse(&entry, &reason, None),
            }
        }
        for remarks in [&mut self.not_needed, &mut self.refused] {
            remarks.sort_by_key(|remark| remark.line);
        }
        (self.not_needed, self.refused)
    }

    /// The reason why an option changes nothing. The error is the reason why it is refused.
    fn harmless_reason(&self, entry: &FioOption) -> Result<&'static str, String> {
        let key = entry.key.as_str();
        let is_in = |names: &str| names.split(' ').any(|name| name == key);
        if let Some((reason, _)) = NOT_NEEDED.iter().find(|(_, names)| is_in(names)) {
            return Ok(reason);
        }
        if is_in(CONTENTS) && !self.pattern.writes() {
            return Ok("nothing is written");
        }
        let Some((values, _)) = AT_DEFAULT.iter().find(|(_, names)| is_in(names)) else {
            let reason =
                "q2c bench has no such option, and without it something else would be measured";
            return Err(reason.to_owned());
        };
        let value = entry.value.as_deref();
        let is_default = value.is_some_and(|value| values.contains(&value));
        let reason = || format!("q2c bench has {key}={} only", values[0]);
        is_default.then_some("it is the default").ok_or_else(reason)
    }
}

fn remark(entry: &FioOption, reason: &str, topic: Option<Topic>) -> Remark {
    Remark {
        line: entry.line,
        option: entry.key.clone(),
        reason: reason.to_owned(),
        topic,
    }
}
