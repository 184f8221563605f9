//! What tools have done in the open turn of each session.

use std::collections::HashMap;

use crate::json::Value;
use crate::settings::Settings;

/// A host has a handful of sessions; more are not kept.
const MAX_SESSIONS: usize = 1_000;

#[derive(Clone, Copy, PartialEq)]
pub enum Tests {
    /// No file has changed since the turn began, or since they passed.
    NotNeeded,
    Missing,
    Failed,
}

#[derive(Default)]
pub struct Turns(HashMap<String, Tests>);

impl Turns {
    /// `event/post_tool_call`; of child agents too, which have the session of their parent.
    pub fn tool_ended(&mut self, params: &Value, settings: &Settings) {
        let (Some(session), true) = (params.get("session_id").text(), *params.get("started") == Value::Bool(true)) else { return };
        let before = self.tests(session);
        let after = match params.get("tool_kind").text() {
            Some("write" | "edit") if params.get("status").text() == Some("ok") => Tests::Missing,
            Some("shell") if before != Tests::NotNeeded && settings.runs_tests(&command(params.get("arguments"))) => {
                match params.get("status").text() {
                    Some("ok") => Tests::NotNeeded,
                    Some("error") => Tests::Failed,
                    _ => before,
                }
            }
            _ => before,
        };
        if self.0.contains_key(session) || self.0.len() < MAX_SESSIONS {
            self.0.insert(session.to_string(), after);
        }
    }

    /// `event/turn_end` and `event/session_end`.
    pub fn ended(&mut self, params: &Value) {
        if let Some(session) = params.get("session_id").text() {
            self.0.remove(session);
        }
    }

    pub fn tests(&self, session: &str) -> Tests {
        self.0.get(session).copied().unwrap_or(Tests::NotNeeded)
    }
}

/// The command of a shell: one text, or a list of words.
fn command(arguments: &Value) -> String {
    let value = if *arguments.get("command") == Value::Null { arguments.get("cmd") } else { arguments.get("command") };
    match value {
        Value::Text(text) => text.clone(),
        _ => value.list().iter().filter_map(Value::text).collect::<Vec<_>>().join(" "),
    }
}
