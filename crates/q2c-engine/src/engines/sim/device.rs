//! Simulated devices: what all submitters of one of them share.

use crate::{EngineError, EngineSpec, Medium};
use q2c_service::{Empirical, RecordedFacts, RecordedTimes, Servers, ServiceTimes};
use std::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where a simulated device has its service times from.
#[derive(Clone, Debug, PartialEq)]
pub enum Service {
    /// From a model.
    Model(ServiceTimes),
    /// From a recording, which is read when the device is made.
    Recorded(RecordedTimes),
}

/// A simulated device as it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct SimSpec {
    /// The service times.
    pub service: Service,
    /// Number of requests that are served at the same time. Others queue: first come, first served.
    pub servers: usize,
}

/// A function that reads the service times of a recording. This crate knows no traces, so its
/// caller brings the function.
pub type ReadTimes = fn(&RecordedTimes) -> Result<Empirical, Box<dyn Error + Send + Sync>>;

/// A simulated device. All that open it share its servers and their queue.
#[derive(Debug)]
pub struct SimDevice {
    pub(super) times: ServiceTimes,
    pub(super) servers: Servers,
    /// Number of engines that have the device open.
    open: Mutex<usize>,
}

impl SimDevice {
    /// The recorded times that the device draws from; `None` for a device with another model.
    pub(crate) fn recorded(&self) -> Option<&Empirical> {
        match &self.times {
            ServiceTimes::Empirical(recorded) => Some(recorded),
            _ => None,
        }
    }
}

/// A device that an engine has open. When the last one closes, the device is idle again: a request
/// that was in flight then delays nobody who opens the device later.
pub(super) struct OpenDevice(Arc<SimDevice>);

impl OpenDevice {
    pub(crate) fn new(device: Arc<SimDevice>) -> Self {
        *locked(&device.open) += 1;
        OpenDevice(device)
    }
}

impl std::ops::Deref for OpenDevice {
    type Target = SimDevice;

    #[inline]
    fn deref(&self) -> &SimDevice {
        &self.0
    }
}

impl Drop for OpenDevice {
    fn drop(&mut self) {
        let mut open = locked(&self.0.open);
        *open -= 1;
        if *open == 0 {
            self.0.servers.clear();
        }
    }
}

/// The simulated devices of one target, one for each [`SimSpec`]. Clones share them, so that all
/// jobs on one target that name the same device have the same one. Another target has others, even
/// under the same name.
#[derive(Clone)]
pub struct SimDevices {
    made: Arc<Mutex<Vec<SimDeviceEntry>>>,
    read: ReadTimes,
}

/// A device that was made, and what it was asked for as.
type SimDeviceEntry = (SimSpec, Arc<SimDevice>);

impl SimDevices {
    /// No devices yet. `read` reads the recordings that some of them have their times from.
    pub fn new(read: ReadTimes) -> Self {
        SimDevices {
            made: Arc::default(),
            read,
        }
    }

    /// The device of this kind, which is made when it is not there yet.
    pub fn device_for(&self, spec: &SimSpec) -> Result<Arc<SimDevice>, EngineError> {
        let mut made = locked(&self.made);
        if let Some((_, device)) = made.iter().find(|(known, _)| known == spec) {
            return Ok(Arc::clone(device));
        }
        let device = Arc::new(SimDevice {
            times: self.times(spec)?,
            servers: Servers::new(spec.servers),
            open: Mutex::default(),
        });
        made.push((spec.clone(), Arc::clone(&device)));
        Ok(device)
    }

    fn times(&self, spec: &SimSpec) -> Result<ServiceTimes, EngineError> {
        match &spec.service {
            Service::Model(times) => Ok(times.clone()),
            Service::Recorded(wanted) => match (self.read)(wanted) {
                Ok(times) => Ok(ServiceTimes::Empirical(Arc::new(times))),
                Err(source) => Err(EngineError::ServiceTimes {
                    path: wanted.path.clone(),
                    source,
                }),
            },
        }
    }

    /// The facts about the recorded times of `engine`'s device, which is made now; `None` when it
    /// does not simulate, or by another model.
    pub fn recorded_facts(
        &self,
        engine: &EngineSpec,
    ) -> Result<Option<RecordedFacts>, EngineError> {
        let Some(spec) = engine.simulates() else {
            return Ok(None);
        };
        Ok(self.device_for(spec)?.recorded().map(Empirical::facts))
    }

    /// The medium of a target without a file: these devices for an engine that simulates, whose
    /// device is made now; otherwise none.
    pub fn medium(&self, engine: &EngineSpec) -> Result<Medium, EngineError> {
        let Some(spec) = engine.simulates() else {
            return Ok(Medium::None);
        };
        self.device_for(spec)?;
        Ok(Medium::Simulated(self.clone()))
    }

    /// The medium of an engine's jobs on a target whose own medium is `target`: these devices for
    /// an engine that simulates, else the target's.
    pub fn background_medium(&self, target: &Medium, engine: &EngineSpec) -> Medium {
        match engine.simulates() {
            Some(_) => Medium::Simulated(self.clone()),
            None => target.clone(),
        }
    }
}

/// No devices, and nobody who can read a recording for one.
impl Default for SimDevices {
    fn default() -> Self {
        SimDevices::new(|_| Err("nothing here can read recordings".into()))
    }
}

impl fmt::Debug for SimDevices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let made = locked(&self.made);
        let specs = made.iter().map(|(spec, _)| spec);
        f.debug_set().entries(specs).finish()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
