//! One request as recordings of devices have it: small, without memory of its own.

use q2c_model::{Bytes, DevId, Nanos, Op, OpFlags, Sectors};

/// Longest name kept, bytes.
const NAME: usize = 16;

/// A process or a host, up to 16 bytes, padded with zeros.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Name([u8; NAME]);

impl Name {
    /// The first 16 bytes of a name.
    pub(super) fn cut(text: &[u8]) -> Name {
        let mut name = [0; NAME];
        let kept = text.len().min(NAME);
        name[..kept].copy_from_slice(&text[..kept]);
        Name(name)
    }

    /// A name that fits whole.
    pub(super) fn whole(text: &[u8]) -> Option<Name> {
        (text.len() <= NAME).then(|| Name::cut(text))
    }

    /// As text; bytes that are not UTF-8 are replaced. `None` when empty.
    pub(super) fn text(&self) -> Option<String> {
        let end = self.0.iter().position(|b| *b == 0).unwrap_or(NAME);
        (end > 0).then(|| String::from_utf8_lossy(&self.0[..end]).into_owned())
    }
}

/// A request, its times still on the source's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Line (from 1) or byte offset in the source.
    pub(super) place: u64,
    pub(super) start: Nanos,
    /// From the start to the end; `None` when the source does not tell.
    pub(super) latency: Option<Nanos>,
    pub(super) device: DevId,
    pub(super) op: Op,
    pub(super) flags: OpFlags,
    pub(super) sector: Sectors,
    pub(super) bytes: Bytes,
    pub(super) pid: Option<u32>,
    /// The process, or (as the format says) the host.
    pub(super) name: Name,
}

impl Row {
    pub(super) fn new(start: Nanos, op: Op, sector: Sectors, bytes: Bytes) -> Row {
        Row {
            place: 0,
            start,
            latency: None,
            device: DevId::default(),
            op,
            flags: OpFlags::default(),
            sector,
            bytes,
            pid: None,
            name: Name::default(),
        }
    }

    /// On the disk that the source gives this number.
    pub(super) fn on(mut self, number: u32) -> Row {
        self.device = numbered(number);
        self
    }
}

/// A disk that the source numbers itself: major 1 says so, as 0:0 stands for an unknown device.
pub(super) fn numbered(minor: u32) -> DevId {
    DevId { major: 1, minor }
}
