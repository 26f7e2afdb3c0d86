//! Statistics of I/Os in groups: by operation, size, device, process, CPU and hardware queue.

use crate::stage::{Stages, Tally};
use q2c_model::{Bytes, Layer, Op};
use q2c_result::analyze::Group;
use q2c_trace::Span;
use q2c_trace::span::NONE_32;
use std::collections::{BTreeMap, HashMap};

/// Processes that the source knows by name alone have numbers from here on. No process has one as
/// its id (`PID_MAX_LIMIT` of Linux is 2^22).
pub(crate) const NAMED: u32 = 1 << 31;

/// Groups by one property. I/Os of further groups than [`ByOne::MOST`] are counted together as
/// `others`.
///
/// `keys` and `tallies` have the same length and order: a key's tally stands at the key's place. A
/// group keeps its place for good.
#[derive(Default)]
struct ByOne {
    keys: Vec<u64>,
    tallies: Vec<Tally>,
    /// Places of the keys from number [`ByOne::SCANNED`] on.
    places: HashMap<u64, usize>,
    others: Option<Box<Tally>>,
}

impl ByOne {
    const MOST: usize = 512;
    /// The first keys, up to this number, are found by comparing with each, without a hash.
    const SCANNED: usize = 32;

    #[inline]
    fn add(&mut self, key: u64, bytes: u64, stages: &Stages) {
        let scanned = &self.keys[..self.keys.len().min(Self::SCANNED)];
        let place = scanned.iter().position(|known| *known == key);
        match place.or_else(|| self.place(key)) {
            Some(place) => self.tallies[place].add(bytes, stages),
            None => self.others.get_or_insert_default().add(bytes, stages),
        }
    }

    fn place(&mut self, key: u64) -> Option<usize> {
        if let Some(place) = self.places.get(&key) {
            return Some(*place);
        }
        let new = self.keys.len();
        if new == Self::MOST {
            return None;
        }
        self.keys.push(key);
        self.tallies.push(Tally::default());
        if new >= Self::SCANNED {
            self.places.insert(key, new);
        }
        Some(new)
    }

    fn told(&self, layer: Layer, name: impl Fn(u64) -> String) -> Vec<Group> {
        let mut order: Vec<usize> = (0..self.keys.len()).collect();
        order.sort_unstable_by_key(|place| self.keys[*place]);
        let known = order
            .iter()
            .map(|place| (name(self.keys[*place]), &self.tallies[*place]));
        let others = self
            .others
            .iter()
            .map(|tally| ("others".to_owned(), &**tally));
        let group = |(key, tally): (String, &Tally)| Group {
            key,
            requests: tally.requests,
            bytes: tally.bytes,
            stages: tally.stages(layer),
        };
        known.chain(others).map(group).collect()
    }
}

/// The groups by each property.
#[derive(Default)]
pub(crate) struct Groups {
    op: ByOne,
    size: ByOne,
    device: ByOne,
    process: ByOne,
    cpu: ByOne,
    hctx: ByOne,
}

/// The smallest power of two that is not below a length; 0 for a length of 0.
fn size_class(bytes: u64) -> u64 {
    match bytes {
        0 => 0,
        bytes => bytes.checked_next_power_of_two().unwrap_or(1 << 63),
    }
}

impl Groups {
    #[inline]
    pub(crate) fn add(&mut self, span: &Span, stages: &Stages) {
        let bytes = span.bytes;
        let device = u64::from(span.device.major) << 32 | u64::from(span.device.minor);
        self.op.add(span.op as u64, bytes, stages);
        self.size.add(size_class(bytes), bytes, stages);
        self.device.add(device, bytes, stages);
        for (groups, key) in [
            (&mut self.process, span.pid),
            (&mut self.cpu, span.cpu_submit),
            (&mut self.hctx, span.hctx),
        ] {
            if key != NONE_32 {
                groups.add(u64::from(key), bytes, stages);
            }
        }
    }

    pub(crate) fn told(
        &self,
        layer: Layer,
        names: &BTreeMap<u32, String>,
    ) -> BTreeMap<String, Vec<Group>> {
        let process = |pid: u64| {
            let name = u32::try_from(pid).ok().and_then(|pid| names.get(&pid));
            match name {
                Some(name) if pid >= u64::from(NAMED) => name.clone(),
                Some(name) => format!("{name} ({pid})"),
                None => pid.to_string(),
            }
        };
        let all = [
            ("op", self.op.told(layer, op_name)),
            ("size", self.size.told(layer, size_name)),
            (
                "device",
                self.device
                    .told(layer, |key| format!("{}:{}", key >> 32, key as u32)),
            ),
            ("process", self.process.told(layer, process)),
            ("cpu", self.cpu.told(layer, |cpu| cpu.to_string())),
            ("hctx", self.hctx.told(layer, |hctx| hctx.to_string())),
        ];
        let some = all.into_iter().filter(|(_, groups)| !groups.is_empty());
        some.map(|(name, groups)| (name.to_owned(), groups))
            .collect()
    }
}

fn op_name(key: u64) -> String {
    let op = Op::ALL.into_iter().find(|op| *op as u64 == key);
    op.map_or_else(String::new, |op| op.name().to_owned())
}

fn size_name(class: u64) -> String {
    match class {
        0 => "none".to_owned(),
        class if class <= 512 => "up to 512 B".to_owned(),
        class => format!("up to {}", Bytes(class)),
    }
}
