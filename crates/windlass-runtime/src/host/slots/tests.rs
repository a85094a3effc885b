use std::sync::Arc;

use proptest::prelude::*;
use tokio::sync::oneshot::error::TryRecvError;

use super::{Entered, Full, Limits, Place, Slots, Whose};

fn whose(owner: &str, agent: &str) -> Whose {
    Whose { owner: owner.into(), agent: agent.into() }
}

fn now(slots: &Arc<Slots>, owner: &str) -> Place {
    match slots.enter(whose(owner, "a")).unwrap() {
        Entered::Now(place) => place,
        Entered::Later(_) => panic!("{owner} has to wait"),
    }
}

fn later(slots: &Arc<Slots>, owner: &str) -> tokio::sync::oneshot::Receiver<Place> {
    match slots.enter(whose(owner, "a")).unwrap() {
        Entered::Now(_) => panic!("{owner} has a place"),
        Entered::Later(place) => place,
    }
}

#[test]
fn owners_that_wait_get_places_in_turn_however_many_runs_one_of_them_has() {
    let slots = Slots::new(Limits { at_once: 1, ..Limits::default() });
    let mut held = now(&slots, "busy");
    let mut busy: Vec<_> = (0..5).map(|_| later(&slots, "busy")).collect();
    let mut quiet = later(&slots, "quiet");
    let mut order = Vec::new();
    for _ in 0..6 {
        drop(held);
        let got =
            busy.iter_mut().enumerate().find_map(|(place, waiter)| Some((place, waiter.try_recv().ok()?)));
        held = match (got, quiet.try_recv()) {
            (Some((place, slot)), Err(_)) => {
                busy.remove(place);
                order.push("busy");
                slot
            }
            (None, Ok(slot)) => {
                order.push("quiet");
                slot
            }
            other => panic!("one place, one run: {other:?}"),
        };
    }
    assert_eq!(order, ["busy", "quiet", "busy", "busy", "busy", "busy"]);
}

#[test]
fn one_owner_or_agent_cannot_take_more_than_its_part() {
    let limits = Limits { at_once: 4, of_an_owner: Some(2), of_an_agent: Some(3), ..Limits::default() };
    let slots = Slots::new(limits);
    let _first = [now(&slots, "a"), now(&slots, "a")];
    let _third = later(&slots, "a");
    assert_eq!(slots.free().1, [windlass_core::Owner::from("a")], "due runs of this owner are left alone");
    let b = now(&slots, "b");
    // The agent has its three.
    let mut second = later(&slots, "b");
    assert!(
        matches!(slots.enter(whose("b", "other")), Ok(Entered::Later(_))),
        "its owner's first run comes first"
    );
    assert!(matches!(slots.enter(whose("c", "other")), Ok(Entered::Now(_))));
    drop(b);
    assert!(second.try_recv().is_ok());
}

#[test]
fn too_many_that_wait_are_refused_and_who_gives_up_leaves_no_hole() {
    let slots = Slots::new(Limits { at_once: 1, waiting: 1, ..Limits::default() });
    let held = now(&slots, "a");
    let gone = later(&slots, "b");
    assert_eq!(slots.enter(whose("c", "a")).map(drop), Err(Full { waiting: 1 }));
    assert_eq!(slots.is_full(&whose("c", "a")), Some(Full { waiting: 1 }));
    drop(gone);
    assert_eq!(slots.is_full(&whose("c", "a")), None, "nobody waits any more");
    let again = later(&slots, "c");
    drop(again);
    drop(held);
    let _next = now(&slots, "c");
}

proptest! {
    /// Whatever comes and goes, no limit is passed, nobody waits beside a free place, and in the end all places are free.
    #[test]
    fn places_are_neither_lost_nor_given_twice(steps in prop::collection::vec((0u8..3, 0u8..3, any::<u8>()), 1..120)) {
        let limits = Limits { at_once: 3, of_an_owner: Some(2), of_an_agent: Some(2), waiting: 5 };
        let slots = Slots::new(limits);
        let (mut held, mut waiting) = (Vec::new(), Vec::new());
        for (owner, agent, step) in steps {
            match step % 4 {
                0 | 1 => match slots.enter(whose(&owner.to_string(), &agent.to_string())) {
                    Ok(Entered::Now(place)) => held.push(place),
                    Ok(Entered::Later(place)) => waiting.push(place),
                    Err(Full { waiting }) => prop_assert_eq!(waiting, 5),
                },
                2 if !held.is_empty() => drop(held.remove(usize::from(step) % held.len())),
                3 if !waiting.is_empty() => drop(waiting.remove(usize::from(step) % waiting.len())),
                _ => {}
            }
            waiting.retain_mut(|waiter| match waiter.try_recv() {
                Ok(place) => {
                    held.push(place);
                    false
                }
                Err(TryRecvError::Empty) => true,
                Err(TryRecvError::Closed) => false,
            });
            prop_assert!(held.len() <= 3);
            for name in 0..3 {
                let name = name.to_string();
                let of = |whose: &Whose| (whose.owner.as_str() == name, *whose.agent == *name);
                let own: Vec<_> = held.iter().filter_map(|place| place.whose.as_ref()).map(of).collect();
                prop_assert!(own.iter().filter(|(owner, _)| *owner).count() <= 2);
                prop_assert!(own.iter().filter(|(_, agent)| *agent).count() <= 2);
            }
        }
        drop(held);
        while let Some(mut waiter) = waiting.pop() {
            drop(waiter.try_recv());
        }
        prop_assert_eq!(slots.free(), (3, Vec::new()));
    }
}
