//! Statistics of I/Os in groups: by operation, size, device, process, CPU and hardware queue.
//!
//! [`KeyedTallies`] finds the tally of a group by its key.

use crate::stage::{IoStages, Stage, StageTally};
use crate::state::InexactMarks;
use q2c_model::{Bytes, DevId, Layer, Op};
use q2c_result::analyze::{Group, InexactFigure, InexactReason};
use q2c_trace::Span;
use q2c_trace::span::NONE_32;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

/// First of the numbers that stand for processes without a known id. It is above every id
/// (`PID_MAX_LIMIT` of Linux is 2^22).
pub(crate) const FIRST_STAND_IN_PID: u32 = 1 << 31;

/// Groups by one property; I/Os beyond [`KeyedTallies::MAX_GROUPS`] groups are counted together as
/// `others`.
#[derive(Clone, Default, Serialize, Deserialize)]
struct PropertyGroups {
    groups: KeyedTallies<u64>,
    others: Option<Box<StageTally>>,
}

impl PropertyGroups {
    #[inline]
    fn tally(&mut self, key: u64) -> &mut StageTally {
        let groups = &mut self.groups;
        let index = match groups.find(key) {
            Some(index) => index,
            None if groups.keys.len() < KeyedTallies::<u64>::MAX_GROUPS => groups.add(key),
            None => return self.others.get_or_insert_default(),
        };
        &mut groups.tallies[index]
    }

    fn iter_tallies(&self) -> impl Iterator<Item = &StageTally> {
        self.groups.tallies.iter().chain(self.others.as_deref())
    }

    /// Adds a later part's groups. Returns false if its `others` may hold I/Os of groups known
    /// here.
    fn merge(&mut self, later: PropertyGroups) -> bool {
        let exact = later.others.is_none() || self.groups.keys.is_empty();
        for (key, tally) in later.groups.keys.into_iter().zip(&later.groups.tallies) {
            self.tally(key).merge(tally);
        }
        if let Some(others) = later.others {
            self.others.get_or_insert_default().merge(&others);
        }
        exact
    }

    fn groups(&self, layer: Layer, name: impl Fn(u64) -> String) -> Vec<Group> {
        let KeyedTallies { keys, tallies, .. } = &self.groups;
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_unstable_by_key(|index| keys[*index]);
        let named = order.iter().map(|&n| (name(keys[n]), &tallies[n]));
        let others = self.others.iter();
        let others = others.map(|tally| ("others".to_owned(), &**tally));
        let group = |(key, tally): (String, &StageTally)| Group {
            key,
            requests: tally.requests,
            bytes: tally.bytes,
            stages: tally.stages(layer),
        };
        named.chain(others).map(group).collect()
    }
}

/// The properties with few values, so that most I/Os share few combinations of them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
struct IoProperties {
    op: Op,
    size: u64,
    device: DevId,
}

impl IoProperties {
    #[inline]
    fn from_span(span: &Span) -> IoProperties {
        IoProperties {
            op: span.op,
            size: size_class(span.bytes),
            device: span.device,
        }
    }

    /// The keys of the groups by operation, size and device, in the order of [`PROPERTIES`].
    fn keys(self) -> [u64; 3] {
        [self.op as u64, self.size, device_key(self.device)]
    }
}

fn device_key(device: DevId) -> u64 {
    u64::from(device.major) << 32 | u64::from(device.minor)
}

/// The properties by which I/Os are grouped. The first three are those of [`IoProperties`].
const PROPERTIES: [&str; 6] = ["op", "size", "device", "process", "cpu", "hctx"];
const DEVICE: usize = 2;

/// Counting is most of an analysis's work. So for operation, size and device an I/O is counted
/// once, in the tally of its combination (`kinds`); [`Groups::sum_up`] adds these tallies to the
/// groups at the end. Groups by process, CPU and queue count the I/O at once.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Groups {
    kinds: KeyedTallies<IoProperties>,
    /// In the order of [`PROPERTIES`].
    properties: [PropertyGroups; PROPERTIES.len()],
}

/// The smallest power of two that is not below a length in bytes; 0 for a length of 0.
fn size_class(bytes: u64) -> u64 {
    match bytes {
        0 => 0,
        bytes => bytes.checked_next_power_of_two().unwrap_or(1 << 63),
    }
}

impl Groups {
    /// Most combinations with a tally. I/Os of further combinations are counted in their groups.
    const MAX_KINDS: usize = 128;

    #[inline]
    pub(crate) fn add(&mut self, span: &Span, stages: &IoStages) {
        let bytes = span.bytes;
        let kind = IoProperties::from_span(span);
        match self.kinds.find(kind).or_else(|| self.new_kind(kind)) {
            Some(index) => self.kinds.tallies[index].add(bytes, stages),
            None => self.update_kind_groups(kind, |group| group.add(bytes, stages)),
        }
        self.update_span_groups(span, |group| group.add(bytes, stages));
    }

    fn update_kind_groups(&mut self, kind: IoProperties, mut update: impl FnMut(&mut StageTally)) {
        for (groups, key) in self.properties.iter_mut().zip(kind.keys()) {
            update(groups.tally(key));
        }
    }

    /// Visits the groups by process, CPU and queue, which [`IoProperties`] do not cover.
    #[inline]
    fn update_span_groups(&mut self, span: &Span, mut update: impl FnMut(&mut StageTally)) {
        let keys = [span.pid, span.cpu_submit, span.hctx];
        for (groups, key) in self.properties[DEVICE + 1..].iter_mut().zip(keys) {
            if key != NONE_32 {
                update(groups.tally(u64::from(key)));
            }
        }
    }

    /// Gives a combination a tally unless there are too many. The update that changes nothing
    /// creates the groups now, so that the order of the I/Os alone decides which groups there are.
    #[cold]
    fn new_kind(&mut self, kind: IoProperties) -> Option<usize> {
        if self.kinds.keys.len() == Self::MAX_KINDS {
            return None;
        }
        self.update_kind_groups(kind, |_| {});
        Some(self.kinds.add(kind))
    }

    pub(crate) fn join(&mut self, later: Groups, marks: &mut InexactMarks) {
        if !self.merge(later) {
            marks.add(InexactFigure::Groups, InexactReason::Overflow);
        }
    }

    /// Groups of other devices have no common order, so the result is inexact if `others` has any.
    pub(crate) fn merge_devices(&mut self, other: Groups, marks: &mut InexactMarks) {
        self.merge(other);
        if self.properties.iter().any(|groups| groups.others.is_some()) {
            marks.add(InexactFigure::Groups, InexactReason::Overflow);
        }
    }

    fn merge(&mut self, mut other: Groups) -> bool {
        self.sum_up();
        other.sum_up();
        let mut exact = true;
        for (groups, other_groups) in self.properties.iter_mut().zip(other.properties) {
            exact &= groups.merge(other_groups);
        }
        exact
    }

    /// Adds a stage of an I/O that is counted already: its gap to the last I/O of an earlier part.
    pub(crate) fn add_stage(&mut self, span: &Span, stage: Stage, ns: u64) {
        let kind = IoProperties::from_span(span);
        self.update_kind_groups(kind, |group| group.add_stage(stage, ns));
        self.update_span_groups(span, |group| group.add_stage(stage, ns));
    }

    pub(crate) fn devices(&self) -> BTreeSet<u64> {
        let kinds = self.kinds.keys.iter().map(|kind| device_key(kind.device));
        let groups = self.properties[DEVICE].groups.keys.iter();
        groups.copied().chain(kinds).collect()
    }

    /// Adds the tallies of the combinations to their groups. Returns the tally of all I/Os.
    pub(crate) fn sum_up(&mut self) -> StageTally {
        let kinds = std::mem::take(&mut self.kinds);
        for (kind, tally) in kinds.keys.into_iter().zip(&kinds.tallies) {
            self.update_kind_groups(kind, |group| group.merge(tally));
        }
        let mut total = StageTally::default();
        for tally in self.properties[0].iter_tallies() {
            total.merge(tally);
        }
        total
    }

    pub(crate) fn groups_by_property(
        &self,
        layer: Layer,
        names: &BTreeMap<u32, String>,
    ) -> BTreeMap<String, Vec<Group>> {
        let name = |property: &str, key: u64| match property {
            "op" => op_name(key),
            "size" => size_name(key),
            "device" => format!("{}:{}", key >> 32, key as u32),
            "process" => process_name(key, names),
            _ => key.to_string(),
        };
        let properties = PROPERTIES.into_iter().zip(&self.properties);
        let groups = properties.map(|(property, groups)| {
            let groups = groups.groups(layer, |key| name(property, key));
            (property.to_owned(), groups)
        });
        groups.filter(|(_, groups)| !groups.is_empty()).collect()
    }
}

fn process_name(pid: u64, names: &BTreeMap<u32, String>) -> String {
    let name = u32::try_from(pid).ok().and_then(|pid| names.get(&pid));
    match name {
        Some(name) if pid >= u64::from(FIRST_STAND_IN_PID) => name.clone(),
        Some(name) => format!("{name} ({pid})"),
        None => pid.to_string(),
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

/// Finds the tally of a key. A key's index in `tallies` never changes.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "StoredTallies<K>", into = "StoredTallies<K>")]
#[serde(bound(
    serialize = "K: Copy + Serialize",
    deserialize = "K: Copy + Eq + Hash + Deserialize<'de>"
))]
pub(crate) struct KeyedTallies<K> {
    pub(crate) keys: Vec<K>,
    pub(crate) tallies: Vec<StageTally>,
    /// Indices of the keys from [`KeyedTallies::MAX_SCANNED`] on.
    hashed: HashMap<K, usize>,
}

/// The serialised form: each key with its tally, in the order of their indices.
#[derive(Serialize, Deserialize)]
struct StoredTallies<K>(Vec<(K, StageTally)>);

impl<K> From<KeyedTallies<K>> for StoredTallies<K> {
    fn from(tallies: KeyedTallies<K>) -> Self {
        StoredTallies(tallies.keys.into_iter().zip(tallies.tallies).collect())
    }
}

impl<K: Copy + Eq + Hash> TryFrom<StoredTallies<K>> for KeyedTallies<K> {
    type Error = &'static str;

    fn try_from(stored: StoredTallies<K>) -> Result<Self, &'static str> {
        let mut keyed = KeyedTallies::default();
        for (key, tally) in stored.0 {
            if keyed.find(key).is_some() || keyed.keys.len() == Self::MAX_GROUPS {
                return Err("a group twice, or more groups than are told apart");
            }
            let index = keyed.add(key);
            keyed.tallies[index] = tally;
        }
        Ok(keyed)
    }
}

impl<K> Default for KeyedTallies<K> {
    fn default() -> Self {
        KeyedTallies {
            keys: Vec::new(),
            tallies: Vec::new(),
            hashed: HashMap::new(),
        }
    }
}

impl<K: Copy + Eq + Hash> KeyedTallies<K> {
    /// Most groups of one property, which bounds memory and results.
    pub(crate) const MAX_GROUPS: usize = 512;
    /// Number of first keys that are found by comparison, which is faster for few keys than a hash.
    const MAX_SCANNED: usize = 32;

    #[inline]
    pub(crate) fn find(&self, key: K) -> Option<usize> {
        let scanned = &self.keys[..self.keys.len().min(Self::MAX_SCANNED)];
        let index = scanned.iter().position(|known| *known == key);
        if self.hashed.is_empty() {
            index
        } else {
            index.or_else(|| self.hashed.get(&key).copied())
        }
    }

    pub(crate) fn add(&mut self, key: K) -> usize {
        let new = self.keys.len();
        self.keys.push(key);
        self.tallies.push(StageTally::default());
        if new >= Self::MAX_SCANNED {
            self.hashed.insert(key, new);
        }
        new
    }
}
