//! Decodes the records of the tracepoints to the events that blktrace's matcher takes.

use super::format::{Format, TracefsField};
use q2c_trace::blktrace::{BlktraceEvent, action, category, category_of_rwbs};

/// The completion of a bio. On disks without requests it is the completion of the I/O. On disks
/// with requests it is recorded only for bios that end without a request.
pub(super) const BIO_COMPLETE: &str = "block_bio_complete";
/// The error of a bio that may not wait (REQ_NOWAIT) and would have had to wait for a request or to
/// be split. Its submitter queues it again.
pub(super) const EAGAIN: i32 = 11;
/// Tracepoints without which no I/O could be recorded.
pub(super) const REQUIRED_TRACEPOINTS: [&str; 3] =
    ["block_bio_queue", "block_rq_issue", "block_rq_complete"];

/// A tracepoint: its number, its action and the places of its fields. Some tracepoints or kernels
/// lack the optional fields.
pub(super) struct Tracepoint {
    pub(super) id: u16,
    action: u16,
    pid: TracefsField,
    device: TracefsField,
    sector: TracefsField,
    rwbs: TracefsField,
    blocks: Option<TracefsField>,
    bytes: Option<TracefsField>,
    error: Option<TracefsField>,
    split_sector: Option<TracefsField>,
    comm: Option<TracefsField>,
}

/// The number of the tracepoint that wrote a record; `None` when the record is shorter than 2
/// bytes.
pub(super) fn tracepoint_id(record: &[u8]) -> Option<u16> {
    Some(u16::from_le_bytes(*record.first_chunk()?))
}

impl Tracepoint {
    /// Looks up the fields in a tracepoint's format. `None` when it lacks one that every event
    /// needs.
    pub(super) fn new(format: &Format, action: u16) -> Option<Tracepoint> {
        Some(Tracepoint {
            id: format.id,
            action,
            pid: format.get("common_pid")?,
            device: format.get("dev")?,
            sector: format.get("sector")?,
            rwbs: format.get("rwbs")?,
            blocks: format.get("nr_sector"),
            bytes: format.get("bytes"),
            error: format.get("error"),
            split_sector: format.get("new_sector"),
            comm: format.get("comm").filter(|_| action == action::QUEUE),
        })
    }

    /// Decodes a record; `None` when it is too short.
    pub(super) fn event(&self, time: u64, cpu: u32, record: &[u8]) -> Option<BlktraceEvent> {
        // A field that the tracepoint lacks counts as 0.
        let number = |field: Option<TracefsField>| field.map(|field| field.number(record));
        let blocks = number(self.blocks).unwrap_or(Some(0))?;
        let sector = self.sector.number(record)?;
        let mut event = BlktraceEvent {
            time,
            sector: if sector == u64::MAX { 0 } else { sector },
            action: self.action,
            category: rwbs_category(self.rwbs.bytes_in(record)?),
            pid: self.pid.number(record)? as u32,
            device: self.device.number(record)? as u32,
            cpu,
            // A negative errno, cut to its lower 16 bits as in blktrace's records.
            error: number(self.error).unwrap_or(Some(0))? as u16,
            ..BlktraceEvent::default()
        };
        let bytes = number(self.bytes).unwrap_or(Some(0))?;
        event.bytes = u32::try_from(blocks << 9).unwrap_or(u32::MAX);
        if self.action == action::SPLIT {
            // The tracepoint has no length; the matcher needs one that is not zero.
            (event.bytes, event.split_at) = (512, number(self.split_sector)??);
        } else if event.category == 0 && blocks == 0 {
            // The issue of a passthrough request gives bytes, its completion only whole sectors.
            // Rounding the bytes down to sectors makes the two lengths equal.
            event.bytes = bytes as u32 & !511;
        }
        if event.category == 0 {
            event.category = category::PC;
        }
        Some(event)
    }

    /// Name of the thread that queued the I/O; `None` for tracepoints other than the queueing.
    pub(super) fn comm(&self, record: &[u8]) -> Option<[u8; 16]> {
        self.comm?.bytes_in(record)?.try_into().ok()
    }
}

/// The blktrace category of the letters of `rwbs`, which end at a zero.
fn rwbs_category(rwbs: &[u8]) -> u32 {
    let end = rwbs.iter().position(|byte| *byte == 0);
    category_of_rwbs(&rwbs[..end.unwrap_or(rwbs.len())])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields are those of Linux 6.18.
    const ISSUE: &str = "ID: 2104
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;
\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;
\tfield:char comm[16];\toffset:44;\tsize:16;\tsigned:0;
";
    const COMPLETE: &str = "ID: 2107
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;
\tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;
\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;
\tfield:int error;\toffset:28;\tsize:4;\tsigned:1;
\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;
";

    fn record(id: u16, sector: u64, blocks: u32, at_28: i32, rwbs: &[u8]) -> Vec<u8> {
        let mut record = vec![0; 64];
        record[..2].copy_from_slice(&id.to_le_bytes());
        record[4..8].copy_from_slice(&77_i32.to_le_bytes());
        record[8..12].copy_from_slice(&(259_u32 << 20 | 3).to_le_bytes());
        record[16..24].copy_from_slice(&sector.to_le_bytes());
        record[24..28].copy_from_slice(&blocks.to_le_bytes());
        record[28..32].copy_from_slice(&at_28.to_le_bytes());
        record[34..34 + rwbs.len()].copy_from_slice(rwbs);
        record[44..47].copy_from_slice(b"fio");
        record
    }

    fn point(text: &str, action: u16) -> Tracepoint {
        Tracepoint::new(&Format::parse(text), action).unwrap()
    }

    #[test]
    fn a_request_by_its_fields() {
        let issue = point(ISSUE, action::ISSUE);
        let record = record(2104, 4096, 8, 4096, b"WS");
        assert_eq!(tracepoint_id(&record), Some(2104));
        let event = issue.event(5, 1, &record).unwrap();
        assert_eq!((event.time, event.cpu, event.pid), (5, 1, 77));
        assert_eq!((event.sector, event.bytes), (4096, 4096));
        assert_eq!(event.device, 259 << 20 | 3);
        assert_eq!(event.category, category::WRITE | category::SYNC);
        assert_eq!(issue.comm(&record), None);
        let queue = point(ISSUE, action::QUEUE);
        assert_eq!(&queue.comm(&record).unwrap()[..4], b"fio\0");
        assert_eq!(issue.event(5, 1, &record[..40]), None);
    }

    #[test]
    fn a_failed_completion() {
        let complete = point(COMPLETE, action::COMPLETE);
        let event = complete.event(5, 1, &record(2107, 8, 8, -61, b"R"));
        assert_eq!(event.unwrap().error as i16, -61);
    }

    /// A passthrough request is issued with bytes and no sectors, and completes with sectors alone.
    #[test]
    fn passthrough_has_equal_lengths() {
        let issued =
            point(ISSUE, action::ISSUE).event(1, 0, &record(2104, u64::MAX, 0, 4096, b"N"));
        let completed =
            point(COMPLETE, action::COMPLETE).event(2, 0, &record(2107, u64::MAX, 8, 0, b"N"));
        for event in [issued.unwrap(), completed.unwrap()] {
            assert_eq!((event.sector, event.bytes), (0, 4096));
            assert_eq!(event.category, category::PC);
        }
    }
}
