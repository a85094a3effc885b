//! The server through its sockets, on loopback.

#[cfg(test)]
mod admission;
#[cfg(test)]
mod attacks;
#[cfg(test)]
mod client;
#[cfg(test)]
mod delegation;
#[cfg(test)]
mod document;
#[cfg(test)]
mod following;
#[cfg(test)]
mod ground;
#[cfg(test)]
mod lifecycle;
#[cfg(test)]
mod reading;
#[cfg(test)]
mod requests;
#[cfg(test)]
mod settings;
#[cfg(test)]
mod starting;
#[cfg(test)]
mod usage;
