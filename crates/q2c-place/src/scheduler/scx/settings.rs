//! The machine as the scheduler in the kernel reads it: `struct settings` of `scx/q2c.bpf.c`.

use crate::map::SmtMap;
use crate::rules::{LINUX_THRESHOLD, Rules};

/// `MAX_CPUS` of `scx/rules.h`.
const MAX_CPUS: usize = 1_024;
/// `NO_CPU` of `scx/rules.h`.
const NONE: u32 = u32::MAX;

pub(super) fn bytes(map: &SmtMap, window_ns: u64, rules: Rules) -> Option<Vec<u8>> {
    let number = |cpu: usize| map.id(cpu).0;
    let cpus = (0..map.cpus()).map(number).max().map_or(0, |last| last + 1);
    if cpus as usize > MAX_CPUS {
        return None;
    }
    let mut core_of = vec![NONE; MAX_CPUS];
    let mut cache_of = vec![NONE; MAX_CPUS];
    let mut first_cpu = vec![NONE; MAX_CPUS];
    let mut next_cpu = vec![NONE; MAX_CPUS];
    for (core, first) in first_cpu.iter_mut().enumerate().take(map.cores()) {
        let core_cpus = map.cpus_of(core);
        *first = core_cpus.first().map_or(NONE, |cpu| number(*cpu));
        for (nth, cpu) in core_cpus.iter().enumerate() {
            let id = number(*cpu) as usize;
            core_of[id] = core as u32;
            cache_of[id] = map.cache_of(core) as u32;
            next_cpu[id] = core_cpus.get(nth + 1).map_or(NONE, |next| number(*next));
        }
    }
    let mut bytes = window_ns.to_ne_bytes().to_vec();
    let threshold = rules.threshold(LINUX_THRESHOLD);
    let swaps = u32::from(rules != Rules::Literal);
    let counts = [cpus, map.cores() as u32, threshold, swaps];
    let tables = [core_of, cache_of, first_cpu, next_cpu].concat();
    bytes.extend(counts.into_iter().chain(tables).flat_map(u32::to_ne_bytes));
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::map::Core;
    use q2c_model::CpuId;

    /// Offsets by hand from the C types: 8 bytes, then 4 + 4 x 1024 numbers of 4 bytes.
    #[test]
    fn the_tables_stand_where_the_c_code_reads_them() {
        let cores = [[0, 64], [3, 67]].map(|cpus| Core {
            cpus: cpus.map(CpuId).to_vec(),
            llc: 9,
        });
        let bytes = bytes(&SmtMap::new(&cores), 20_000_000, Rules::Proposed).unwrap();
        assert_eq!(bytes.len(), 8 + 4 * (4 + 4 * MAX_CPUS));
        let at = |nth: usize| {
            let begin = 8 + 4 * nth;
            u32::from_ne_bytes(bytes[begin..begin + 4].try_into().unwrap())
        };
        assert_eq!([0, 1, 2, 3].map(at), [68, 2, 2, 1]);
        let table = |table: usize, index: usize| at(4 + table * MAX_CPUS + index);
        let cores = [0, 64, 3, 67, 1].map(|cpu| table(0, cpu));
        assert_eq!(cores, [0, 0, 1, 1, NONE]);
        assert_eq!((table(2, 0), table(2, 1), table(2, 2)), (0, 3, NONE));
        assert_eq!((table(3, 0), table(3, 64), table(3, 3)), (64, NONE, 67));
    }
}
