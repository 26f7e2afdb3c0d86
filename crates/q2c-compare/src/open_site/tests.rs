use super::*;
use crate::request::tests::request;
use q2c_engine::engines::SimDevice;
use q2c_model::Nanos;
use q2c_replay::TraceDevice;

fn dev(minor: u32) -> DevId {
    DevId { major: 8, minor }
}

/// A trace of devices that end within a block.
fn trace(devices: u32) -> ReplayFacts {
    let device = |minor| TraceDevice {
        dev: dev(minor),
        requests: 1,
        span: (1 << 20) + 512,
        idle: Nanos(0),
        whole: Nanos(0),
    };
    ReplayFacts {
        devices: (0..devices).map(device).collect(),
        ..ReplayFacts::default()
    }
}

fn open(
    asked: &ReplayRequest,
    target: &str,
    devices: u32,
    nth: usize,
) -> Result<OpenTargets, Fault> {
    OpenTargets::with_one_target(&Roots::live(), asked, target, &trace(devices), nth)
}

fn map(minor: u32, target: &str) -> DeviceMap {
    DeviceMap {
        device: dev(minor),
        target: target.to_owned(),
    }
}

#[test]
fn one_target_takes_all_devices() {
    let first = open(&request(), "null", 3, 0).unwrap();
    assert_eq!(first.site.name, "null");
    assert_eq!(first.site.targets[0].devices, [0, 1, 2]);
    assert_eq!(first.site.targets[0].size, q2c_host::target::SIMULATED_SIZE);
    let again = open(&request(), "null", 3, 1).unwrap();
    assert_eq!(again.site.name, "null (2)");
}

fn device(open: &OpenTargets) -> Arc<SimDevice> {
    let target = &open.site.targets[0];
    let Medium::Simulated(devices) = &target.medium else {
        panic!("no simulated device: {:?}", target.medium);
    };
    let asked = target.engine.simulates().unwrap();
    devices.device_for(asked).unwrap()
}

/// Submitting threads of a target share its device; a device compared with itself exists twice.
#[test]
fn each_target_has_a_simulated_device_of_its_own() {
    let name = "fault:eio@9:sim:50us,servers=2";
    let [first, second] = [0, 1].map(|nth| open(&request(), name, 1, nth).unwrap());
    assert!(Arc::ptr_eq(&device(&first), &device(&first)));
    assert!(!Arc::ptr_eq(&device(&first), &device(&second)));
}

fn open_site(path: &Path) -> Result<OpenTargets, Fault> {
    let name = format!("sim:trace={},unit=us", path.display());
    open(&request(), &name, 1, 0)
}

#[test]
fn a_device_tells_the_times_that_it_was_given() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("times.txt");
    std::fs::write(&path, "70\n90\n80\n").unwrap();
    let open = open_site(&path).unwrap();
    let times = open.site.facts[0].service_times.clone().unwrap();
    let class = &times.classes[0];
    assert_eq!((class.recorded, class.median), (3, Nanos(80_000)));
    let error = open_site(&folder.path().join("nowhere")).unwrap_err();
    assert_eq!(error.exit(), Exit::Input, "{error}");
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[test]
fn mapped_devices_share_a_target_and_others_are_left_out() {
    let maps = [map(2, "null"), map(0, "sim:50us"), map(1, "null")];
    let open = OpenTargets::from_maps(&Roots::live(), &request(), &maps, &trace(4)).unwrap();
    assert_eq!(open.site.name, "null, sim:50us");
    let devices: Vec<&[usize]> = open.site.targets.iter().map(|t| &t.devices[..]).collect();
    assert_eq!(devices, [&[2, 1][..], &[0]]);
}

#[test]
fn wrong_maps_and_engines_are_refused() {
    let refused = |maps: &[DeviceMap]| {
        let error =
            OpenTargets::from_maps(&Roots::live(), &request(), maps, &trace(2)).unwrap_err();
        (error.exit(), error.to_string())
    };
    let (exit, text) = refused(&[map(7, "null")]);
    assert_eq!(exit, Exit::Usage);
    assert!(text.contains("devices are 8:0, 8:1;"), "{text}");
    let (_, twice) = refused(&[map(0, "null"), map(0, "sim:50us")]);
    assert_eq!(twice, "map 8:0 twice: expected each device once");
    let mut by_pvsync2 = request();
    by_pvsync2.engine = Some("pvsync2".parse().unwrap());
    let error = open(&by_pvsync2, "/dev/null", 1, 0).unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(error.to_string().contains("io_uring or libaio"), "{error}");
    let mut discarding = request();
    discarding.discards = Some(Discards::Allow);
    let error = open(&discarding, "/dev/null", 1, 0).unwrap_err();
    assert_eq!(error.exit(), Exit::Usage);
    assert!(error.message().starts_with("discard blocks"), "{error}");
}

#[test]
fn a_missing_target_has_the_exit_code_of_targets() {
    let error = open(&request(), "/dev/is/not/there", 1, 0).unwrap_err();
    assert_eq!(error.exit(), Exit::Target, "{error}");
}

#[test]
fn the_largest_blocks_hold_for_all() {
    let facts = trace(3);
    let mut sites: Vec<OpenTargets> = [512, 4096, 512].map(|align| site(Bytes(align))).into();
    align_alike(&mut sites, &facts);
    for site in sites.iter().map(|open| &open.site) {
        assert_eq!(site.targets[0].align, Bytes(4096));
        assert_eq!(site.targets[0].size, Bytes(3 * ((1 << 20) + 4096)));
        assert_eq!(site.facts[0].size, site.targets[0].size);
    }
    align_alike(&mut [], &facts);
}

fn site(align: Bytes) -> OpenTargets {
    let mut open = open(&request(), "null", 1, 0).unwrap();
    let target = &mut open.site.targets[0];
    (target.align, target.size) = (align, Bytes(1 << 20));
    open
}
