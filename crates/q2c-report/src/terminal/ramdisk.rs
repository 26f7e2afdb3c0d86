//! RAM devices in a terminal.

use super::table::{Column, Table};
use crate::terminal::Screen;
use q2c_result::ramdisk::{RamDevice, State, Via};

/// The table of the devices, or that there is none.
#[must_use]
pub fn ram_devices(devices: &[RamDevice], screen: Screen) -> String {
    if devices.is_empty() {
        return "no RAM devices".to_owned();
    }
    let names = ["device", "by", "size", "block", "queues", "depth"];
    let names = names.map(|head| Column::words(head).left());
    let words = ["service times", "state"].map(Column::words);
    let mut all = Table::new(names.into_iter().chain(words));
    for device in devices {
        let queues = match device.poll_queues {
            0 => device.queues.to_string(),
            polled => format!("{} + {polled} poll", device.queues),
        };
        all.add([
            device.name.clone(),
            via(device.via).to_owned(),
            device.size.to_string(),
            device.block.to_string(),
            queues,
            device.depth.to_string(),
            device.service.clone().unwrap_or_else(|| "none".to_owned()),
            state(device),
        ]);
    }
    all.text(screen)
}

fn via(via: Via) -> &'static str {
    match via {
        Via::Module => "module",
        Via::Ublk => "ublk",
    }
}

fn state(device: &RamDevice) -> String {
    match (device.state, device.server) {
        (State::Served, Some(pid)) => format!("served by process {pid}"),
        (State::Served, None) => "served by the kernel".to_owned(),
        (State::Recoverable, _) => format!(
            "server ended; data can be had again: create --recover {}",
            device.name
        ),
        (State::Lost, _) => "server ended, data lost: delete it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use q2c_model::Bytes;

    #[test]
    fn each_state_says_what_can_be_done() {
        let device = |state, server| RamDevice {
            name: "ublkb0".into(),
            via: Via::Ublk,
            size: Bytes(64 << 20),
            block: Bytes(4096),
            queues: 4,
            poll_queues: 0,
            depth: 128,
            service: Some("lognormal(50us,0.3)".into()),
            server,
            state,
        };
        let screen = Screen::new(200, false);
        let all = [
            device(State::Served, Some(7)),
            device(State::Recoverable, None),
            device(State::Lost, None),
        ];
        let told = ram_devices(&all, screen);
        for words in [
            "64 MiB",
            "4 KiB",
            "lognormal(50us,0.3)",
            "served by process 7",
            "--recover ublkb0",
            "data lost: delete it",
        ] {
            assert!(told.contains(words), "{words}: {told}");
        }
        assert_eq!(ram_devices(&[], screen), "no RAM devices");
    }
}
