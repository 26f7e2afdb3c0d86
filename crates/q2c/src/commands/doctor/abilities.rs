//! What the parts of q2c say about this machine.

use q2c_capture::latency::Latency;
use q2c_engine::spdk::SpdkPerf;
use q2c_host::Roots;
use q2c_host::doctor::{Abilities, Ability, MakerAbility};
use q2c_ramdisk::{check_ublk, module};
use q2c_scheduler::scx::{self, ScxError};
use std::fmt::Display;

pub fn ask(roots: &Roots) -> Abilities {
    let makers = q2c_fs::makers().into_iter();
    Abilities {
        bpf: told(Latency::try_to_load(roots)),
        scx: told(scheduler(roots)),
        ramdisk_module: module::lacking(roots, None).map_or(Ok(()), Err),
        ublk: told(check_ublk()),
        spdk: SpdkPerf::find().map(drop).map_err(|absent| absent.reason),
        makers: makers
            .map(|maker| MakerAbility {
                fs: maker.fs.to_string(),
                package: maker.package.to_owned(),
                found: told(maker.program),
            })
            .collect(),
    }
}

fn scheduler(roots: &Roots) -> Result<(), ScxError> {
    match cfg!(feature = "scx") {
        true => scx::check(roots),
        false => Err(ScxError::NotBuilt),
    }
}

/// The reason in words. Errors of these parts begin with what was tried.
fn told<T, E: Display>(tried: Result<T, E>) -> Ability {
    tried
        .map(drop)
        .map_err(|error| format!("failed to {error}"))
}
