//! A plugin in Rust without an SDK and without a library: written from protocol.md alone.
//!
//! One thread reads, so that a cancel and `exit` get through; each `hook/stop` has a thread of its
//! own; replies are written whole, under a lock.

mod blocks;
mod json;
mod review;
mod settings;
mod turns;

use std::collections::HashMap;
use std::io::{self, BufRead, Read, Write};
use std::panic;
use std::process;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use json::{quoted, Value};
use settings::{Settings, MANIFEST};
use turns::Turns;

/// A message to a plugin has up to 4 MiB.
const MAX_LINE: u64 = 8 * 1024 * 1024;
/// Each is one thread; a host asks for a `stop` once in each open turn.
const MAX_UNDER_WAY: usize = 32;
/// What is left of the time of a hook for the answer itself.
const MARGIN_S: f64 = 0.5;

type UnderWay = Arc<Mutex<HashMap<String, Arc<AtomicBool>>>>;

fn main() {
    let mut settings = Arc::new(Settings::read(&Value::Null));
    let (mut turns, under_way) = (Turns::default(), UnderWay::default());
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => end(&under_way),
            Ok(_) if line.len() as u64 == MAX_LINE => {
                eprintln!("a line has over {MAX_LINE} bytes");
                end(&under_way);
            }
            Ok(_) => {}
        }
        if line.first() != Some(&b'{') {
            continue; // a header, or the empty line behind it
        }
        let Some(message) = std::str::from_utf8(&line).ok().and_then(|text| json::parse(text).ok()) else {
            eprintln!("a line of {} bytes is no JSON", line.len());
            continue;
        };
        let (params, id) = (message.get("params"), id_of(&message));
        match (message.get("method").text().unwrap_or(""), id) {
            ("exit", None) => end(&under_way),
            ("event/post_tool_call", None) => turns.tool_ended(params, &settings),
            ("event/turn_end" | "event/session_end", None) => turns.ended(params),
            ("$/cancelRequest", None) => {
                if let Some(stop) = number_of(params.get("id")).and_then(|id| locked(&under_way).get(&id).cloned()) {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            (_, None) => {} // what is not known is ignored, and so is `event/stop`: too late to answer
            ("initialize", Some(id)) => {
                if !params.get("protocol_versions").list().iter().any(|version| version.number() == Some(1.0)) {
                    fail(&id, -32602, "no common version: this plugin speaks 1");
                    continue;
                }
                settings = Arc::new(Settings::read(params.get("plugin").get("config")));
                succeed(&id, &MANIFEST.replace('\n', ""));
            }
            ("hook/stop", Some(id)) => stop_asked(id, params, &settings, &turns, &under_way),
            ("ping" | "shutdown", Some(id)) => succeed(&id, "null"), // events are handled as they come
            (method, Some(id)) => fail(&id, -32601, &format!("there is no method {method}")),
        }
    }
}

/// Begin a review; the thread replies.
fn stop_asked(id: String, params: &Value, settings: &Arc<Settings>, turns: &Turns, under_way: &UnderWay) {
    let Some(session) = params.get("session_id").text() else {
        return fail(&id, -32602, "params.session_id is missing");
    };
    if params.get("stop_count").number().unwrap_or(0.0) >= settings.most {
        return succeed(&id, "null"); // it was asked often enough
    }
    let tests = turns.tests(session);
    let answer = params.get("last_assistant_message").text().unwrap_or("").to_string();
    let time_s = (params.get("timeout_s").number().unwrap_or(5.0) - MARGIN_S).clamp(0.0, 600.0);
    let until = Instant::now() + Duration::from_secs_f64(time_s);
    let (settings, under_way) = (settings.clone(), under_way.clone());
    let stop = Arc::new(AtomicBool::new(false));
    let mut open = locked(&under_way);
    if open.len() >= MAX_UNDER_WAY {
        drop(open);
        return fail(&id, -32603, "too many answers are being read");
    }
    open.insert(id.clone(), stop.clone());
    drop(open);
    thread::spawn(move || {
        let found = panic::catch_unwind(|| review::review(&answer, tests, &settings, until, &stop));
        locked(&under_way).remove(&id);
        match found {
            Ok(Ok(None)) => succeed(&id, "null"),
            Ok(Ok(Some(text))) => succeed(&id, &format!(r#"{{"continue_with":{}}}"#, quoted(&text))),
            Ok(Err(review::Stopped)) => fail(&id, -32800, "request cancelled"),
            Err(_) => fail(&id, -32603, "the review has failed; the log says where"),
        }
    });
}

/// The host's ids are integers, and come back as they are.
fn id_of(message: &Value) -> Option<String> {
    number_of(message.get("id"))
}

fn number_of(value: &Value) -> Option<String> {
    if let Value::Number(digits) = value { Some(digits.clone()) } else { None }
}

fn succeed(id: &str, result: &str) {
    send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#));
}

fn fail(id: &str, code: i32, message: &str) {
    send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{}}}}}"#, quoted(message)));
}

/// One write for one message; nobody is there any more if it fails.
fn send(message: &str) {
    let mut output = io::stdout().lock();
    if output.write_all(format!("{message}\n").as_bytes()).and_then(|()| output.flush()).is_err() {
        process::exit(0);
    }
}

/// Stop what is under way, which ends its children, and end.
fn end(under_way: &UnderWay) -> ! {
    for stop in locked(under_way).values() {
        stop.store(true, Ordering::Relaxed);
    }
    let until = Instant::now() + Duration::from_secs(1);
    while !locked(under_way).is_empty() && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
    process::exit(0);
}

fn locked(under_way: &UnderWay) -> std::sync::MutexGuard<'_, HashMap<String, Arc<AtomicBool>>> {
    under_way.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
