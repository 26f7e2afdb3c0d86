use crate::program::tally::{DirectionTally, InFlightLevels, ProgramLanes};
use q2c_model::{DevId, Direction, IoRecord, Layer, Op, OpFlags};
use q2c_result::program::{ProgramPattern, Submitter};
use q2c_trace::Span;
use q2c_trace::span::NONE;
use std::collections::{BTreeMap, BTreeSet};

/// Most process names that are counted separately. I/Os of further ones count as [`UNNAMED`].
const MAX_NAMES: usize = 4096;
const MAX_LISTED_NAMES: usize = 8;
/// The name of all processes without a counted name.
pub(crate) const UNNAMED: &str = "-";
/// The kernel keeps this many bytes of a name.
const NAME_BYTES: usize = 15;

/// Counts the records so far, which must come in the order of their start times.
#[derive(Default)]
pub(crate) struct PatternCounter<'a> {
    /// Names of the processes whose I/Os count; empty for all.
    processes: &'a [String],
    /// Fields of the result that are counted directly.
    pub pattern: ProgramPattern,
    layer: Option<Layer>,
    first_begin_ns: Option<u64>,
    last_end_ns: u64,
    levels: InFlightLevels,
    reads: DirectionTally,
    writes: DirectionTally,
    lanes: ProgramLanes,
    names: BTreeMap<String, u64>,
    devices: BTreeSet<DevId>,
    /// I/Os of each process that was not requested.
    pub unrequested: BTreeMap<String, u64>,
}

impl<'a> PatternCounter<'a> {
    pub(crate) fn new(processes: &'a [String]) -> Self {
        PatternCounter {
            processes,
            ..PatternCounter::default()
        }
    }

    pub(crate) fn count(&mut self, record: &IoRecord) {
        let span = Span::from_record(record);
        let name = record.comm.as_deref().unwrap_or(UNNAMED);
        let Some(direction) = self.counted_direction(&span, name) else {
            return;
        };
        self.pattern.ios += 1;
        let first = self.first_begin_ns.get_or_insert(span.begin_ns);
        *first = span.begin_ns.min(*first);
        self.last_end_ns = self.last_end_ns.max(span.end_ns);
        count_name(&mut self.names, name);
        self.devices.insert(span.device);
        self.pattern.polled += u64::from(span.flags.contains(OpFlags::POLLED));
        self.pattern.merged += u64::from(span.merged_into != NONE);
        self.levels.add(span.begin_ns, span.end_ns);
        let follows = self.lanes.add(&span, direction);
        match direction {
            Direction::Read => self.reads.add(&span, follows),
            Direction::Write => self.writes.add(&span, follows),
        }
    }

    /// The direction of an I/O that counts; else `None`, after counting why it does not.
    fn counted_direction(&mut self, span: &Span, name: &str) -> Option<Direction> {
        let layer = *self.layer.get_or_insert(span.layer);
        let left_out = &mut self.pattern.left_out;
        let (counter, direction) = match span.op {
            _ if span.layer != layer => (&mut left_out.other_layer, None),
            _ if !is_requested(self.processes, name) => {
                count_name(&mut self.unrequested, name);
                (&mut left_out.other_processes, None)
            }
            Op::Flush | Op::Discard | Op::Other => (&mut left_out.other_operations, None),
            _ if span.begin_ns == NONE || span.end_ns == NONE => (&mut left_out.without_end, None),
            _ if span.error != 0 => (&mut left_out.failed, None),
            _ if span.bytes == 0 => (&mut left_out.empty, None),
            // This I/O counts: no counter of left-out I/Os goes up, whichever stands here.
            op => (&mut left_out.empty, Some(op.direction())),
        };
        *counter += u64::from(direction.is_none());
        direction
    }

    /// Returns the pattern. `has_offsets` is true if the recording has offsets.
    pub(crate) fn finish(self, has_offsets: bool) -> ProgramPattern {
        let kinds = [
            self.reads.finish(Direction::Read, has_offsets),
            self.writes.finish(Direction::Write, has_offsets),
        ];
        let mut kinds: Vec<_> = kinds.into_iter().flatten().collect();
        kinds.sort_by_key(|kind| std::cmp::Reverse(kind.ios));
        let first = self.first_begin_ns.unwrap_or(u64::MAX);
        self.lanes.finish(ProgramPattern {
            layer: self.layer.unwrap_or_default(),
            seconds: self.last_end_ns.saturating_sub(first) as f64 / 1e9,
            in_flight: self.levels.finish(),
            kinds,
            devices: self.devices.len() as u32,
            submitters: most_frequent(&self.names),
            ..self.pattern
        })
    }
}

pub(crate) fn most_frequent(names: &BTreeMap<String, u64>) -> Vec<Submitter> {
    let submitter = |(name, ios): (&String, &u64)| Submitter {
        name: name.clone(),
        ios: *ios,
    };
    let mut submitters: Vec<Submitter> = names.iter().map(submitter).collect();
    submitters.sort_by_key(|submitter| std::cmp::Reverse(submitter.ios));
    submitters.truncate(MAX_LISTED_NAMES);
    submitters
}

fn count_name(names: &mut BTreeMap<String, u64>, name: &str) {
    if let Some(count) = names.get_mut(name) {
        *count += 1;
        return;
    }
    let full = names.len() >= MAX_NAMES;
    let name = if full { UNNAMED } else { name };
    *names.entry(name.to_owned()).or_default() += 1;
}

/// True if the process is a requested one. The kernel cuts names, so a longer requested name is cut
/// as well.
fn is_requested(processes: &[String], name: &str) -> bool {
    let is_name = |requested: &String| {
        let bytes = requested.as_bytes();
        bytes[..bytes.len().min(NAME_BYTES)] == *name.as_bytes()
    };
    processes.is_empty() || processes.iter().any(is_name)
}
