//! The end of a trace: which of its lanes are simulated, and how its records were interpreted.

use super::{LaneGroup, Recordings, UserLanes};
use crate::dealing::RequestGroup;
use crate::recording::{LaneRecording, ReasonCounts, RecordingError};
use q2c_model::{Bytes, DeviceTime, Interpretation, LanesBy, Layer, LeftOutReason, Nanos};
use std::collections::BTreeMap;

/// The lanes that are simulated, and how the trace was interpreted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LaneSelection {
    /// Indices of the lanes in their order; [`Recordings::drain`] names lanes by the same indices.
    pub lanes: Vec<usize>,
    /// [`LaneRecording::first_at`] of each of these lanes, ns.
    pub first_at: Vec<f64>,
    /// [`LaneRecording::gap_cpu`] of all these lanes.
    pub gap_cpu: Option<Nanos>,
    /// The lengths that occur, in rising order.
    pub sizes: Vec<Bytes>,
    /// How records were interpreted, and which were left out.
    pub interpretation: Interpretation,
}

impl Recordings {
    /// Chooses the layer and the lanes that are simulated, and completes their think times.
    ///
    /// # Errors
    /// Fails if no request is complete, all are left out, the trace lacks the requested times, the
    /// recording method slept, a user-layer lane overlaps, or requests are not sorted.
    pub fn select_lanes(&mut self) -> Result<LaneSelection, RecordingError> {
        self.deal(true);
        let group = self.choose_group()?;
        self.check_group(group)?;
        let (begin, end) = self.tallies[group.index()].span.unwrap_or_default();
        let is_block = group != LaneGroup::User;
        let lanes = self.lanes.iter_mut().enumerate();
        let mut lanes: Vec<_> = lanes.filter(|(_, lane)| lane.group == group).collect();
        lanes.sort_by_key(|(index, lane)| (lane.number, *index));
        for (_, lane) in lanes.iter_mut().filter(|_| is_block) {
            lane.set_span(begin, end);
        }
        let sizes = self.tallies[group.index()].sizes.iter();
        let sizes = sizes.map(|bytes| Bytes(u64::from(*bytes)));
        let first_at = lanes.iter().map(|(_, lane)| lane.recording.first_at);
        Ok(LaneSelection {
            first_at: first_at.collect(),
            lanes: lanes.into_iter().map(|(index, _)| index).collect(),
            gap_cpu: is_block.then_some(Nanos::ZERO),
            sizes: sizes.collect(),
            interpretation: self.interpretation(group),
        })
    }

    /// Returns the lanes that are simulated, in their order, and how the trace was interpreted.
    ///
    /// # Errors
    /// Fails as [`select_lanes`](Self::select_lanes) does.
    pub fn finish(mut self) -> Result<(Vec<LaneRecording>, LaneSelection), RecordingError> {
        let selection = self.select_lanes()?;
        let take = |index: &usize| std::mem::take(&mut self.lanes[*index].recording);
        Ok((selection.lanes.iter().map(take).collect(), selection))
    }

    fn choose_group(&self) -> Result<LaneGroup, RecordingError> {
        let [user, driven, queued] = [0, 1, 2].map(|group: usize| self.tallies[group].ios);
        match self.options.latency {
            None if user > 0 => Ok(LaneGroup::User),
            _ if driven > 0 => Ok(LaneGroup::Block(RequestGroup::Driven)),
            _ if queued > 0 => Ok(LaneGroup::Block(RequestGroup::Queued)),
            asked => Err(self.no_lanes_error(asked, user)),
        }
    }

    fn no_lanes_error(&self, asked: Option<DeviceTime>, user: u64) -> RecordingError {
        let [user_reasons, block_reasons] = &self.left_out;
        let lacking = block_reasons.get(&LeftOutReason::NoBegin).copied();
        match (asked, lacking) {
            (Some(asked), _) if user > 0 => RecordingError::NotBlockLayer { asked },
            (Some(asked), Some(lacking)) => RecordingError::NoDeviceTime {
                asked,
                lacking,
                others: self.other_times.clone(),
            },
            _ if self.completed == 0 => RecordingError::NoCompletions(self.records),
            _ => {
                let mut reasons = block_reasons.clone();
                for (reason, count) in user_reasons {
                    *reasons.entry(*reason).or_default() += count;
                }
                RecordingError::NothingLeft(ReasonCounts(reasons))
            }
        }
    }

    fn check_group(&self, group: LaneGroup) -> Result<(), RecordingError> {
        let UserLanes { slept_ios, .. } = self.user;
        let by_device = self.options.lanes == Some(LanesBy::Device);
        match (group, self.user.overlapping_lane, self.pending.unsorted) {
            (LaneGroup::User, ..) if slept_ios > 0 => Err(RecordingError::Slept(slept_ios)),
            (LaneGroup::User, Some(lane), _) => Err(RecordingError::Overlap(lane)),
            (LaneGroup::User, ..) if by_device => Err(RecordingError::NoLanesByDevice),
            (LaneGroup::Block(_), _, Some(id)) => Err(RecordingError::Unsorted(id)),
            _ => Ok(()),
        }
    }

    fn interpretation(&mut self, group: LaneGroup) -> Interpretation {
        let [user, driven, queued] = [0, 1, 2].map(|group: usize| self.tallies[group].ios);
        let [mut user_reasons, mut block_reasons] = std::mem::take(&mut self.left_out);
        let sum = |left_out: &BTreeMap<LeftOutReason, u64>| left_out.values().sum::<u64>();
        let (layer, latency, owners) = match group {
            LaneGroup::User => {
                let other_layer = sum(&block_reasons) + driven + queued;
                count(&mut user_reasons, LeftOutReason::OtherLayer, other_layer);
                let lanes = self.lanes.iter().filter(|lane| lane.group == group);
                (Layer::User, DeviceTime::Wait, lanes.count())
            }
            LaneGroup::Block(block_group) => {
                let other_layer = sum(&user_reasons) + user;
                count(&mut block_reasons, LeftOutReason::OtherLayer, other_layer);
                let default_latency = match block_group {
                    RequestGroup::Driven => {
                        count(&mut block_reasons, LeftOutReason::NotDriven, queued);
                        DeviceTime::D2c
                    }
                    RequestGroup::Queued => DeviceTime::Q2c,
                };
                let latency = self.options.latency.unwrap_or(default_latency);
                (Layer::Block, latency, self.dealing.owners(block_group))
            }
        };
        let tally = &mut self.tallies[group.index()];
        tally.count_device();
        let devices = std::mem::take(&mut tally.devices).into_iter();
        Interpretation {
            layer,
            latency,
            latency_asked: self.options.latency,
            submission_ns: tally.submission_ns as f64 / tally.ios as f64,
            lanes_by: self.options.lanes.unwrap_or_default(),
            owners,
            overlapping: tally.overlapping,
            devices: devices.map(|(device, n)| (device.to_string(), n)).collect(),
            left_out: match layer {
                Layer::User => user_reasons,
                Layer::Block => block_reasons,
            },
            polled: (layer == Layer::Block).then_some(tally.polled),
            ..Interpretation::default()
        }
    }
}

fn count(left_out: &mut BTreeMap<LeftOutReason, u64>, reason: LeftOutReason, records: u64) {
    if records > 0 {
        *left_out.entry(reason).or_default() += records;
    }
}
