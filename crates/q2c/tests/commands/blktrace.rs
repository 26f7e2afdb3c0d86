//! Makes blktrace records of version 7, little-endian, after the documented format.

#[derive(Clone, Copy)]
pub(crate) struct BlktraceRecord {
    pub ns: u64,
    pub cpu: u32,
    /// Number of the action: 1 Q, 2 M, 4 G, 7 D, 8 C, 12 I.
    pub action: u32,
    /// Bits of the category: 1 read, 2 write, 0x400 note.
    pub category: u32,
    pub sector: u64,
    pub bytes: u32,
    pub device: (u32, u32),
}

impl BlktraceRecord {
    /// The record of the event by process 42, with this sequence number and no payload.
    pub(crate) fn record(&self, sequence: u32) -> Vec<u8> {
        let mut record = Vec::new();
        record.extend(0x6561_7407_u32.to_le_bytes());
        record.extend(sequence.to_le_bytes());
        record.extend(self.ns.to_le_bytes());
        record.extend(self.sector.to_le_bytes());
        let action = self.category << 16 | self.action;
        let device = self.device.0 << 20 | self.device.1;
        for field in [self.bytes, action, 42, device, self.cpu, 0] {
            record.extend(u32::to_le_bytes(field));
        }
        record
    }
}

/// The file of one CPU: its events in order of time, numbered from 1.
pub(crate) fn file(events: &[BlktraceRecord], cpu: u32) -> Vec<u8> {
    let mut cpu_events: Vec<&BlktraceRecord> = events.iter().filter(|e| e.cpu == cpu).collect();
    cpu_events.sort_by_key(|event| event.ns);
    let numbered = (1u32..).zip(cpu_events);
    numbered.flat_map(|(n, event)| event.record(n)).collect()
}
