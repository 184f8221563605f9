"""What a plugin hears of each way through the loop, line by line and literally."""

from __future__ import annotations

from typing import Final

SAYINGS: Final = {
    "<circles>": "the model goes in circles: it has called look 4 times in a row, "
    "with the same results",
    "<unapproved>": "host: a person must approve this, and nobody can be asked",
    "<unfinished>": "the child agent did not finish",
}
"""Texts that are too long for a line of a story."""

STORIES: Final = {
    "completed": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    llm_call_failed 1 1 stream null "broke off" true
    notification warning agent "broke off; asking again in 0.5 s"
    post_llm_call 1 tool_calls null null 5/2/null
    pre_tool_call ship probe call_2_1 {}
    user_input_required approval "Run ship? probe: Friday"
    user_input_received approval allow user
    post_tool_call ship true ok shipped
    pre_llm_call 2 1 scripted
    post_llm_call 2 tool_calls null null 5/2/null
    pre_tool_call delegate agent call_3_1 {"goal": "look around"}
    subagent_start "look around"
      turn_start 1 null
      pre_llm_call 1 1 scripted
      post_llm_call 1 tool_calls null null 5/2/null
      pre_tool_call look agent call_4_1 {}
      post_tool_call look true ok "nothing new"
      pre_llm_call 2 1 scripted
      post_llm_call 2 stop null null 7/null/null
      turn_end completed 0 2 12/2/null "all quiet"
    subagent_stop completed "all quiet"
    post_tool_call delegate true ok "all quiet"
    pre_llm_call 3 1 scripted
    post_llm_call 3 stop null null 10/1/null
    stop 1 0 done
    pre_llm_call 4 1 scripted
    post_llm_call 4 stop null null 10/1/null
    stop 1 1 done
    turn_end completed 0 6 42/8/null done
    session_end exit 1 6 3 42/8/null
    """,
    "interrupted_while_the_model_thinks": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    agent_loop_stopped user_stop stop_command llm=true,tools=0,requests=0
    turn_end interrupted 1 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "interrupted_while_the_model_speaks": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    agent_loop_stopped user_stop stop_command llm=true,tools=0,requests=0
    turn_end interrupted 1 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "interrupted_before_another_attempt": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    llm_call_failed 1 1 rate_limited 429 busy true
    notification warning agent "busy; asking again in 30 s"
    agent_loop_stopped user_stop stop_command llm=true,tools=0,requests=0
    turn_end interrupted 1 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "interrupted_in_tools": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null null/null/null
    pre_tool_call look agent call_1_1 {}
    pre_tool_call sleep agent call_1_2 {}
    pre_tool_call sleep agent call_1_3 {}
    post_tool_call look true ok "nothing new"
    agent_loop_stopped user_stop stop_command llm=false,tools=2,requests=0
    post_tool_call sleep true cancelled null
    post_tool_call sleep true cancelled null
    turn_end interrupted 1 1 null/null/null "I look and sleep."
    session_end exit 1 1 3 null/null/null
    """,
    "interrupted_in_a_plugins_tool": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null 5/2/null
    pre_tool_call ship probe call_1_1 {}
    agent_loop_stopped user_stop stop_command llm=false,tools=1,requests=1
    post_tool_call ship true cancelled null
    turn_end interrupted 1 1 5/2/null null
    session_end exit 1 1 1 5/2/null
    """,
    "interrupted_in_a_child": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null 5/2/null
    pre_tool_call delegate agent call_1_1 {"goal": "look"}
    subagent_start look
      turn_start 1 null
      pre_llm_call 1 1 scripted
      post_llm_call 1 tool_calls null null 5/2/null
      pre_tool_call delegate agent call_2_1 {"goal": "look closer"}
      subagent_start "look closer"
        turn_start 1 null
        pre_llm_call 1 1 scripted
        post_llm_call 1 tool_calls null null 5/2/null
        pre_tool_call sleep agent call_3_1 {}
    agent_loop_stopped user_stop stop_command llm=false,tools=3,requests=0
        post_tool_call sleep true cancelled null
        turn_end interrupted 0 1 5/2/null null
      subagent_stop cancelled null
      post_tool_call delegate true cancelled null
      turn_end interrupted 0 2 10/4/null null
    subagent_stop cancelled null
    post_tool_call delegate true cancelled null
    turn_end interrupted 1 3 15/6/null null
    session_end exit 1 3 3 15/6/null
    """,
    "interrupted_while_a_person_thinks": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null 5/2/null
    pre_tool_call ship probe call_1_1 {}
    user_input_required approval "Run ship? probe: Friday"
    agent_loop_stopped user_stop stop_command llm=false,tools=1,requests=0
    post_tool_call ship false cancelled null
    turn_end interrupted 1 1 5/2/null null
    session_end exit 1 1 1 5/2/null
    """,
    "interrupted_at_the_limit": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null 5/2/null
    pre_tool_call look agent call_1_1 {}
    post_tool_call look true ok "nothing new"
    notification warning agent "model calls in this turn: 1"
    user_input_required max_iterations "model calls in this turn: 1. Go on?"
    agent_loop_stopped user_stop stop_command llm=false,tools=0,requests=0
    turn_end interrupted 1 1 5/2/null null
    session_end exit 1 1 1 5/2/null
    """,
    "failed": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    llm_call_failed 1 1 refused 401 "no such key" false
    notification error agent "no such key"
    turn_end failed 0 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "broken": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    turn_end failed 0 0 null/null/null null
    session_end error 1 0 0 null/null/null
    """,
    "tried_again": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    llm_call_failed 1 1 connection null "nobody is there" true
    notification warning agent "nobody is there; asking again in 0.5 s"
    pre_llm_call 1 2 scripted
    llm_call_failed 1 2 connection null "nobody is there" true
    notification warning agent "nobody is there; asking again in 1 s"
    pre_llm_call 1 3 scripted
    post_llm_call 1 stop null probe 10/1/null
    stop 1 0 done
    turn_end completed 0 1 10/1/null done
    session_end exit 1 1 0 10/1/null
    """,
    "given_up": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    llm_call_failed 1 1 connection null "nobody is there" true
    notification warning agent "nobody is there; asking again in 0.5 s"
    pre_llm_call 1 2 scripted
    llm_call_failed 1 2 denied null "probe: enough" false
    turn_end denied 0 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "prompt_denied": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    turn_end denied 0 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "model_call_denied": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    llm_call_failed 1 1 denied null "probe: spent" false
    turn_end denied 0 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "tools_denied": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null null/null/null
    pre_tool_call ship probe call_1_1 {}
    user_input_required approval "Run ship?"
    user_input_received approval deny user
    post_tool_call ship false denied "the call of ship was denied: user: declined"
    pre_llm_call 2 1 scripted
    post_llm_call 2 tool_calls null null null/null/null
    pre_tool_call look agent call_2_1 {}
    post_tool_call look false denied "the call of look was denied: probe: do not look"
    pre_llm_call 3 1 scripted
    post_llm_call 3 stop null null 10/1/null
    stop 1 0 done
    turn_end completed 0 3 10/1/null done
    session_end exit 1 3 2 10/1/null
    """,
    "tool_denied_for_nobody_can_be_asked": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null 5/2/null
    pre_tool_call ship probe call_1_1 {}
    user_input_required approval "Run ship? probe: Friday"
    user_input_received approval deny none
    post_tool_call ship false denied "the call of ship was denied: probe: Friday; <unapproved>"
    pre_llm_call 2 1 scripted
    post_llm_call 2 stop null null 10/1/null
    stop 1 0 done
    turn_end completed 0 2 15/3/null done
    session_end exit 1 2 1 15/3/null
    """,
    "child_denied": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null 5/2/null
    pre_tool_call delegate agent call_1_1 {"goal": "look"}
    subagent_start look
      turn_start 1 null
      pre_llm_call 1 1 scripted
      llm_call_failed 1 1 denied null "probe: no children" false
      turn_end denied 0 0 null/null/null null
    subagent_stop denied null
    post_tool_call delegate true error "<unfinished>: the model call was denied: probe: no children"
    pre_llm_call 2 1 scripted
    post_llm_call 2 stop null null 10/1/null
    stop 1 0 done
    turn_end completed 0 2 15/3/null done
    session_end exit 1 2 1 15/3/null
    """,
    "looped": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null 5/2/null
    pre_tool_call look agent call_1_1 {}
    post_tool_call look true ok "nothing new"
    pre_llm_call 2 1 scripted
    post_llm_call 2 tool_calls null null 5/2/null
    pre_tool_call look agent call_2_1 {}
    post_tool_call look true ok "nothing new"
    pre_llm_call 3 1 scripted
    post_llm_call 3 tool_calls null null 5/2/null
    pre_tool_call look agent call_3_1 {}
    post_tool_call look true ok "nothing new"
    pre_llm_call 4 1 scripted
    post_llm_call 4 tool_calls null null 5/2/null
    pre_tool_call look agent call_4_1 {}
    post_tool_call look true ok "nothing new"
    notification warning agent "<circles>"
    user_input_required question "<circles>. Go on?"
    user_input_received question allow user
    pre_llm_call 5 1 scripted
    post_llm_call 5 tool_calls null null 5/2/null
    pre_tool_call look agent call_5_1 {}
    post_tool_call look true ok "nothing new"
    pre_llm_call 6 1 scripted
    post_llm_call 6 tool_calls null null 5/2/null
    pre_tool_call look agent call_6_1 {}
    post_tool_call look true ok "nothing new"
    pre_llm_call 7 1 scripted
    post_llm_call 7 tool_calls null null 5/2/null
    pre_tool_call look agent call_7_1 {}
    post_tool_call look true ok "nothing new"
    pre_llm_call 8 1 scripted
    post_llm_call 8 tool_calls null null 5/2/null
    pre_tool_call look agent call_8_1 {}
    post_tool_call look true ok "nothing new"
    notification warning agent "<circles>"
    user_input_required question "<circles>. Go on?"
    user_input_received question deny user
    turn_end loop_detected 0 8 40/16/null null
    session_end exit 1 8 8 40/16/null
    """,
    "limited": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null 5/2/null
    pre_tool_call look agent call_1_1 {}
    post_tool_call look true ok "nothing new"
    notification warning agent "model calls in this turn: 1"
    user_input_required max_iterations "model calls in this turn: 1. Go on?"
    user_input_received max_iterations allow user
    pre_llm_call 2 1 scripted
    post_llm_call 2 tool_calls null null 5/2/null
    pre_tool_call look agent call_2_1 {}
    post_tool_call look true ok "nothing new"
    notification warning agent "model calls in this turn: 2"
    user_input_required max_iterations "model calls in this turn: 2. Go on?"
    user_input_received max_iterations deny user
    turn_end max_iterations 0 2 10/4/null null
    session_end exit 1 2 2 10/4/null
    """,
    "limited_and_nobody_to_ask": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null 5/2/null
    pre_tool_call look agent call_1_1 {}
    post_tool_call look true ok "nothing new"
    user_input_required max_iterations "model calls in this turn: 1. Go on?"
    user_input_received max_iterations deny none
    notification warning agent "model calls in this turn: 1; the turn ends, for nobody can be asked"
    turn_end max_iterations 0 1 5/2/null null
    session_end exit 1 1 1 5/2/null
    """,
    "begun_anew": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null 5/2/null
    pre_tool_call sleep agent call_1_1 {}
    agent_loop_stopped reset new_command llm=false,tools=1,requests=0
    post_tool_call sleep true cancelled null
    turn_end interrupted 1 1 5/2/null null
    session_end reset 1 1 1 5/2/null
    session_reset new_command
    session_start reset m-1
    turn_start 1 null
    user_prompt_submit user again
    pre_llm_call 1 1 scripted
    post_llm_call 1 stop null null 10/1/null
    stop 1 0 done
    turn_end completed 0 1 10/1/null done
    session_end exit 1 1 0 10/1/null
    """,
    "submitted": """
    session_start startup m-1
    turn_start 1 probe
    user_prompt_submit plugin "look at the log"
    pre_llm_call 1 1 scripted
    post_llm_call 1 stop null null 10/1/null
    stop 1 0 done
    submission_end probe completed done
    turn_end completed 0 1 10/1/null done
    submission_end probe dropped null
    session_end exit 1 1 0 10/1/null
    """,
    "interrupted_in_session_start": """
    session_start startup m-1
    turn_start 1 null
    agent_loop_stopped user_stop stop_command llm=false,tools=0,requests=0
    turn_end interrupted 1 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "interrupted_in_user_prompt_submit": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    agent_loop_stopped user_stop stop_command llm=false,tools=0,requests=1
    turn_end interrupted 1 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "interrupted_in_pre_llm_call": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    agent_loop_stopped user_stop stop_command llm=false,tools=0,requests=1
    turn_end interrupted 1 0 null/null/null null
    session_end exit 1 0 0 null/null/null
    """,
    "interrupted_in_pre_tool_call": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null 5/2/null
    pre_tool_call look agent call_1_1 {}
    agent_loop_stopped user_stop stop_command llm=false,tools=1,requests=1
    post_tool_call look false cancelled null
    turn_end interrupted 1 1 5/2/null null
    session_end exit 1 1 1 5/2/null
    """,
    "interrupted_in_post_tool_call": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null 5/2/null
    pre_tool_call look agent call_1_1 {}
    post_tool_call look true ok "nothing new"
    agent_loop_stopped user_stop stop_command llm=false,tools=0,requests=1
    turn_end interrupted 1 1 5/2/null null
    session_end exit 1 1 1 5/2/null
    """,
    "interrupted_in_stop": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 stop null null 10/1/null
    stop 1 0 done
    agent_loop_stopped user_stop stop_command llm=false,tools=0,requests=1
    turn_end interrupted 1 1 10/1/null done
    session_end exit 1 1 0 10/1/null
    """,
    "interrupted_in_subagent_start": """
    session_start startup m-1
    turn_start 1 null
    user_prompt_submit user work
    pre_llm_call 1 1 scripted
    post_llm_call 1 tool_calls null null 5/2/null
    pre_tool_call delegate agent call_1_1 {"goal": "look"}
    subagent_start look
    agent_loop_stopped user_stop stop_command llm=false,tools=1,requests=1
    subagent_stop cancelled null
    post_tool_call delegate true cancelled null
    turn_end interrupted 1 1 5/2/null null
    session_end exit 1 1 1 5/2/null
    """,
}
