//! `q2c ramdisk` on a machine without ublk and without the module. Guests test both of them.

use crate::program::*;

#[test]
fn a_machine_without_ublk_and_module_says_what_it_lacks() {
    if Path::new("/dev/ublk-control").exists() || Path::new("/sys/module/ramdisk_mq").exists() {
        return skip("this machine has ublk or the module");
    }
    let ublk = "CONFIG_BLK_DEV_UBLK";
    // A kernel that loads no modules needs no hint to build one.
    let module = if Path::new("/proc/modules").exists() {
        "kmod/ramdisk_mq/README.md"
    } else {
        "this kernel loads no modules"
    };
    for case in [
        "5 | ramdisk delete ublkb63 | ublkb63 | q2c ramdisk list",
        &format!("4 | ramdisk create --size 1m | {ublk} | {module}"),
        &format!("4 | ramdisk create --size 1m --via ublk | {ublk} | ublk"),
        &format!("4 | ramdisk create --size 1m --via module | {module}"),
        &format!(
            "4 | ramdisk create --size 1m --poll-queues 1 | ublk has no poll queues | {module}"
        ),
        &format!("4 | ramdisk create --recover ublkb0 | {ublk}"),
        "4 | ramdisk create --size 1m --via module --service lognormal(50us,0.3) | constant ones only",
    ] {
        refuses(&[case]);
    }
    let folder = Place::new();
    let list = folder.json("ramdisk list --json");
    assert_eq!(list["schema"], "q2c.ramdisk/1");
    assert_eq!(list.list("devices").len(), 0);
    let listing = folder.done("ramdisk list");
    assert_eq!(listing.trim(), "RAM devices · none");
}
