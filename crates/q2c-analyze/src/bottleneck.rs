//! Finds the bottleneck by the shares of the stages in Q2C, in total, by load and over time.

use crate::stage::{BEFORE_DRIVER, IoStages, PARTS, Stage};
use crate::windows::{GrowingWindows, Mergeable};
use q2c_result::analyze::{Bottleneck, LoadClass, Tags, TimeWindow};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// From this share of Q2C on, the largest stage before the driver is the bottleneck; else D2C.
const MIN_BOTTLENECK_SHARE: f64 = 0.2;

/// Sums of the parts of Q2C over I/Os, ns, in the order of [`PARTS`].
#[derive(Clone, Copy, Default, Serialize, Deserialize)]
struct BottleneckSums {
    requests: u64,
    q2c: u64,
    parts: [u64; PARTS.len()],
}

impl BottleneckSums {
    fn share(&self, stage: Stage) -> f64 {
        match self.q2c {
            0 => 0.0,
            q2c => self.parts[stage as usize] as f64 / q2c as f64,
        }
    }

    fn shares(&self) -> BTreeMap<String, f64> {
        let takes_time = |stage: &Stage| self.parts[*stage as usize] > 0;
        let share = |stage: Stage| (stage.into_str().to_owned(), self.share(stage));
        PARTS.into_iter().filter(takes_time).map(share).collect()
    }

    fn mean_q2c_ns(&self) -> f64 {
        match self.requests {
            0 => 0.0,
            n => self.q2c as f64 / n as f64,
        }
    }

    /// The largest stage before the driver if its share is [`MIN_BOTTLENECK_SHARE`] or more; else
    /// the larger one of D2C and [`Stage::Rest`].
    fn bottleneck_stage(&self) -> Stage {
        let before = BEFORE_DRIVER.into_iter();
        match before.max_by_key(|stage| self.parts[*stage as usize]) {
            Some(stage) if self.share(stage) >= MIN_BOTTLENECK_SHARE => stage,
            _ if self.share(Stage::Rest) > self.share(Stage::D2C) => Stage::Rest,
            _ => Stage::D2C,
        }
    }
}

impl Mergeable for BottleneckSums {
    fn join(&mut self, other: Self) {
        self.requests.join(other.requests);
        self.q2c.join(other.q2c);
        for (sum, part) in self.parts.iter_mut().zip(other.parts) {
            sum.join(part);
        }
    }
}

const fn stage_reason(stage: Stage) -> &'static str {
    match stage {
        Stage::Q2G => {
            "I/Os wait before they have a request: for a free one (nr_requests, hardware tags), or on the way to it"
        }
        Stage::G2I => "requests wait on the submitter's plug list before they reach the scheduler",
        Stage::I2D => {
            "requests wait in the scheduler: the driver takes no more, or the scheduler holds them back"
        }
        Stage::G2D => {
            "requests wait between allocation and driver without a scheduler: plugging, or a busy hardware queue"
        }
        Stage::Q2M | Stage::M2D => "merged I/Os wait for the request that carries them",
        Stage::D2C => {
            "the device and its driver take the time; the block layer before them adds little"
        }
        _ => "most I/Os lack the events that would tell: bios of stacked devices, or events lost",
    }
}

/// Says why a stage takes long. For Q2G, also how much of the waiting fell to full tags.
fn bottleneck_reason(stage: Stage, tags: &[Tags]) -> String {
    /// Requests count as exhausted if this share of the waiting, or more, began with all in use.
    const MIN_EXHAUSTED_SHARE: f64 = 0.8;
    let sum = |field: fn(&Tags) -> u64| tags.iter().map(field).fold(0, u64::saturating_add);
    let (waited_ns, waited_at_most_ns) = (sum(|t| t.q2g_ns), sum(|t| t.q2g_at_most_ns));
    let most = tags.iter().map(|t| t.most).max().unwrap_or(0);
    if stage != Stage::Q2G || waited_ns == 0 {
        return stage_reason(stage).to_owned();
    }
    let share = waited_at_most_ns as f64 / waited_ns as f64;
    let queues = if tags.len() > 1 { "of a queue" } else { "" };
    let percent = share * 100.0;
    if share >= MIN_EXHAUSTED_SHARE {
        format!(
            "I/Os wait for a free request: {percent:.0} % of the waiting was by I/Os queued while all {most} {queues} were in use, \
             the most that ever were: raise nr_requests, or lower the depth"
        )
    } else {
        format!(
            "I/Os wait before they have a request, but only {percent:.0} % of the waiting was while the most requests ({most} {queues}) were in \
             use: something else holds them up on the way (throttling, a frozen queue, a busy CPU)"
        )
    }
}

/// Most classes of load. No I/O is ever queued with 2^63 or more in flight.
const MAX_LOAD_CLASSES: usize = 63;

#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct StageShares {
    all: BottleneckSums,
    /// By load: class k holds the I/Os queued with 2^k to 2^(k+1) - 1 in flight.
    loads: Vec<BottleneckSums>,
    windows: GrowingWindows<BottleneckSums>,
}

impl StageShares {
    pub(crate) fn add(&mut self, queue_ns: u64, depth: u64, stages: &IoStages) {
        let io = BottleneckSums {
            requests: 1,
            q2c: stages.q2c(),
            parts: stages.parts(),
        };
        self.all.join(io);
        let class = depth.max(1).ilog2() as usize;
        if self.loads.len() <= class {
            self.loads.resize(class + 1, BottleneckSums::default());
        }
        self.loads[class].join(io);
        self.windows.window_mut(queue_ns).join(io);
    }

    pub(crate) fn merge(&mut self, other: StageShares) {
        self.all.join(other.all);
        let most = self.loads.len().max(other.loads.len());
        self.loads.resize(most, BottleneckSums::default());
        for (sums, more) in self.loads.iter_mut().zip(other.loads) {
            sums.join(more);
        }
        self.windows.join(other.windows);
    }

    /// `None` if no I/O has an event between its start and its end, so that stages are unknown.
    /// `tags` may explain why I/Os waited for requests.
    pub(crate) fn bottleneck(&self, tags: &[Tags], origin: u64) -> Option<Bottleneck> {
        let known = |stage: &Stage| *stage != Stage::Rest && self.all.parts[*stage as usize] > 0;
        if self.all.requests == 0 || !PARTS.iter().any(known) {
            return None;
        }
        let stage = self.all.bottleneck_stage();
        let rule = "the largest stage before the driver if it takes at least 20 % of the sum of Q2C, else D2C";
        Some(Bottleneck {
            stage: stage.into_str().to_owned(),
            share: self.all.share(stage),
            why: bottleneck_reason(stage, tags),
            rule: rule.to_owned(),
            shares: self.all.shares(),
            over_load: self.over_load(),
            over_time: self.over_time(origin),
        })
    }

    fn over_load(&self) -> Vec<LoadClass> {
        let class = |(class, sums): (usize, &BottleneckSums)| LoadClass {
            from: 1 << class,
            to: (2 << class) - 1,
            requests: sums.requests,
            mean_q2c_ns: sums.mean_q2c_ns(),
            stage: sums.bottleneck_stage().into_str().to_owned(),
            shares: sums.shares(),
        };
        let classes = self.loads.iter().enumerate().take(MAX_LOAD_CLASSES);
        let with_requests = classes.filter(|(_, sums)| sums.requests > 0);
        with_requests.map(class).collect()
    }

    fn over_time(&self, origin: u64) -> Vec<TimeWindow> {
        let window = |(start_ns, length_ns, sums): (u64, u64, &BottleneckSums)| TimeWindow {
            start_ns,
            length_ns,
            requests: sums.requests,
            mean_q2c_ns: sums.mean_q2c_ns(),
            stage: sums.bottleneck_stage().into_str().to_owned(),
            shares: sums.shares(),
        };
        let windows = self.windows.iter(origin);
        let with_requests = windows.filter(|(_, _, sums)| sums.requests > 0);
        with_requests.map(window).collect()
    }
}
