//! Lanes of a trace while it is read: in memory if the trace fits, else in files.

use q2c_model::{Bytes, IoRecord};
use q2c_sim::{LaneRecording, LaneSelection, RecordingError, Recordings, TraceOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of one I/O, in memory and in files: four columns of four bytes.
pub(super) const IO_BYTES: u64 = 16;

/// The memory that a trace may take, and the folder for a trace that needs more.
#[derive(Clone, Debug)]
pub struct LaneStorage {
    /// Largest size of a trace in memory. A larger trace goes to files completely.
    pub memory: Bytes,
    /// The folder for the files.
    pub folder: PathBuf,
    /// Makes the file for one lane in `folder`.
    pub new_file: LaneFileMaker,
}

/// A function that makes a [`LaneFile`] in a folder.
pub type LaneFileMaker = fn(&Path) -> io::Result<Box<dyn LaneFile>>;

/// A file for a lane that does not fit into memory. It is written once, in order, then read like
/// memory. The caller supplies it, because this crate does no I/O itself.
pub trait LaneFile {
    /// Appends the I/Os in `ios`.
    ///
    /// # Errors
    /// Returns an error if the file system is full or fails.
    fn write(&mut self, ios: &LaneRecording) -> io::Result<()>;

    /// Finishes the file and returns everything that was written.
    ///
    /// # Errors
    /// Returns an error if the last I/Os cannot be written, or if the file cannot be read.
    fn read(self: Box<Self>) -> io::Result<LaneRecording>;
}

/// The lanes read so far. Once more than `max_ios` I/Os are in memory, they move to files, and in
/// the end all others follow: a trace is either in memory or in files.
pub(super) struct RecordedLanes {
    recordings: Recordings,
    max_ios: usize,
    storage: LaneStorage,
    files: Vec<Option<Box<dyn LaneFile>>>,
    spilled_bytes: u64,
}

impl RecordedLanes {
    pub(crate) fn new(storage: &LaneStorage, options: TraceOptions) -> Self {
        RecordedLanes {
            recordings: Recordings::new(options),
            max_ios: usize::try_from(storage.memory.0 / IO_BYTES).unwrap_or(usize::MAX),
            storage: storage.clone(),
            files: Vec::new(),
            spilled_bytes: 0,
        }
    }

    pub(crate) fn take(&mut self, records: &[IoRecord]) -> io::Result<()> {
        self.recordings.take(records);
        if self.recordings.ios_in_memory() > self.max_ios {
            self.spill(false)
        } else {
            Ok(())
        }
    }

    /// Moves I/Os to files. Without `all` the last one of each lane stays in memory.
    fn spill(&mut self, all: bool) -> io::Result<()> {
        let RecordedLanes {
            recordings,
            storage,
            files,
            spilled_bytes,
            ..
        } = self;
        recordings.drain(all, &mut |lane, ios| {
            if lane >= files.len() {
                files.resize_with(lane + 1, || None);
            }
            let file = match &mut files[lane] {
                Some(file) => file,
                missing => missing.insert((storage.new_file)(&storage.folder)?),
            };
            *spilled_bytes += ios.len() as u64 * IO_BYTES;
            file.write(ios)
        })
    }

    pub(crate) fn finish(
        mut self,
    ) -> io::Result<Result<(Vec<LaneRecording>, LaneSelection), RecordingError>> {
        if self.files.is_empty() {
            return Ok(self.recordings.finish());
        }
        let mut selection = match self.recordings.select_lanes() {
            Ok(selection) => selection,
            Err(error) => return Ok(Err(error)),
        };
        self.spill(true)?;
        selection.interpretation.in_files = Bytes(self.spilled_bytes);
        let mut lanes = Vec::with_capacity(selection.lanes.len());
        for (index, first_at) in selection.lanes.iter().zip(&selection.first_at) {
            let file = self.files[*index].take().expect("every lane has an I/O");
            lanes.push(LaneRecording {
                first_at: *first_at,
                gap_cpu: selection.gap_cpu,
                ..file.read()?
            });
        }
        Ok(Ok((lanes, selection)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{DevId, Layer, Nanos, Op, Sectors};

    struct InMemory(LaneRecording);

    impl LaneFile for InMemory {
        fn write(&mut self, ios: &LaneRecording) -> io::Result<()> {
            for i in 0..ios.len() {
                let (submit, wait) = (ios.submit[i], ios.wait[i]);
                let io = q2c_sim::unpack(ios.ios[i]);
                self.0.push(io, submit, wait, ios.gap[i]);
            }
            Ok(())
        }

        fn read(self: Box<Self>) -> io::Result<LaneRecording> {
            Ok(self.0)
        }
    }

    fn new_file(folder: &Path) -> io::Result<Box<dyn LaneFile>> {
        if folder.as_os_str().is_empty() {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Box::new(InMemory(LaneRecording::default())))
    }

    fn storage(memory: u64, folder: &str) -> LaneStorage {
        LaneStorage {
            memory: Bytes(memory),
            folder: folder.into(),
            new_file,
        }
    }

    fn record(n: u64) -> IoRecord {
        let bytes = Bytes(512 << (n % 4));
        let device = DevId::default();
        let mut r = IoRecord::new(0, Layer::User, device, Op::Write, Sectors(0), bytes);
        let start = 1_000 * n;
        (r.lane, r.submit_ns) = ((n % 3 * 2) as u32, Some(Nanos(start)));
        (r.submit_end_ns, r.reap_ns) = (Some(Nanos(start + 9)), Some(Nanos(start + 100 + n)));
        r
    }

    fn block(n: u64) -> IoRecord {
        let at = 1_000 * n;
        IoRecord {
            layer: Layer::Block,
            queue_ns: Some(Nanos(at)),
            issue_ns: Some(Nanos(at + 9)),
            complete_ns: Some(Nanos(at + 9_500 + n)),
            submit_ns: None,
            submit_end_ns: None,
            reap_ns: None,
            ..record(n)
        }
    }

    fn read(memory: u64, record: fn(u64) -> IoRecord) -> (Vec<LaneRecording>, LaneSelection) {
        let records: Vec<IoRecord> = (0..1_000).map(record).collect();
        let mut lanes = RecordedLanes::new(&storage(memory, "somewhere"), TraceOptions::default());
        let mut parts = records.chunks(64);
        parts.try_for_each(|ios| lanes.take(ios)).unwrap();
        lanes.finish().unwrap().unwrap()
    }

    #[test]
    fn in_files_as_in_memory() {
        for (record, lanes) in [(record as fn(u64) -> IoRecord, 3), (block, 12)] {
            let (in_memory, selection) = read(1 << 20, record);
            assert_eq!(
                (in_memory.len(), selection.interpretation.in_files.0),
                (lanes, 0)
            );
            let (in_files, selection) = read(IO_BYTES * 100, record);
            assert_eq!(selection.interpretation.in_files.0, IO_BYTES * 1_000);
            assert_eq!(in_files, in_memory);
        }
    }

    #[test]
    fn a_file_that_cannot_be_made() {
        let mut lanes = RecordedLanes::new(&storage(0, ""), TraceOptions::default());
        let failed = lanes.take(&[record(0), record(3)]);
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
