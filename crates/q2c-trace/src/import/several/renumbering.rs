//! Keeps ids, lanes and devices of several recordings apart by new numbers.

use super::feed::{DeviceNumbers, RecordingFeed};
use crate::import::error::ImportError;
use q2c_model::{DevId, IoRecord};
use std::collections::{BTreeMap, HashMap};

/// Maps ids, lanes and devices to new numbers. A single recording keeps its own.
pub(super) struct Renumbering {
    recordings: u64,
    lanes: HashMap<(usize, u32), u32>,
    /// New numbers of devices, by recording and number in the recording.
    devices: BTreeMap<(usize, DevId), DevId>,
}

impl Renumbering {
    pub(super) fn new(recordings: u64) -> Self {
        Renumbering {
            recordings,
            lanes: HashMap::new(),
            devices: BTreeMap::new(),
        }
    }

    pub(super) fn renumber(
        &mut self,
        record: &mut IoRecord,
        at: usize,
        feed: &RecordingFeed<'_>,
    ) -> Result<(), ImportError> {
        if self.recordings == 1 {
            return Ok(());
        }
        let number = |id: u64| id.checked_mul(self.recordings)?.checked_add(at as u64);
        let id = number(record.id);
        record.id = id.ok_or_else(|| ImportError::Merge {
            path: feed.path.to_owned(),
            expected: format!("ids below 2^64 / {}", self.recordings),
            found: record.id.to_string(),
        })?;
        record.merged_into = record.merged_into.and_then(number);
        let lane = self.lanes.len();
        // The number fits, because each importer bounds its own lanes.
        record.lane = *self.lanes.entry((at, record.lane)).or_insert(lane as u32);
        if feed.numbers == DeviceNumbers::Own || record.device == DevId::default() {
            let next = self.devices.len() as u32 + 1;
            let new = || DevId {
                major: 0,
                minor: next,
            };
            record.device = *self.devices.entry((at, record.device)).or_insert_with(new);
        }
        Ok(())
    }

    /// Devices with a new number: the new number, then the recording and the number in it.
    pub(super) fn devices(&self) -> impl Iterator<Item = (&DevId, &(usize, DevId))> {
        self.devices.iter().map(|(was, now)| (now, was))
    }
}
