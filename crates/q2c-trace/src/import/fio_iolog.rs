//! fio iolog, versions 2 and 3.
//!
//! Version 2 has lines `name action offset length`, with `name wait us` between them; waits add up,
//! as documented. Version 3 has lines `time name action offset length`, with the time in
//! microseconds. Offsets are bytes in the file. Files are numbered by appearance, from 0, and their
//! names are among the trace's facts. Times are those of the program, so the records are of the
//! user layer and have only a submission.

use super::ImportFormat;
use super::arrange::Spec;
use super::decimal::TimeUnit;
use super::error::{BadLine, ImportError};
use super::row::Row;
use super::run::Import;
use super::text::{self, Cells, Parse, Separator, address, bad, length, time};
use q2c_model::{Bytes, Layer, Nanos, Op, Sectors, TraceMeta};

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "fio-iolog",
    help: "fio iolog versions 2 and 3, microseconds unless --unit says otherwise (not verified against a real file)",
    sniff: |head| head.starts_with(V2) || head.starts_with(V3),
    own_device_numbers: true,
    import,
};

const V2: &[u8] = b"fio version 2 iolog";
const V3: &[u8] = b"fio version 3 iolog";
const SPEC: Spec = Spec {
    layer: Layer::User,
    ..Spec::lines("fio-iolog", "from fio's start")
};
/// Most files in a log.
const MOST_FILES: usize = 1024;

fn import(from: &mut Import<'_>) -> Result<TraceMeta, ImportError> {
    let mut log = Log {
        unit: from.options.unit.unwrap_or(TimeUnit::Microseconds),
        version: None,
        now: Nanos::ZERO,
        files: Vec::new(),
    };
    let mut meta = text::import_in_order(from, &SPEC, |line| log.line(line))?;
    for (at, name) in log.files.iter().enumerate() {
        let name = String::from_utf8_lossy(name).into_owned();
        meta.facts.insert(format!("device.1:{at}"), name);
    }
    if let Some(version) = log.version {
        meta.source_version = version.to_string();
    }
    Ok(meta)
}

/// State of the parser: the meaning of a line depends on the lines before.
struct Log {
    unit: TimeUnit,
    version: Option<u8>,
    /// Version 2: the sum of the waits so far.
    now: Nanos,
    files: Vec<Vec<u8>>,
}

impl Log {
    fn line(&mut self, line: &[u8]) -> Parse {
        match (self.version, line) {
            (None, V2) => self.version = Some(2),
            (None, V3) => self.version = Some(3),
            (None, other) => {
                let expected = "fio version 2 iolog, or 3, in the first line";
                return Err(bad("header", expected, other));
            }
            (Some(2), line) => return self.two(line),
            (Some(_), line) => return self.three(line),
        }
        Ok(None)
    }

    fn two(&mut self, line: &[u8]) -> Parse {
        let expected = "name action, or name action offset length";
        let cells = Cells::<4>::of(line, Separator::Blanks, (2, 4), expected)?;
        if cells.get(1) != b"wait" {
            return self.action(self.now, [0, 1, 2, 3].map(|at| cells.get(at)));
        }
        let wait = time(cells.get(2), self.unit, "wait")?;
        let now = self.now.0.checked_add(wait.0).map(Nanos);
        self.now = now.ok_or_else(|| bad("wait", "a sum below 2^64 ns", cells.get(2)))?;
        Ok(None)
    }

    fn three(&mut self, line: &[u8]) -> Parse {
        let expected = "time name action, or time name action offset length";
        let cells = Cells::<5>::of(line, Separator::Blanks, (3, 5), expected)?;
        let at = time(cells.get(0), self.unit, "time")?;
        self.action(at, [1, 2, 3, 4].map(|at| cells.get(at)))
    }

    fn action(&mut self, at: Nanos, [name, action, offset, bytes]: [&[u8]; 4]) -> Parse {
        let op = match action {
            b"add" | b"open" | b"close" => {
                self.file(name)?;
                return Ok(None);
            }
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Discard,
            b"sync" | b"datasync" => {
                let file = self.file(name)?;
                return Ok(Some(Row::new(at, Op::Flush, Sectors(0), Bytes(0)).on(file)));
            }
            other => {
                let expected = "read, write, trim, sync, datasync, wait, add, open or close";
                return Err(bad("action", expected, other));
            }
        };
        let sector = address(offset, Bytes(1), "offset")?;
        let bytes = length(bytes, Bytes(1), "length")?;
        Ok(Some(Row::new(at, op, sector, bytes).on(self.file(name)?)))
    }

    /// The number of a file; a new name gets the next number.
    fn file(&mut self, name: &[u8]) -> Result<u32, BadLine> {
        if let Some(known) = self.files.iter().rposition(|file| file == name) {
            // The bound on files keeps the number within 32 bits.
            return Ok(known as u32);
        }
        if self.files.len() == MOST_FILES {
            return Err(bad("name", "at most 1024 files", name));
        }
        self.files.push(name.to_owned());
        Ok(self.files.len() as u32 - 1)
    }
}
