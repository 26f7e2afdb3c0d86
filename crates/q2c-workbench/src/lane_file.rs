//! Recordings that do not fit into memory. They lie in unnamed files, which are mapped into memory
//! for reading.

use q2c_sim::{ExternalValues, IoColumn, LaneRecording, PackedIo};
use q2c_study::LaneFile;
use q2c_sys::spill::{Spill, Word};
use std::io;
use std::path::Path;
use std::sync::Arc;

struct LaneColumns {
    ios: Spill<PackedIo>,
    submit: Spill<f32>,
    wait: Spill<f32>,
    gap: Spill<f32>,
}

/// An unnamed file for one lane; its space is freed when the process ends.
pub fn new(folder: &Path) -> io::Result<Box<dyn LaneFile>> {
    Ok(Box::new(LaneColumns {
        ios: Spill::new_in(folder)?,
        submit: Spill::new_in(folder)?,
        wait: Spill::new_in(folder)?,
        gap: Spill::new_in(folder)?,
    }))
}

impl LaneFile for LaneColumns {
    fn write(&mut self, part: &LaneRecording) -> io::Result<()> {
        self.ios.write(&part.ios)?;
        self.submit.write(&part.submit)?;
        self.wait.write(&part.wait)?;
        self.gap.write(&part.gap)
    }

    fn read(self: Box<Self>) -> io::Result<LaneRecording> {
        Ok(LaneRecording {
            ios: map_column(self.ios)?,
            submit: map_column(self.submit)?,
            wait: map_column(self.wait)?,
            gap: map_column(self.gap)?,
            ..LaneRecording::default()
        })
    }
}

fn map_column<T: Word + 'static>(spill: Spill<T>) -> io::Result<IoColumn<T>> {
    let values: ExternalValues<T> = Arc::new(spill.map()?);
    Ok(values.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Direction;
    use q2c_policy::Io;

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let part = |from: u32| {
            let mut part = LaneRecording::default();
            for n in from..from + 1_000 {
                let io = Io {
                    direction: Direction::Write,
                    bytes: 512 << (n % 4),
                };
                part.push(io, n as f32, 2.0 * n as f32, 0.5);
            }
            part
        };
        let mut file = new(folder.path()).unwrap();
        file.write(&part(0)).unwrap();
        file.write(&part(1_000)).unwrap();
        let read = file.read().unwrap();
        assert_eq!(read.len(), 2_000);
        assert_eq!((read.submit[1_999], read.wait[1_999]), (1_999.0, 3_998.0));
        assert_eq!(q2c_sim::unpack(read.ios[1_999]).bytes, 4_096);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "no name");
    }

    #[test]
    fn a_folder_that_cannot_be_written() {
        let failed = new("/nonexistent".as_ref()).err().unwrap();
        assert_eq!(failed.kind(), io::ErrorKind::NotFound);
    }
}
