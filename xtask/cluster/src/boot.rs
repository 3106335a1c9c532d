//! A cluster that is coming up: its namespaces and certificates, and the components that run so far.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::build::go::{self, Program};
use crate::kubectl::Kubectl;
use crate::namespaces::{Component, Namespaces, Setup};
use crate::pki::Pki;
use crate::process::poll;
use crate::programs::Programs;
use crate::state::{Record, State};
use crate::{forward, machine};

/// A cluster that is coming up.
pub(crate) struct Boot<'a> {
    pub(crate) state: &'a State,
    pub(crate) programs: &'a Programs,
    pub(crate) namespaces: Namespaces,
    pub(crate) pki: Pki,
    pub(crate) kubectl: Kubectl,
    pub(crate) components: Vec<Component>,
}

impl<'a> Boot<'a> {
    /// Makes the namespaces, with a port that leads into them, and the certificates. The record is saved after each
    /// step, so that a removal finds everything that there is.
    pub(crate) fn isolate(
        state: &'a State,
        programs: &'a Programs,
        binds: Vec<(PathBuf, PathBuf)>,
        record: &mut Record,
    ) -> Result<Self> {
        state.save(record)?;
        machine::prepare(state)?;
        let setup = Setup {
            scratch: state.path("scratch"),
            binds,
        };
        let namespaces = Namespaces::create(&setup, &state.log("init"))?;
        record.init = Some(namespaces.init().clone());
        state.save(record)?;
        let (forward, port) = forward::start(&namespaces, &state.log("forward"))?;
        record.forward = Some(forward);
        record.port = Some(port);
        state.save(record)?;

        let pki = Pki::create(state)?;
        let kubeconfig = pki.admin_kubeconfig(&state.kubeconfig(), port)?;
        let kubectl = programs.path(go::KUBECTL)?;
        go::link_into(&state.path("bin"), &[("kubectl", kubectl)])?;
        Ok(Self {
            state,
            programs,
            namespaces,
            pki,
            kubectl: Kubectl::new(kubectl, kubeconfig),
            components: Vec::new(),
        })
    }

    /// Starts a Go program in the namespaces.
    pub(crate) fn start<S: AsRef<OsStr>>(&mut self, program: Program, arguments: &[S]) -> Result<()> {
        let log = self.state.log(program.name);
        let path: &Path = self.programs.path(program)?;
        let child = self
            .namespaces
            .lasting(path)
            .args(arguments)
            .detached(&log)
            .context(program.name)?;
        self.components.push(Component::new(program.name, child, log));
        Ok(())
    }

    /// Waits for a condition. Fails as soon as a component has ended.
    pub(crate) fn wait(
        &mut self,
        seconds: u64,
        what: &str,
        mut ready: impl FnMut(&Self) -> Result<bool>,
    ) -> Result<()> {
        poll(Duration::from_secs(seconds), what, || {
            for component in &mut self.components {
                component.check()?;
            }
            ready(self)
        })
    }

    pub(crate) fn wait_for_http(&mut self, what: &str, port: u16, path: &str) -> Result<()> {
        self.wait(60, what, |boot| boot.namespaces.answers(port, path))
    }
}
