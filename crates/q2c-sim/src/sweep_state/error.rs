//! Faults of states of sweeps that more than one step meets.

use q2c_model::{Exit, Fault};

pub(super) fn broken() -> Fault {
    let text = "read the state of a sweep: expected configurations with their sums, found numbers that no I/Os give; make it anew";
    Fault::new(Exit::Input, text)
}

pub(super) fn too_many_corners() -> Fault {
    let text = "sweep in parts: expected costs with up to 15 corner points of the hit delay and 255 over the sleep, found more; sweep the whole";
    Fault::new(Exit::Usage, text)
}

pub(super) fn too_long() -> Fault {
    let text = "sweep in parts: expected I/Os below 0.54 s and less than 36 years together, found more; sweep the whole";
    Fault::new(Exit::Input, text)
}

pub(super) fn ended() -> Fault {
    let text = "go on with a sweep whose volumes were added up: expected one device, found the sums of several; add I/Os before beside";
    Fault::new(Exit::Usage, text)
}
