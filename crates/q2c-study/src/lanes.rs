//! Lanes of a trace while it is read: in memory if the trace fits, else in files.

use q2c_model::{Bytes, IoRecord};
use q2c_sim::{Closed, LaneRecording, RecordingError, Recordings, Taking};
use std::io;
use std::path::{Path, PathBuf};

/// Bytes of one I/O, in memory and in files: four columns of four bytes.
pub(super) const EACH: u64 = 16;

/// The memory that a trace may take, and the folder for a trace that needs more.
#[derive(Clone, Debug)]
pub struct Holding {
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
    /// Appends the I/Os in `some`.
    ///
    /// # Errors
    /// Returns an error if the file system is full or fails.
    fn write(&mut self, some: &LaneRecording) -> io::Result<()>;

    /// Finishes the file and returns everything that was written.
    ///
    /// # Errors
    /// Returns an error if the last I/Os cannot be written, or if the file cannot be read.
    fn read(self: Box<Self>) -> io::Result<LaneRecording>;
}

/// The lanes read so far. With more than `most` I/Os in memory these move to files, and in the end
/// the rest follows: a trace is either in memory or in files.
pub(super) struct RecordedLanes {
    read: Recordings,
    most: usize,
    holding: Holding,
    files: Vec<Option<Box<dyn LaneFile>>>,
    spilled: u64,
}

impl RecordedLanes {
    pub(crate) fn new(holding: &Holding, taking: Taking) -> Self {
        RecordedLanes {
            read: Recordings::new(taking),
            most: usize::try_from(holding.memory.0 / EACH).unwrap_or(usize::MAX),
            holding: holding.clone(),
            files: Vec::new(),
            spilled: 0,
        }
    }

    pub(crate) fn take(&mut self, records: &[IoRecord]) -> io::Result<()> {
        self.read.take(records);
        if self.read.held() > self.most {
            self.spill(false)
        } else {
            Ok(())
        }
    }

    fn spill(&mut self, all: bool) -> io::Result<()> {
        let RecordedLanes {
            read,
            holding,
            files,
            spilled,
            ..
        } = self;
        read.give(all, &mut |lane, some| {
            if lane >= files.len() {
                files.resize_with(lane + 1, || None);
            }
            let file = match &mut files[lane] {
                Some(file) => file,
                none => none.insert((holding.new_file)(&holding.folder)?),
            };
            *spilled += some.len() as u64 * EACH;
            file.write(some)
        })
    }

    pub(crate) fn finish(
        mut self,
    ) -> io::Result<Result<(Vec<LaneRecording>, Closed), RecordingError>> {
        if self.files.is_empty() {
            return Ok(self.read.finish());
        }
        let mut closed = match self.read.close() {
            Ok(closed) => closed,
            Err(error) => return Ok(Err(error)),
        };
        self.spill(true)?;
        closed.taken_as.in_files = Bytes(self.spilled);
        let mut lanes = Vec::with_capacity(closed.lanes.len());
        for (index, first_at) in closed.lanes.iter().zip(&closed.first_at) {
            let file = self.files[*index].take().expect("every lane has an I/O");
            lanes.push(LaneRecording {
                first_at: *first_at,
                gap_cpu: closed.gap_cpu,
                ..file.read()?
            });
        }
        Ok(Ok((lanes, closed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{DevId, Layer, Nanos, Op, Sectors};

    struct InMemory(LaneRecording);

    impl LaneFile for InMemory {
        fn write(&mut self, some: &LaneRecording) -> io::Result<()> {
            for i in 0..some.len() {
                let (submit, wait) = (some.submit[i], some.wait[i]);
                let io = q2c_sim::unpack(some.ios[i]);
                self.0.push(io, submit, wait, some.gap[i]);
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

    fn holding(memory: u64, folder: &str) -> Holding {
        Holding {
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

    fn read(memory: u64, record: fn(u64) -> IoRecord) -> (Vec<LaneRecording>, Closed) {
        let records: Vec<IoRecord> = (0..1_000).map(record).collect();
        let mut lanes = RecordedLanes::new(&holding(memory, "somewhere"), Taking::default());
        let mut parts = records.chunks(64);
        parts.try_for_each(|some| lanes.take(some)).unwrap();
        lanes.finish().unwrap().unwrap()
    }

    #[test]
    fn in_files_as_in_memory() {
        for (record, lanes) in [(record as fn(u64) -> IoRecord, 3), (block, 12)] {
            let (in_memory, closed) = read(1 << 20, record);
            assert_eq!((in_memory.len(), closed.taken_as.in_files.0), (lanes, 0));
            let (in_files, closed) = read(EACH * 100, record);
            assert_eq!(closed.taken_as.in_files.0, EACH * 1_000);
            assert_eq!(in_files, in_memory);
        }
    }

    #[test]
    fn a_file_that_cannot_be_made() {
        let mut lanes = RecordedLanes::new(&holding(0, ""), Taking::default());
        let failed = lanes.take(&[record(0), record(3)]);
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
