//! What must not be taken for the same in two recordings.

use super::feed::{Feed, Numbers};
use crate::import::error::ImportError;
use q2c_model::{DevId, IoRecord};
use std::collections::{BTreeMap, HashMap};

/// New numbers for ids, lanes and devices.
pub(super) struct Apart {
    recordings: u64,
    lanes: HashMap<(usize, u32), u32>,
    /// By recording and its own number.
    devices: BTreeMap<(usize, DevId), DevId>,
}

impl Apart {
    pub(super) fn new(recordings: u64) -> Self {
        Apart {
            recordings,
            lanes: HashMap::new(),
            devices: BTreeMap::new(),
        }
    }

    /// Renumbers a record of the recording at `at`.
    pub(super) fn place(
        &mut self,
        record: &mut IoRecord,
        at: usize,
        feed: &Feed<'_>,
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
        // There are fewer lanes than records in memory would allow for: each importer bounds its own.
        record.lane = *self.lanes.entry((at, record.lane)).or_insert(lane as u32);
        if feed.numbers == Numbers::Own || record.device == DevId::default() {
            let next = self.devices.len() as u32 + 1;
            let new = || DevId {
                major: 0,
                minor: next,
            };
            record.device = *self.devices.entry((at, record.device)).or_insert_with(new);
        }
        Ok(())
    }

    /// Devices with new numbers, and what they were: recording and number.
    pub(super) fn devices(&self) -> impl Iterator<Item = (&DevId, &(usize, DevId))> {
        self.devices.iter().map(|(was, now)| (now, was))
    }
}
