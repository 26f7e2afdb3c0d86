//! Encodes records by the table of the format, independently of the reader.

/// An event as a test states it.
#[derive(Clone, Debug)]
pub(crate) struct E {
    pub us: u64,
    pub cpu: u32,
    pub action: u16,
    /// Category bits: read 1, write 2, flush 4, discard 0x2000, ...
    pub category: u32,
    pub sector: u64,
    pub bytes: u32,
    pub pid: u32,
    pub device: (u32, u32),
    pub sequence: Option<u32>,
    pub error: u16,
    pub payload: Vec<u8>,
    pub cgroup: Option<u64>,
}

/// Two flags: the record has version 8, and it is big-endian.
pub(crate) type EncodedLayout = (bool, bool);
pub(crate) const LITTLE_7: EncodedLayout = (false, false);

pub(crate) const READ: u32 = 1;
pub(crate) const WRITE: u32 = 2;
pub(crate) const FLUSH: u32 = 4;
pub(crate) const DISCARD: u32 = 0x2000;

/// An event with blkparse's `letter` at `us`: a read of `sectors` from `sector` by process 100 on
/// CPU 0 and device 259:0. The letters are in the order of the actions, from 1.
pub(crate) fn e(us: u64, letter: &str, sector: u64, sectors: u32) -> E {
    let actions = [
        "Q", "M", "F", "G", "S", "R", "D", "C", "P", "U", "UT", "I", "X", "B", "A",
    ];
    let at = actions.iter().position(|known| *known == letter);
    E {
        us,
        cpu: 0,
        action: at.unwrap() as u16 + 1,
        category: READ,
        sector,
        bytes: sectors * 512,
        pid: 100,
        device: (259, 0),
        sequence: None,
        error: 0,
        payload: Vec::new(),
        cgroup: None,
    }
}

impl E {
    pub(crate) fn cat(mut self, category: u32) -> E {
        self.category = category;
        self
    }
    pub(crate) fn cpu(mut self, cpu: u32) -> E {
        self.cpu = cpu;
        self
    }
    pub(crate) fn dev(mut self, major: u32, minor: u32) -> E {
        self.device = (major, minor);
        self
    }
    pub(crate) fn seq(mut self, sequence: u32) -> E {
        self.sequence = Some(sequence);
        self
    }
    pub(crate) fn pay(mut self, payload: &[u8]) -> E {
        self.payload = payload.to_vec();
        self
    }
    pub(crate) fn cgroup(mut self, cgroup: u64) -> E {
        self.cgroup = Some(cgroup);
        self
    }
    pub(crate) fn note(us: u64, number: u16, pid: u32, payload: &[u8]) -> E {
        let mut note = e(us, "Q", 0, 0).cat(0x400).seq(0).pay(payload);
        (note.action, note.pid) = (number, pid);
        note
    }
}

/// Reverses the little-endian bytes of a number if `big` is true.
pub(crate) fn ordered<const N: usize>(big: bool, mut bytes: [u8; N]) -> [u8; N] {
    if big {
        bytes.reverse();
    }
    bytes
}

pub(crate) fn split(us: u64, sector: u64, sectors: u32, at: u64) -> E {
    e(us, "X", sector, sectors).pay(&at.to_be_bytes())
}

pub(crate) fn record((v8, big): EncodedLayout, event: &E, sequence: u32) -> Vec<u8> {
    let u16 = |v: u16| ordered(big, v.to_le_bytes());
    let u32 = |v: u32| ordered(big, v.to_le_bytes());
    let u64 = |v: u64| ordered(big, v.to_le_bytes());
    let mut payload = event.cgroup.map_or(Vec::new(), |id| u64(id).to_vec());
    payload.extend(&event.payload);
    let low = event.action | if event.cgroup.is_some() { 0x100 } else { 0 };
    let device = event.device.0 << 20 | event.device.1;
    let mut out = Vec::new();
    out.extend(u32(0x6561_7400 | if v8 { 8 } else { 7 }));
    out.extend(u32(event.sequence.unwrap_or(sequence)));
    out.extend(u64(event.us * 1000));
    out.extend(u64(event.sector));
    out.extend(u32(event.bytes));
    if v8 {
        out.extend(u32(event.pid));
        out.extend(u64(u64::from(event.category) << 16 | u64::from(low)));
    } else {
        out.extend(u32(event.category << 16 | u32::from(low)));
        out.extend(u32(event.pid));
    }
    out.extend(u32(device));
    out.extend(u32(event.cpu));
    out.extend(u16(event.error));
    out.extend(u16(u16::try_from(payload.len()).unwrap()));
    if v8 {
        out.extend([0; 12]);
    }
    out.extend(payload);
    out
}

/// Encodes a file. Events without a number get one by device and CPU, from 1.
pub(crate) fn file(form: EncodedLayout, events: &[E]) -> Vec<u8> {
    let mut numbers = std::collections::BTreeMap::new();
    let one = |event: &E| {
        let number = numbers.entry((event.device, event.cpu)).or_insert(0);
        *number = event
            .sequence
            .filter(|n| *n > 0)
            .unwrap_or(*number + u32::from(event.sequence.is_none()));
        record(form, event, *number)
    };
    events.iter().flat_map(one).collect()
}
