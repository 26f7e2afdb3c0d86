//! Lanes while a trace is read: in memory as far as that goes, the rest in unnamed files that are read like memory.

use q2c_model::{Bytes, IoRecord};
use q2c_sim::{Column, Kept, Packed, Recording, RecordingError, Recordings};
use q2c_sys::spill::{Spill, Word};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of an I/O in memory and in files: four columns.
pub(super) const EACH: u64 = 16;

/// How much of a trace is held in memory.
#[derive(Clone, Debug)]
pub struct Holding {
    /// So much of it; from there on everything goes to files.
    pub memory: Bytes,
    /// Where these are made. They have no name, and go with the process.
    pub folder: PathBuf,
}

/// What has been read.
pub(super) struct Lanes {
    read: Recordings,
    /// I/Os in memory at most.
    most: usize,
    folder: PathBuf,
    /// By the lane's number.
    files: Vec<Option<Files>>,
    spilled: u64,
}

struct Files {
    ios: Spill<Packed>,
    submit: Spill<f32>,
    wait: Spill<f32>,
    gap: Spill<f32>,
}

impl Lanes {
    pub fn new(holding: &Holding) -> Self {
        Lanes {
            read: Recordings::default(),
            most: usize::try_from(holding.memory.0 / EACH).unwrap_or(usize::MAX),
            folder: holding.folder.clone(),
            files: Vec::new(),
            spilled: 0,
        }
    }

    /// Takes the next records of the trace.
    pub fn take(&mut self, records: &[IoRecord]) -> io::Result<()> {
        self.read.take(records);
        match self.read.held() > self.most {
            true => self.spill(false),
            false => Ok(()),
        }
    }

    fn spill(&mut self, all: bool) -> io::Result<()> {
        let Lanes {
            read,
            folder,
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
                none => none.insert(Files::new(folder)?),
            };
            *spilled += some.len() as u64 * EACH;
            file.write(some)
        })
    }

    /// The lanes, and how much of them is in files.
    pub fn finish(mut self) -> io::Result<Result<(Vec<Recording>, Bytes), RecordingError>> {
        if self.files.is_empty() {
            return Ok(self.read.finish().map(|lanes| (lanes, Bytes(0))));
        }
        if let Err(error) = self.read.check() {
            return Ok(Err(error));
        }
        self.spill(true)?;
        let files = self.files.into_iter().flatten();
        let lanes: io::Result<Vec<Recording>> = files.map(Files::map).collect();
        Ok(Ok((lanes?, Bytes(self.spilled))))
    }
}

impl Files {
    fn new(folder: &Path) -> io::Result<Self> {
        Ok(Files {
            ios: Spill::new_in(folder)?,
            submit: Spill::new_in(folder)?,
            wait: Spill::new_in(folder)?,
            gap: Spill::new_in(folder)?,
        })
    }

    fn write(&mut self, some: &Recording) -> io::Result<()> {
        self.ios.write(&some.ios)?;
        self.submit.write(&some.submit)?;
        self.wait.write(&some.wait)?;
        self.gap.write(&some.gap)
    }

    fn map(self) -> io::Result<Recording> {
        Ok(Recording {
            ios: kept(self.ios)?,
            submit: kept(self.submit)?,
            wait: kept(self.wait)?,
            gap: kept(self.gap)?,
        })
    }
}

fn kept<T: Word + 'static>(spill: Spill<T>) -> io::Result<Column<T>> {
    let kept: Kept<T> = Arc::new(spill.map()?);
    Ok(kept.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::{DevId, Layer, Nanos, Op, Sectors};

    fn record(n: u64) -> IoRecord {
        let bytes = Bytes(512 << (n % 4));
        let mut r = IoRecord::new(
            0,
            Layer::User,
            DevId::default(),
            Op::Write,
            Sectors(0),
            bytes,
        );
        let start = 1_000 * n;
        (r.lane, r.submit_ns) = ((n % 3 * 2) as u32, Some(Nanos(start)));
        (r.submit_end_ns, r.reap_ns) = (Some(Nanos(start + 9)), Some(Nanos(start + 100 + n)));
        r
    }

    fn read(memory: u64) -> (Vec<Recording>, Bytes) {
        let folder = tempfile::tempdir().unwrap();
        let records: Vec<IoRecord> = (0..1_000).map(record).collect();
        let mut lanes = Lanes::new(&Holding {
            memory: Bytes(memory),
            folder: folder.path().to_owned(),
        });
        records
            .chunks(64)
            .for_each(|some| lanes.take(some).unwrap());
        lanes.finish().unwrap().unwrap()
    }

    #[test]
    fn in_files_as_in_memory() {
        let (in_memory, spilled) = read(1 << 20);
        assert_eq!((in_memory.len(), spilled.0), (3, 0));
        let (in_files, spilled) = read(EACH * 100);
        assert_eq!(spilled.0, EACH * 1_000);
        assert_eq!(in_files, in_memory);
    }

    #[test]
    fn a_folder_that_cannot_be_written() {
        let mut lanes = Lanes::new(&Holding {
            memory: Bytes(0),
            folder: "/nonexistent".into(),
        });
        let failed = lanes.take(&[record(0), record(3)]);
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
