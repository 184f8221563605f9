//! What is wrong with an answer.

use std::io::{self, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::blocks::{blocks, Block, MAX_BYTES};
use crate::json;
use crate::settings::Settings;
use crate::turns::Tests;

const MAX_FINDINGS: usize = 8;
const MAX_ERROR_BYTES: u64 = 2_000;
const CHECK_S: u64 = 5;
const LOOK: Duration = Duration::from_millis(10);

/// The work was withdrawn before it was done.
pub struct Stopped;

/// What the model should mend, as one text; None if nothing.
pub fn review(answer: &str, tests: Tests, settings: &Settings, until: Instant, stop: &AtomicBool) -> Result<Option<String>, Stopped> {
    let mut findings = Vec::new();
    for block in blocks(answer) {
        if !block.closed {
            findings.push(format!("The block that begins in line {} of your answer is not closed.", block.line));
        } else if let Some(fault) = fault(&block, settings, until, stop)? {
            findings.push(format!("The {} block in line {} of your answer is wrong: {fault}", block.language, block.line));
        }
    }
    match tests {
        Tests::Missing => findings.push("You have changed files in this turn and have not run the tests since. Run them.".to_string()),
        Tests::Failed => findings.push("The tests have failed when you last ran them. Mend that, or say plainly that they fail.".to_string()),
        Tests::NotNeeded => {}
    }
    findings.truncate(MAX_FINDINGS);
    Ok(if findings.is_empty() { None } else { Some(findings.join("\n")) })
}

fn fault(block: &Block, settings: &Settings, until: Instant, stop: &AtomicBool) -> Result<Option<String>, Stopped> {
    if block.is_excerpt() || block.text.len() > MAX_BYTES {
        return Ok(None);
    }
    Ok(match block.language.as_str() {
        "json" => json::parse(&block.text).err().map(|fault| format!("line {} of it: {}", fault.line, fault.what)),
        "jsonl" | "ndjson" => block
            .text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
            .find_map(|(number, line)| json::parse(line).err().map(|fault| format!("line {} of it: {}", number + 1, fault.what))),
        language => match settings.checker(language) {
            Some(words) => checked(words, &block.text, until, stop)?,
            None => None,
        },
    })
}

/// What a checker says about a text; None if it likes it, cannot be started or takes too long.
fn checked(words: &[String], text: &str, until: Instant, stop: &AtomicBool) -> Result<Option<String>, Stopped> {
    let started = Command::new(&words[0]).args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = match started {
        Ok(child) => Ended(child),
        Err(error) => {
            eprintln!("{} cannot be started: {error}", words[0]);
            return Ok(None);
        }
    };
    let (mut input, mut errors) = (child.0.stdin.take(), child.0.stderr.take());
    let (text, (told, said)) = (text.to_string(), mpsc::channel());
    thread::spawn(move || input.take().map(|mut input| input.write_all(text.as_bytes())));
    thread::spawn(move || {
        let mut kept = Vec::new();
        if let Some(errors) = errors.as_mut() {
            let _ = errors.take(MAX_ERROR_BYTES).read_to_end(&mut kept);
            let _ = io::copy(errors, &mut io::sink());
        }
        told.send(kept)
    });
    let until = until.min(Instant::now() + Duration::from_secs(CHECK_S));
    let status = loop {
        if stop.load(Ordering::Relaxed) {
            return Err(Stopped);
        }
        match child.0.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if Instant::now() < until => thread::sleep(LOOK),
            _ => {
                eprintln!("{} did not end in time", words[0]);
                return Ok(None);
            }
        }
    };
    if status.success() {
        return Ok(None);
    }
    // what it has started may hold the pipe open
    let kept = said.recv_timeout(Duration::from_millis(200)).unwrap_or_default();
    let text = String::from_utf8_lossy(&kept).trim().to_string();
    Ok(Some(if text.is_empty() { format!("{} refuses it", words[0]) } else { text }))
}

/// A child that does not outlive the one who waits for it.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
