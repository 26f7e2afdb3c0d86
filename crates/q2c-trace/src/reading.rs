//! Counts the bytes of recordings that this process has read, for a progress display.

use std::fs::File;
use std::io::{self, Read};
use std::sync::atomic::{AtomicU64, Ordering};

/// One count for the whole process: a recording is read in many places, some of them in threads,
/// and the display shows their sum.
static BYTES_READ: AtomicU64 = AtomicU64::new(0);

/// Returns the bytes of recordings that this process has read so far. A packed recording counts
/// with its packed size, a q2c trace with the share of its records that was read.
pub fn bytes_read() -> u64 {
    BYTES_READ.load(Ordering::Relaxed)
}

pub(crate) fn add_bytes_read(bytes: u64) {
    BYTES_READ.fetch_add(bytes, Ordering::Relaxed);
}

/// A file whose bytes are counted as they are read.
#[derive(Debug)]
pub struct CountedFile(pub File);

impl Read for CountedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(buffer)?;
        add_bytes_read(read as u64);
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scan, TraceReader, TraceWriter};
    use q2c_model::{Bytes, DevId, IoRecord, Layer, Nanos, Op, Sectors, TraceMeta};

    /// Other tests add to the same count, so only a lower bound can be checked.
    fn check_counted(min_bytes: u64, read: impl FnOnce()) {
        let before = bytes_read();
        read();
        let counted = bytes_read() - before;
        assert!(counted >= min_bytes, "{counted} of {min_bytes}");
    }

    #[test]
    fn files_and_traces_count_with_their_sizes() {
        let folder = tempfile::tempdir().unwrap();
        let text = folder.path().join("text");
        std::fs::write(&text, vec![b'x'; 100_000]).unwrap();
        check_counted(100_000, || {
            let mut file = CountedFile(File::open(&text).unwrap());
            io::copy(&mut file, &mut io::sink()).unwrap();
        });
        let path = folder.path().join("trace.parquet");
        let mut writer = TraceWriter::create(&path, TraceMeta::default()).unwrap();
        let record = |id: u64| {
            let (device, sector) = (DevId::default(), Sectors(id * 977));
            let mut record = IoRecord::new(id, Layer::Block, device, Op::Read, sector, Bytes(4096));
            record.queue_ns = Some(Nanos(id * 1_000));
            record
        };
        let records: Vec<IoRecord> = (0..50_000).map(record).collect();
        writer.push(&records).unwrap();
        writer.finish().unwrap();
        let length = path.metadata().unwrap().len();
        check_counted(length * 9 / 10, || {
            let trace = TraceReader::open(&path).unwrap();
            let records = trace.records(&Scan::new()).unwrap();
            let rows = records.map(|batch| batch.unwrap().len());
            assert_eq!(rows.sum::<usize>(), 50_000);
        });
    }
}
