//! Selects the requests of a trace that are replayed: all, those of a range of its time, or those
//! of one process.

use crate::ReplayError;
use q2c_model::{IoRecord, Nanos};
use q2c_trace::import::IdSet;
use q2c_trace::process::{Process, ProcessFilter};
use q2c_trace::span::NONE;
use q2c_trace::{Column, Scan, Span};
use std::path::Path;

const COLUMNS: [Column; 12] = [
    Column::QueueNs,
    Column::GetrqNs,
    Column::InsertNs,
    Column::IssueNs,
    Column::CompleteNs,
    Column::SubmitNs,
    Column::ReapNs,
    Column::Pid,
    Column::CpuSubmit,
    Column::Hctx,
    Column::Error,
    Column::SubmitEndNs,
];

/// The selection of requests of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplaySelection {
    /// Only requests that start in this range of time after the first request, the end excluded.
    pub range: Option<(Nanos, Nanos)>,
    /// Only requests of this process; `None` for all.
    pub process: Option<Process>,
}

impl ReplaySelection {
    pub(crate) fn scan(&self) -> Scan {
        let mut columns = COLUMNS.to_vec();
        let process = self.process.as_ref().map(Process::column);
        columns.extend(process.filter(|column| !COLUMNS.contains(column)));
        Scan::new().columns(&columns)
    }

    pub(crate) fn filter(&self) -> SelectionFilter {
        SelectionFilter {
            range: self.range,
            process: self.process.as_ref().map(ProcessFilter::new),
            ..SelectionFilter::default()
        }
    }
}

/// Finds the selected requests in one pass over a trace.
#[derive(Default)]
pub(crate) struct SelectionFilter {
    range: Option<(Nanos, Nanos)>,
    process: Option<ProcessFilter>,
    /// The time of the trace's first request, ns.
    origin_ns: Option<u64>,
    /// Number of requests that would be selected but have no time.
    pub(crate) no_times: u64,
    ids: IdSet,
    /// Number of records with the id of an earlier record.
    pub(crate) duplicates: u64,
}

impl SelectionFilter {
    /// Returns the request if it is selected, has a time, and its id did not occur before.
    pub(crate) fn select(&mut self, record: &IoRecord) -> Option<Span> {
        if !self.ids.insert(record.id) {
            self.duplicates += 1;
            return None;
        }
        let process = self.process.as_mut();
        let is_from_process = process.is_none_or(|process| process.accepts(record));
        let span = Span::from_record(record);
        let start_ns = span.first_ns();
        if start_ns == NONE {
            self.no_times += u64::from(is_from_process);
            return None;
        }
        let at_ns = start_ns.saturating_sub(*self.origin_ns.get_or_insert(start_ns));
        let is_in_range = |(from, to): (Nanos, Nanos)| (from.0..to.0).contains(&at_ns);
        (is_from_process && self.range.is_none_or(is_in_range)).then_some(span)
    }

    /// Checks that the trace at `path` has a request of the selected process.
    pub(crate) fn check_process(self, path: &Path) -> Result<(), ReplayError> {
        Ok(self
            .process
            .map_or(Ok(()), |process| process.check_found(path))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Bytes, DevId, Layer, Op, Sectors};

    fn record(id: u64, at: Option<u64>, pid: u32) -> IoRecord {
        let device = DevId::default();
        IoRecord {
            queue_ns: at.map(Nanos),
            pid: Some(pid),
            ..IoRecord::new(id, Layer::Block, device, Op::Read, Sectors(0), Bytes(512))
        }
    }

    /// The recording was joined with itself.
    #[test]
    fn what_was_there_before_is_not_wanted() {
        let mut filter = ReplaySelection::default().filter();
        let ids = [1, 2, 3, 1, 2, 3];
        let wanted = ids.map(|id| filter.select(&record(id, Some(id), 1)).is_some());
        assert_eq!(wanted, [true, true, true, false, false, false]);
        assert_eq!((filter.duplicates, filter.no_times), (3, 0));
    }

    /// The range counts from the trace's first request, whichever process that is of.
    #[test]
    fn part_and_process_are_chosen_together() {
        let selection = ReplaySelection {
            range: Some((Nanos(10), Nanos(30))),
            process: Some(Process::Pid(7)),
        };
        let mut filter = selection.filter();
        let records = [
            record(0, Some(100), 1),
            record(1, Some(105), 7),
            record(2, Some(115), 7),
            record(3, None, 7),
            record(4, Some(120), 1),
            record(5, Some(129), 7),
            record(6, Some(130), 7),
        ];
        let chosen = records.iter().filter_map(|record| filter.select(record));
        let times: Vec<u64> = chosen.map(|span| span.first_ns()).collect();
        assert_eq!(times, [115, 129]);
        assert_eq!(filter.no_times, 1);
        assert!(filter.check_process(Path::new("t")).is_ok());
        let nobody = ReplaySelection {
            process: Some(Process::Pid(8)),
            ..ReplaySelection::default()
        };
        let mut filter = nobody.filter();
        assert!(records.iter().all(|record| filter.select(record).is_none()));
        let error = filter.check_process(Path::new("t")).unwrap_err();
        assert!(matches!(error, ReplayError::Process(_)), "{error}");
    }
}
