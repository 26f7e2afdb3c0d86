//! `q2c ramdisk` on a machine without ublk and without the module. What these do is tested in
//! guests.

use crate::program::{q2c, refuses};
use q2c_testkit::skip;
use std::path::Path;

#[test]
fn a_device_that_cannot_be_is_refused_before_anything_is_tried() {
    refuses(&[
        "2 | ramdisk create | --size",
        "2 | ramdisk create --size 1m --queues 0 | --queues 0",
        "4 | ramdisk create --size 1m --queues 100000 | one hardware queue per CPU",
        "2 | ramdisk create --size 1m --bs 768 | power of two | 768 B",
        "2 | ramdisk create --size 1m --bs 256 | from 512 B",
        "2 | ramdisk create --size 1m --depth 0 | from 1 to 4096",
        "4 | ramdisk create --size 1000t | memory that is available",
        "2 | ramdisk create --size 1m --service 50 | --service 50",
        "3 | ramdisk create --size 1m --like none.parquet | none.parquet",
        "3 | ramdisk create --size 1m --service trace=none.parquet | read service times from none.parquet",
    ]);
}

#[test]
fn a_machine_without_ublk_and_module_says_what_it_lacks() {
    let test = "a_machine_without_ublk_and_module_says_what_it_lacks";
    if Path::new("/dev/ublk-control").exists() || Path::new("/sys/module/ramdisk_mq").exists() {
        return skip(test, "this machine has ublk or the module");
    }
    let ublk = "CONFIG_BLK_DEV_UBLK";
    // What cannot be loaded need not be built.
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
    let folder = tempfile::tempdir().unwrap();
    let list = q2c(folder.path(), &["ramdisk", "list", "--json"]).json();
    assert_eq!(list["schema"], "q2c.ramdisk/1");
    assert_eq!(list["devices"].as_array().unwrap().len(), 0);
    let listing = q2c(folder.path(), &["ramdisk", "list"]).done();
    assert_eq!(listing.trim(), "RAM devices · none");
}
