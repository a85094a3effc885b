//! `windlass serve` in a process of its own.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, ChildStdout, Command};

use rustix::process::{Pid, Signal, kill_process};

use crate::kit::{End, Home, until};

/// The file of a home that has what a server says on standard error.
const LOG: &str = "serve.log";

/// A server that listens. It is killed at the end.
pub(crate) struct Served {
    child: Child,
    said: BufReader<ChildStdout>,
    pub(crate) url: String,
}

impl Served {
    /// A server of the agents of a home, at an address and a socket.
    pub(crate) fn start(home: &Home, listen: &str) -> Self {
        Self::try_start(home, listen).unwrap_or_else(|| panic!("no server at {listen}: {}", home.read(LOG)))
    }

    fn try_start(home: &Home, listen: &str) -> Option<Self> {
        let socket = home.path("api.sock").display().to_string();
        Self::of(home, &mut home.command(["serve", "agents", "--listen", listen, "--socket", &socket]))
    }

    /// The server that a command starts. `None`: it has ended without listening.
    pub(crate) fn of(home: &Home, command: &mut Command) -> Option<Self> {
        let log = File::options().create(true).append(true).open(home.path(LOG)).unwrap();
        let mut child = command.stderr(log).spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let Some(url) = line.trim().strip_prefix("export WINDLASS_SERVER=") else {
            child.wait().unwrap();
            return None;
        };
        Some(Self { child, said, url: url.to_owned() })
    }

    /// The next line that it prints, without its end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until what it says on standard error has that in it.
    pub(crate) fn until_said(home: &Home, words: &str) {
        until(words, || home.read(LOG).contains(words));
    }

    /// Ends it with SIGTERM. Its end has what it has printed since, and all that servers of this home have said.
    pub(crate) fn stop(mut self, home: &Home) -> End {
        self.signal(Signal::TERM);
        let mut stdout = String::new();
        self.said.read_to_string(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        End { code, stdout, stderr: home.read(LOG) }
    }

    /// Ends it with SIGKILL, and starts another one at the same address.
    pub(crate) fn killed(mut self, home: &Home) -> Self {
        let listen = self.url.trim_start_matches("http://").to_owned();
        self.child.kill().unwrap();
        self.child.wait().unwrap();
        let mut again = None;
        until("the address is free again", || {
            again = Self::try_start(home, &listen);
            again.is_some()
        });
        again.unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _gone = self.child.kill();
        let _ended = self.child.wait();
    }
}
