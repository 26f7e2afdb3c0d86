//! The end of a trace: which of its lanes are simulated, and how its records were interpreted.

use super::{LaneGroup, Recordings, UserLanes};
use crate::dealing::RequestGroup;
use crate::recording::{Counted, LaneRecording, RecordingError};
use q2c_model::{Bytes, DeviceTime, LanesBy, Layer, LeftOut, Nanos, TakenAs};
use std::collections::BTreeMap;

/// The lanes that are simulated, and how the trace was interpreted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Closed {
    /// Indices of the lanes in their order; [`Recordings::give`] names lanes by the same indices.
    pub lanes: Vec<usize>,
    /// [`LaneRecording::first_at`] of each of these lanes, ns.
    pub first_at: Vec<f64>,
    /// [`LaneRecording::gap_cpu`] of all these lanes.
    pub gap_cpu: Option<Nanos>,
    /// The lengths that occur, in rising order.
    pub sizes: Vec<Bytes>,
    /// How records were interpreted, and which were left out.
    pub taken_as: TakenAs,
}

impl Recordings {
    /// Chooses the layer and the lanes that are simulated, and completes their think times.
    ///
    /// # Errors
    /// Fails if no request is complete or left, the trace lacks what was requested, the recording
    /// method slept, a user-layer lane overlaps, or requests are not sorted.
    pub fn close(&mut self) -> Result<Closed, RecordingError> {
        self.deal(true);
        let group = self.chosen()?;
        self.check(group)?;
        let (first, last) = self.tallies[group.index()].span.unwrap_or_default();
        let block = group != LaneGroup::User;
        let lanes = self.lanes.iter_mut().enumerate();
        let mut group_lanes: Vec<_> = lanes.filter(|(_, lane)| lane.group == group).collect();
        group_lanes.sort_by_key(|(index, lane)| (lane.number, *index));
        for (_, lane) in group_lanes.iter_mut().filter(|_| block) {
            lane.fit(first, last);
        }
        let lanes = group_lanes.into_iter();
        let (lanes, first_at) = lanes
            .map(|(at, lane)| (at, lane.recording.first_at))
            .unzip();
        Ok(Closed {
            lanes,
            first_at,
            gap_cpu: block.then_some(Nanos::ZERO),
            sizes: self.sizes(group),
            taken_as: self.taken_as(group),
        })
    }

    /// Returns the lanes that are simulated, in their order, and how the trace was interpreted.
    ///
    /// # Errors
    /// Fails as [`close`](Self::close) does.
    pub fn finish(mut self) -> Result<(Vec<LaneRecording>, Closed), RecordingError> {
        let closed = self.close()?;
        let take = |index: &usize| std::mem::take(&mut self.lanes[*index].recording);
        Ok((closed.lanes.iter().map(take).collect(), closed))
    }

    fn chosen(&self) -> Result<LaneGroup, RecordingError> {
        let [user, driven, queued] = [0, 1, 2].map(|group: usize| self.tallies[group].ios);
        match self.taking.latency {
            None if user > 0 => Ok(LaneGroup::User),
            _ if driven > 0 => Ok(LaneGroup::Block(RequestGroup::Driven)),
            _ if queued > 0 => Ok(LaneGroup::Block(RequestGroup::Queued)),
            asked => Err(self.nothing(asked, user)),
        }
    }

    fn nothing(&self, asked: Option<DeviceTime>, user: u64) -> RecordingError {
        let [of_user, of_block] = &self.left_out;
        let lacking = of_block.get(&LeftOut::NoBegin).copied();
        match (asked, lacking) {
            (Some(asked), _) if user > 0 => RecordingError::NotBlockLayer { asked },
            (Some(asked), Some(lacking)) => RecordingError::NoDeviceTime {
                asked,
                lacking,
                others: self.other_times.clone(),
            },
            _ if self.completed == 0 => RecordingError::NoCompletions(self.records),
            _ => {
                let mut reasons = of_block.clone();
                for (reason, count) in of_user {
                    *reasons.entry(*reason).or_default() += count;
                }
                RecordingError::NothingLeft(Counted(reasons))
            }
        }
    }

    fn check(&self, group: LaneGroup) -> Result<(), RecordingError> {
        let UserLanes { slept, overlap, .. } = &self.user;
        match group {
            LaneGroup::User if *slept > 0 => Err(RecordingError::Slept(*slept)),
            LaneGroup::User => match (overlap, self.taking.lanes) {
                (Some(lane), _) => Err(RecordingError::Overlap(*lane)),
                (None, Some(LanesBy::Device)) => Err(RecordingError::NoLanesByDevice),
                _ => Ok(()),
            },
            LaneGroup::Block(_) => match self.open.unsorted {
                Some(id) => Err(RecordingError::Unsorted(id)),
                None => Ok(()),
            },
        }
    }

    fn sizes(&self, group: LaneGroup) -> Vec<Bytes> {
        let sizes = self.tallies[group.index()].sizes.iter();
        sizes.map(|bytes| Bytes(u64::from(*bytes))).collect()
    }

    fn taken_as(&mut self, group: LaneGroup) -> TakenAs {
        let [user, _, queued] = [0, 1, 2].map(|group: usize| self.tallies[group].ios);
        let [mut of_user, mut of_block] = std::mem::take(&mut self.left_out);
        let sum = |left_out: &BTreeMap<LeftOut, u64>| left_out.values().sum::<u64>();
        let (layer, latency, owners) = match group {
            LaneGroup::User => {
                let others = sum(&of_block) + self.tallies[1].ios + queued;
                count(&mut of_user, LeftOut::OtherLayer, others);
                let lanes = self.lanes.iter().filter(|lane| lane.group == group);
                (Layer::User, DeviceTime::Wait, lanes.count())
            }
            LaneGroup::Block(block_group) => {
                let others = sum(&of_user) + user;
                count(&mut of_block, LeftOut::OtherLayer, others);
                let usual = match block_group {
                    RequestGroup::Driven => {
                        count(&mut of_block, LeftOut::NotDriven, queued);
                        DeviceTime::D2c
                    }
                    RequestGroup::Queued => DeviceTime::Q2c,
                };
                let latency = self.taking.latency.unwrap_or(usual);
                (Layer::Block, latency, self.dealing.owners(block_group))
            }
        };
        let tally = &mut self.tallies[group.index()];
        tally.count_device();
        let devices = std::mem::take(&mut tally.devices).into_iter();
        TakenAs {
            layer,
            latency,
            latency_asked: self.taking.latency,
            submission_ns: tally.submission as f64 / tally.ios as f64,
            lanes_by: self.taking.lanes.unwrap_or_default(),
            owners,
            overlapping: tally.overlapping,
            devices: devices.map(|(device, n)| (device.to_string(), n)).collect(),
            left_out: match layer {
                Layer::User => of_user,
                Layer::Block => of_block,
            },
            polled: (layer == Layer::Block).then_some(tally.polled),
            ..TakenAs::default()
        }
    }
}

fn count(left_out: &mut BTreeMap<LeftOut, u64>, reason: LeftOut, records: u64) {
    if records > 0 {
        *left_out.entry(reason).or_default() += records;
    }
}
