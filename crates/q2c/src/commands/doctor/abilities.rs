//! What the parts of q2c say about this machine.

use q2c_capture::latency::LatencyProbe;
use q2c_engine::spdk::SpdkPerf;
use q2c_host::Roots;
use q2c_host::doctor::{Ability, MachineAbilities, MakerAbility};
use q2c_host::ramdisk::{check_ublk, module};
use q2c_place::scheduler::scx::{self, ScxError};
use std::fmt::Display;

pub(crate) fn ask(roots: &Roots) -> MachineAbilities {
    let makers = q2c_fs::makers().into_iter();
    MachineAbilities {
        bpf: ability(LatencyProbe::try_to_load(roots)),
        scx: ability(scheduler(roots)),
        ramdisk_module: module::lacking(roots, None).map_or(Ok(()), Err),
        ublk: ability(check_ublk()),
        spdk: SpdkPerf::find().map(drop).map_err(|absent| absent.reason),
        makers: makers
            .map(|maker| MakerAbility {
                fs: maker.fs.to_string(),
                package: maker.package.to_owned(),
                found: ability(maker.program),
            })
            .collect(),
    }
}

fn scheduler(roots: &Roots) -> Result<(), ScxError> {
    if cfg!(feature = "scx") {
        scx::check(roots)
    } else {
        Err(ScxError::NotBuilt)
    }
}

/// The reason in words. Errors of these parts begin with what was tried.
fn ability<T, E: Display>(tried: Result<T, E>) -> Ability {
    tried
        .map(drop)
        .map_err(|error| format!("failed to {error}"))
}
