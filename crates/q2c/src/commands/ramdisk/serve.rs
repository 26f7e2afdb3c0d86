//! The server of a ublk device, as a process of its own. It tells who started it by one line of
//! JSON on stdout how its start ended.

use super::service;
use crate::output::print;
use clap::Args;
use q2c_host::ramdisk::{Record, ServeRequest, ServerWork, default_folder};
use q2c_model::{Fault, OrFault};
use q2c_result::Exit;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

/// Arguments of the server.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServeArgs {
    /// The device as JSON.
    #[arg(long, required_unless_present = "recover")]
    pub wanted: Option<String>,
    /// Its service times.
    #[arg(long)]
    pub service: Option<String>,
    /// The device to take over.
    #[arg(long)]
    pub recover: Option<String>,
    /// Folder of the restore journals.
    #[arg(long)]
    pub journal: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Started {
    /// The device of this name is there.
    Ready(String),
    /// It is not, with the exit code and the message.
    Failed(u8, String),
}

pub(crate) fn run(args: &ServeArgs, stop: &AtomicBool) -> Exit {
    match served(args, stop) {
        Ok(()) => Exit::Done,
        Err(failure) => {
            tell(&Started::Failed(
                failure.exit().code(),
                failure.message().to_owned(),
            ));
            failure.exit()
        }
    }
}

fn tell(started: &Started) {
    if let Ok(line) = serde_json::to_string(started) {
        // Whoever started the server may be gone.
        print(&line).ok();
    }
}

fn served(args: &ServeArgs, stop: &AtomicBool) -> Result<(), Fault> {
    let work = match (&args.recover, &args.wanted) {
        (Some(name), _) => ServerWork::Recover(name.clone()),
        (None, wanted) => {
            let wanted = wanted.as_deref().unwrap_or_default();
            ServerWork::Make(serde_json::from_str(wanted).or_exit(Exit::Usage)?)
        }
    };
    let spec = args.service.as_deref().map(service::parsed).transpose()?;
    let times = spec.as_ref().map(service::times_and_servers).transpose()?;
    let request = ServeRequest {
        work,
        times,
        service: args.service.clone(),
        journal: args.journal.clone(),
        folder: default_folder(),
    };
    let ready = |record: &Record| tell(&Started::Ready(record.name()));
    q2c_host::ramdisk::serve(&request, stop, ready)
}
