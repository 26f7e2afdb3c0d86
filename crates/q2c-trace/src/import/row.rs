//! A request in the form in which importers sort it: small, and without heap memory.

use super::error::{BadLine, bad};
use crate::sorter::SorterRow;
use q2c_model::{Bytes, DevId, Nanos, Op, OpFlags, Sectors};
use serde::{Deserialize, Serialize};

/// Every request is shorter than a day.
pub(super) const DAY: Nanos = Nanos(86_400_000_000_000);
const NAME_BYTES: usize = 16;

/// Name of a process or a host, up to 16 bytes, padded with zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Name([u8; NAME_BYTES]);

impl Name {
    pub(super) fn cut(text: &[u8]) -> Name {
        let mut name = [0; NAME_BYTES];
        let length = text.len().min(NAME_BYTES);
        name[..length].copy_from_slice(&text[..length]);
        Name(name)
    }

    pub(super) fn if_fits(text: &[u8]) -> Option<Name> {
        (text.len() <= NAME_BYTES).then(|| Name::cut(text))
    }

    /// The name as text; bytes that are not UTF-8 are replaced. `None` if the name is empty.
    pub(super) fn text(&self) -> Option<String> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let end = end.unwrap_or(NAME_BYTES);
        (end > 0).then(|| String::from_utf8_lossy(&self.0[..end]).into_owned())
    }
}

/// A time that a source may lack. It is smaller than an `Option`, because rows are moved often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MaybeTime(u64);

impl MaybeTime {
    pub(super) const UNKNOWN: MaybeTime = MaybeTime(u64::MAX);

    /// The longest time stands for unknown; as a real time it becomes 1 ns shorter.
    pub(super) fn from(time: Nanos) -> MaybeTime {
        MaybeTime(time.0.min(u64::MAX - 1))
    }

    pub(super) fn get(self) -> Option<Nanos> {
        (self != MaybeTime::UNKNOWN).then_some(Nanos(self.0))
    }
}

/// A request with its times on the source's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Row {
    /// Line (from 1) or byte offset in the source.
    pub(super) position: u64,
    pub(super) start: Nanos,
    pub(super) latency: MaybeTime,
    /// Time from the start until the driver got the request.
    pub(super) waited: MaybeTime,
    pub(super) device: DevId,
    pub(super) lane: u32,
    pub(super) op: Op,
    pub(super) flags: OpFlags,
    pub(super) sector: Sectors,
    pub(super) bytes: Bytes,
    pub(super) pid: Option<u32>,
    /// Name of the process, or of the host in formats that name hosts.
    pub(super) name: Name,
}

impl Row {
    pub(super) fn new(start: Nanos, op: Op, sector: Sectors, bytes: Bytes) -> Row {
        Row {
            position: 0,
            start,
            latency: MaybeTime::UNKNOWN,
            waited: MaybeTime::UNKNOWN,
            device: DevId::default(),
            lane: 0,
            op,
            flags: OpFlags::default(),
            sector,
            bytes,
            pid: None,
            name: Name::default(),
        }
    }

    /// Sets start and latency where the source has the end and the latency. The request may have
    /// started before the source's clock did, so all its times are one day later.
    pub(super) fn with_end(mut self, end: Nanos, latency: Nanos) -> Result<Row, BadLine> {
        if latency >= DAY {
            let bad = BadLine::new("too large", "latency", "less than a day", "");
            return Err(bad.found(format!("{} ns", latency.0)));
        }
        let start = end.0.checked_add(DAY.0 - latency.0).map(Nanos);
        self.start = start.ok_or_else(|| {
            let end = end.0.to_string();
            BadLine::new("too large", "time", "below 2^64 ns less a day", &end)
        })?;
        self.latency = MaybeTime::from(latency);
        Ok(self)
    }

    /// Puts the request on the disk that has this number in the source.
    pub(super) fn with_device(mut self, number: u32) -> Row {
        self.device = numbered_device(number);
        self
    }
}

impl SorterRow for Row {
    type Key = Nanos;

    fn key(&self) -> Nanos {
        self.start
    }
}

/// The device of a disk that the source numbers itself. The major number is 1, because 0:0 means an
/// unknown device.
pub(super) fn numbered_device(minor: u32) -> DevId {
    DevId { major: 1, minor }
}

/// Names of files or disks, numbered by appearance, from 0.
#[derive(Default)]
pub(super) struct Names(pub(super) Vec<Vec<u8>>);

impl Names {
    /// The number of a name; a new one gets the next number.
    pub(super) fn number(&mut self, name: &[u8], field: &'static str) -> Result<u32, BadLine> {
        const MAX_NAMES: usize = 1024;
        // The bound keeps the number within 32 bits.
        if let Some(number) = self.0.iter().rposition(|known| known == name) {
            return Ok(number as u32);
        }
        if self.0.len() == MAX_NAMES {
            return Err(bad(field, "at most 1024 names", name));
        }
        self.0.push(name.to_owned());
        Ok(self.0.len() as u32 - 1)
    }

    /// The facts with the device names of these numbers.
    pub(super) fn facts(&self) -> impl Iterator<Item = (String, String)> {
        let names = self.0.iter().enumerate();
        let name = |name| String::from_utf8_lossy(name).into_owned();
        names.map(move |(number, text)| (format!("device.1:{number}"), name(text)))
    }
}
