//! The thread that waits for keys.

use std::time::Duration;

use windlass_terminal::crossterm::event::{Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers, poll, read};
use windlass_terminal::input::Done;

use super::question::Asking;
use super::{Act, Face, State, draw, modes};
use crate::out::{self, frames};

/// Time between two looks while something moves: 40 ms.
const MOVING: Duration = Duration::from_millis(40);
/// Time between two looks while nothing does.
const STILL: Duration = Duration::from_millis(250);

/// Starts it. It ends with the process.
pub(super) fn start(face: &Face) {
    let face = face.clone();
    // Without a thread nobody could type: the end of the input says so.
    let kept = face.clone();
    if std::thread::Builder::new().name("keys".into()).spawn(move || look(&face)).is_err() {
        kept.act(Act::End);
    }
}

fn look(face: &Face) {
    loop {
        let (away, flushes, moving) = {
            let mut state = face.lock();
            let flushes = state.away == 0 && std::mem::take(&mut state.flushes);
            (state.away > 0, flushes, state.stale || draw::is_moving(&state))
        };
        if away {
            std::thread::sleep(STILL);
            continue;
        }
        if flushes {
            flush();
            face.change_now(|_| {});
        }
        let ready = poll(if moving { MOVING } else { STILL });
        if face.is_away() {
            continue;
        }
        match ready.and_then(|ready| if ready { read().map(Some) } else { Ok(None) }) {
            Ok(Some(event)) => take(face, event),
            Ok(None) if modes::is_there() => {
                let mut state = face.lock();
                if state.asking.as_mut().is_some_and(Asking::paused) {
                    face.0.answered.notify_one();
                }
                // Something that has just come to rest is drawn at rest.
                if state.away == 0 && (state.stale || moving || draw::is_moving(&state)) {
                    draw::draw(&mut state);
                }
            }
            Ok(None) | Err(_) => {
                face.act(Act::End);
                return;
            }
        }
    }
}

/// Drops what was typed for another program, and what a terminal answered it.
fn flush() {
    modes::drop_input();
    while poll(Duration::ZERO).unwrap_or(false) && read().is_ok() {}
}

fn take(face: &Face, event: Event) {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => pressed(face, key),
        Event::Paste(text) => face.change_now(|state| {
            state.hint = None;
            match &mut state.asking {
                Some(asking) => asking.paste(&text),
                None => state.editor.paste(&text),
            }
        }),
        Event::Resize(..) => {
            frames::redraw(false);
            face.change_now(|_| {});
        }
        Event::Key(_) | Event::FocusGained | Event::FocusLost | Event::Mouse(_) => {}
    }
}

/// The end of the input. Amid a call it is asked for twice: nobody knows then whether the call had its effect.
fn ends(state: &mut State) -> Option<Act> {
    let running = state.live.running().filter(|_| !state.live.leaves).map(str::to_owned);
    let Some(name) = running else { return Some(Act::End) };
    state.hint = Some(format!("{name} is running: Ctrl-D again leaves it in doubt, Esc ends the turn"));
    state.live.leaves = true;
    None
}

fn pressed(face: &Face, key: KeyEvent) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        KeyCode::Char('o') if control => {
            face.change_now(|state| {
                if state.stream.is_within() {
                    state.hint = Some(
                        "calls are shown once this block of the text has ended: Ctrl-O again".to_owned(),
                    );
                    return;
                }
                let rows = state.live.details(draw::look());
                if rows.is_empty() {
                    state.hint = Some("no call was made since they were shown last".to_owned());
                }
                out::finished(&rows);
            });
            return;
        }
        KeyCode::Char('l') if control => {
            out::control("\x1b[H\x1b[2J");
            frames::redraw(true);
            face.change_now(|_| {});
            return;
        }
        _ => {}
    }
    let completer = face.completer();
    let act = face.change_now(|state| {
        state.hint = None;
        if let Some(asking) = &mut state.asking {
            asking.key(key);
            return None;
        }
        if state.panel.is_some() {
            return Some(Act::Key(key));
        }
        match state.editor.key(key, &*completer) {
            Done::Sent(text) if text.trim().is_empty() => None,
            Done::Sent(text) => Some(Act::Sent(text)),
            Done::End => ends(state),
            // As in other terminals of agents: Esc ends the turn.
            Done::Unknown if key.code == KeyCode::Esc && state.works => Some(Act::Sent("/stop".to_owned())),
            Done::Edited | Done::Unknown => {
                state.live.leaves = false;
                None
            }
        }
    });
    match act {
        Some(act) => face.act(act),
        None => face.0.answered.notify_one(),
    }
}
