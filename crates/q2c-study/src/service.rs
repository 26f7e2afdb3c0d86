//! Reads the service times of a simulated device from a recording.

use super::source::ASSUMED;
use q2c_model::IoRecord;
use q2c_service::{Empirical, EmpiricalBuilder, RecordedTimes};
use q2c_trace::import::{ImportOptions, Input, RecordSink};
use q2c_trace::{Column, Scan, TraceError};
use std::error::Error;

const COLUMNS: [Column; 6] = [
    Column::IssueNs,
    Column::CompleteNs,
    Column::SubmitNs,
    Column::ReapNs,
    Column::Error,
    Column::MergedInto,
];

/// Reads the times of `wanted` from a q2c trace or an importable recording. Where it tells neither
/// operation nor length, requests are reads of 4 KiB; all requests then get its times.
///
/// # Errors
/// The recording cannot be read, or has no times of the wanted kind.
pub fn service_times(wanted: &RecordedTimes) -> Result<Empirical, Box<dyn Error + Send + Sync>> {
    let unit = wanted.unit.as_deref().map(str::parse).transpose()?;
    let mut taken = EmpiricalSink(EmpiricalBuilder::new(wanted.measure));
    let input = Input::recognise(&wanted.path, None)?;
    let options = ImportOptions {
        unit,
        assumed: Some(ASSUMED),
        ..ImportOptions::default()
    };
    let scan = Scan::new().columns(&COLUMNS);
    input.read(&wanted.path, &options, &scan, &mut taken)?;
    Ok(taken.0.finish()?)
}

struct EmpiricalSink(EmpiricalBuilder);

impl RecordSink for EmpiricalSink {
    fn push(&mut self, records: &[IoRecord]) -> Result<(), TraceError> {
        self.0.take(records);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{Bytes, DevId, Direction, Layer, Nanos, Op, Sectors, TraceMeta};
    use q2c_service::{EmpiricalClass, Measure};
    use q2c_trace::TraceWriter;
    use std::path::Path;

    fn wanted(path: &Path, measure: Option<Measure>, unit: Option<&str>) -> RecordedTimes {
        RecordedTimes {
            path: path.to_owned(),
            measure,
            unit: unit.map(str::to_owned),
        }
    }

    fn class(direction: Direction, from: u64, recorded: u64, median: u64) -> EmpiricalClass {
        EmpiricalClass {
            direction,
            from: Sectors(from),
            recorded,
            kept: recorded as usize,
            median: Nanos(median),
        }
    }

    /// Reads of 4 KiB whose D2C is 30 us, and one write of 64 KiB with 90 us; each was queued 5 us
    /// before its hand-over.
    #[test]
    fn a_trace_gives_the_time_from_hand_over_to_completion() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("block.parquet");
        let mut writer = TraceWriter::create(&path, TraceMeta::default()).unwrap();
        for (id, op, bytes, d2c) in [
            (0, Op::Read, 4096, 30_000),
            (1, Op::Write, 65_536, 90_000),
            (2, Op::Read, 4096, 30_000),
        ] {
            let device = DevId::default();
            let mut record = IoRecord::new(id, Layer::Block, device, op, Sectors(0), Bytes(bytes));
            record.queue_ns = Some(Nanos(1_000_000 * id));
            record.issue_ns = Some(Nanos(1_000_000 * id + 5_000));
            record.complete_ns = Some(Nanos(1_000_000 * id + 5_000 + d2c));
            writer.push(&[record]).unwrap();
        }
        writer.finish().unwrap();
        let times = service_times(&wanted(&path, None, None)).unwrap();
        assert_eq!(times.facts().measure, Measure::D2c);
        let classes = [
            class(Direction::Read, 8, 2, 30_000),
            class(Direction::Write, 128, 1, 90_000),
        ];
        assert_eq!(times.facts().classes, classes);
        let none = service_times(&wanted(&path, Some(Measure::U2c), None)).unwrap_err();
        assert!(none.to_string().contains("U2C"), "{none}");
    }

    #[test]
    fn a_list_of_latencies_needs_its_unit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list.txt");
        std::fs::write(&path, "31.2\n30.4\n40\n").unwrap();
        let times = service_times(&wanted(&path, None, Some("us"))).unwrap();
        assert_eq!(times.facts().measure, Measure::U2c);
        let classes = [class(Direction::Read, 8, 3, 31_200)];
        assert_eq!(times.facts().classes, classes);
        let none = service_times(&wanted(&path, None, None)).unwrap_err();
        assert!(none.to_string().contains("unit"), "{none}");
        let absent = service_times(&wanted(&folder.path().join("x"), None, None)).unwrap_err();
        assert!(absent.to_string().contains("No such file"), "{absent}");
    }
}
