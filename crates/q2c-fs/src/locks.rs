//! Which code waited for locks: the function that wanted the lock, and the function's layer.

use q2c_capture::cpu_profile::{CpuProfileCounts, SampledBy, StackSamples};
use q2c_capture::lock_waits::{Function, LockWaitCounts};
use q2c_result::fs::{
    KernelLayer, LockKind, LockSite, ProfiledBy, ProfiledFunction, SeenLocks, SeenProfile,
};
use std::collections::BTreeMap;

/// Name prefixes of functions that report a wait. The functions above them in a stack are the
/// probe's own, which have no names.
const REPORTING: &str = "bpf_trace_ __bpf_trace_ __traceiter_ trace_contention_";

/// Name prefixes of the functions of locks.
const LOCK_PREFIXES: &str = "_raw_ __raw_ queued_ native_queued_ __pv_queued_ pv_ do_raw_ mutex_ __mutex_ \
                     rwsem_ down_ __down_ up_ __up_ percpu_ __percpu_ rt_ __rt_ osq_ ww_ __ww_ \
                     __lock_ lock_acquire";

/// Name prefixes of a layer's functions, for layers that are in the kernel itself.
const LAYER_PREFIXES: [(KernelLayer, &str); 8] = [
    (KernelLayer::Ext4, "ext4_ __ext4_ jbd2_ __jbd2_"),
    (KernelLayer::Xfs, "xfs_ xlog_"),
    (KernelLayer::Btrfs, "btrfs_ __btrfs_"),
    (KernelLayer::F2fs, "f2fs_ __f2fs_"),
    (
        KernelLayer::PageCache,
        "filemap_ folio_ __folio_ page_cache_ writeback_ balance_dirty_ generic_file_ lru_",
    ),
    (
        KernelLayer::Block,
        "blk_ __blk_ bio_ submit_bio __submit_bio sbitmap_ dd_ wbt_",
    ),
    (KernelLayer::Driver, "loop_ lo_ nvme_ virtblk_"),
    (KernelLayer::Vfs, "iomap_ vfs_ inode_ touch_atime"),
];

const LAYER_MODULES: [(KernelLayer, &str); 5] = [
    (KernelLayer::Ext4, "ext4 jbd2"),
    (KernelLayer::Xfs, "xfs"),
    (KernelLayer::Btrfs, "btrfs"),
    (KernelLayer::F2fs, "f2fs"),
    (KernelLayer::Driver, "loop nvme virtio_blk ramdisk_mq"),
];

/// The flags `LCB_F_...` of the kernel's include/trace/events/lock.h.
const SPIN: u32 = 1;
const READ: u32 = 2;
const WRITE: u32 = 4;
const RT: u32 = 8;
const PERCPU: u32 = 16;
const MUTEX: u32 = 32;

fn kind(flags: u32) -> LockKind {
    let has = |bits: u32| flags & bits == bits;
    match flags {
        _ if has(MUTEX) => LockKind::Mutex,
        _ if has(RT) => LockKind::RtMutex,
        _ if has(PERCPU) => LockKind::PercpuRwsem,
        _ if has(SPIN | READ) => LockKind::RwlockRead,
        _ if has(SPIN | WRITE) => LockKind::RwlockWrite,
        _ if has(SPIN) => LockKind::Spinlock,
        _ if has(READ) => LockKind::RwsemRead,
        _ if has(WRITE) => LockKind::RwsemWrite,
        // A semaphore, or a mutex in a kernel that has no flag for mutexes yet.
        _ => LockKind::Sleeping,
    }
}

fn layer(function: &Function) -> Option<KernelLayer> {
    let by_module = function.module.as_deref().and_then(|module| {
        let is_among = |names: &str| names.split(' ').any(|name| name == module);
        LAYER_MODULES.iter().find(|(_, names)| is_among(names))
    });
    let mut layers = LAYER_PREFIXES.iter();
    let by_name = || layers.find(|(_, begins)| begins_with_one_of(&function.name, begins));
    by_module.or_else(by_name).map(|(layer, _)| *layer)
}

fn begins_with_one_of(name: &str, begins: &str) -> bool {
    begins.split(' ').any(|begin| name.starts_with(begin))
}

/// The part of a stack from the function that wanted the lock to its outermost caller.
fn wanting_part(stack: &[Function]) -> &[Function] {
    let begins = |function: &Function, with| begins_with_one_of(&function.name, with);
    let reporting = stack.iter().rposition(|f| begins(f, REPORTING));
    let stack = &stack[reporting.map_or(0, |last| last + 1)..];
    let wanted = stack.iter().position(|f| !begins(f, LOCK_PREFIXES));
    &stack[wanted.unwrap_or(stack.len())..]
}

/// The innermost function of a stack, and the first known layer from there outwards.
fn innermost(stack: &[Function]) -> (String, KernelLayer) {
    let function = stack.first().map_or("unknown", |function| &function.name);
    let layer = stack.iter().find_map(layer).unwrap_or(KernelLayer::Other);
    (function.to_owned(), layer)
}

/// Adds up waits by the code that wanted the lock, the longest total first.
pub(crate) fn sum_waits(counts: &LockWaitCounts, thread_seconds: f64) -> SeenLocks {
    let mut by_site: BTreeMap<(String, KernelLayer, LockKind), (u64, u64)> = BTreeMap::new();
    for wait in &counts.waits {
        let (site, layer) = innermost(wanting_part(&wait.stack));
        let (waits, ns) = by_site.entry((site, layer, kind(wait.flags))).or_default();
        *waits += wait.waits;
        *ns += wait.ns;
    }
    let site = |((site, layer, kind), (waits, wait_ns))| LockSite {
        site,
        layer,
        kind,
        waits,
        wait_ns,
    };
    let mut sites: Vec<LockSite> = by_site.into_iter().map(site).collect();
    sites.sort_by_key(|site| std::cmp::Reverse(site.wait_ns));
    SeenLocks {
        thread_seconds,
        sites,
        lost: counts.lost,
    }
}

/// Adds up samples by function, the most frequent first.
pub(crate) fn sum_samples(counts: &CpuProfileCounts) -> SeenProfile {
    let mut samples_by_function: BTreeMap<(String, KernelLayer), u64> = BTreeMap::new();
    for StackSamples { stack, samples } in &counts.kernel {
        *samples_by_function.entry(innermost(stack)).or_default() += samples;
    }
    let function = |((function, layer), samples)| ProfiledFunction {
        function,
        layer,
        samples,
    };
    let functions = samples_by_function.into_iter().map(function);
    let mut functions: Vec<ProfiledFunction> = functions.collect();
    functions.sort_by_key(|function| std::cmp::Reverse(function.samples));
    SeenProfile {
        by: match counts.by {
            SampledBy::Cycles => ProfiledBy::Cycles,
            SampledBy::CpuClock => ProfiledBy::CpuClock,
        },
        user: counts.user,
        functions,
        lost: counts.lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_capture::lock_waits::LockWait;

    fn stack(names: &str) -> Vec<Function> {
        let function = |name: &str| {
            let (name, module) = name.split_once('@').unwrap_or((name, ""));
            Function {
                name: name.to_owned(),
                module: (!module.is_empty()).then(|| module.to_owned()),
            }
        };
        names.split_whitespace().map(function).collect()
    }

    fn wait(names: &str, flags: u32, ns: u64) -> LockWait {
        LockWait {
            stack: stack(names),
            flags,
            waits: 1,
            ns,
        }
    }

    /// Stacks as Linux 6.12 and 6.18 report them.
    #[test]
    fn a_wait_belongs_to_the_code_that_wanted_the_lock() {
        let inode = "_einittext bpf_trace_run2 __traceiter_contention_begin
            trace_contention_begin rwsem_down_write_slowpath down_write ext4_dio_write_iter@ext4
            ext4_file_write_iter@ext4 do_iter_readv_writev vfs_writev";
        // Functions of the extent tree have names without the file system's prefix.
        let extents = "bpf_trace_run2 __traceiter_contention_begin
            native_queued_spin_lock_slowpath _raw_spin_lock lock_extent
            btrfs_get_blocks_direct_read iomap_iter";
        let tags = "trace_contention_begin _raw_spin_lock_irqsave sbitmap_get blk_mq_get_tag
            blk_mq_submit_bio iomap_dio_bio_iter ext4_file_read_iter";
        let counts = LockWaitCounts {
            waits: vec![
                wait(inode, WRITE, 70),
                wait(extents, SPIN, 500),
                wait(inode, WRITE, 30),
                wait(tags, SPIN, 9),
                wait("", MUTEX, 1),
            ],
            lost: 3,
        };
        let seen = sum_waits(&counts, 2.0);
        let row = |s: &LockSite| (s.site.clone(), s.layer, s.kind, s.waits, s.wait_ns);
        let rows: Vec<_> = seen.sites.iter().map(row).collect();
        use KernelLayer::{Block, Btrfs, Ext4, Other};
        use LockKind::{Mutex, RwsemWrite, Spinlock};
        let wanted = [
            ("lock_extent", Btrfs, Spinlock, 1, 500),
            ("ext4_dio_write_iter", Ext4, RwsemWrite, 2, 100),
            ("sbitmap_get", Block, Spinlock, 1, 9),
            ("unknown", Other, Mutex, 1, 1),
        ];
        let wanted = wanted.map(|(site, layer, kind, n, ns)| (site.to_owned(), layer, kind, n, ns));
        assert_eq!(rows, wanted);
        assert_eq!((seen.lost, seen.thread_seconds), (3, 2.0));
    }

    #[test]
    fn samples_belong_to_the_function_and_to_the_layer_above_it() {
        let at = |names: &str, samples| StackSamples {
            stack: stack(names),
            samples,
        };
        let counts = CpuProfileCounts {
            by: SampledBy::CpuClock,
            kernel: vec![
                at("memcpy copy_page_to_iter filemap_read read_iter@ext4", 4),
                at("down_read ext4_file_read_iter@ext4", 3),
                at("down_read ext4_dio_read_iter@ext4 vfs_read", 2),
            ],
            user: 10,
            lost: 1,
        };
        let seen = sum_samples(&counts);
        let rows: Vec<_> = seen
            .functions
            .iter()
            .map(|f| (&*f.function, f.layer, f.samples))
            .collect();
        let wanted = [
            ("down_read", KernelLayer::Ext4, 5),
            ("memcpy", KernelLayer::PageCache, 4),
        ];
        assert_eq!(rows, wanted);
        assert_eq!((seen.samples(), seen.lost), (19, 1));
    }

    #[test]
    fn kinds_of_locks_by_their_flags() {
        for (flags, wanted) in [
            (SPIN, LockKind::Spinlock),
            (SPIN | READ, LockKind::RwlockRead),
            (READ, LockKind::RwsemRead),
            (PERCPU | READ, LockKind::PercpuRwsem),
            (MUTEX | SPIN, LockKind::Mutex),
            (0, LockKind::Sleeping),
        ] {
            assert_eq!(kind(flags), wanted, "{flags}");
        }
    }
}
