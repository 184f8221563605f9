#!/usr/bin/env perl
# A plugin by hand that keeps to the protocol; `test_single_faults.py` puts one fault into it at a time.
use strict;
use warnings;
use JSON::PP;
use List::Util qw(any min);
use Time::HiRes qw(sleep time);
use IO::Select;

binmode $_ for \*STDIN, \*STDOUT;
my $json = JSON::PP->new->utf8;
my $schema = {
    type       => "object",
    properties => { text => { type => "string" }, seconds => { type => "number", examples => [ 0, 30 ] } },
    required   => ["text"],
};
my $manifest = {
    protocol_version => 1, name => "by-hand",
    subscriptions    => [ { event => "pre_tool_call", on_failure => "closed" }, { event => "turn_end" } ],
    tools            => [ { name => "rest", input_schema => $schema } ],
    commands         => [ { name => "repeat" } ],
};

my %timers;            # what is to be done later, by a key: [when, what]
my @waits_for_events;  # what is done when no event is left
my $ends = 0;

sub say_out {
    my ($message) = @_;
    my $text = $json->encode({ jsonrpc => "2.0", %$message }) . "\n";
    my $data = "Content-Length: " . length($text) . "\r\n\r\n$text";
    while (length $data) { substr($data, 0, syswrite(STDOUT, $data) // exit) = "" }
}

sub answer { my ($id, $result) = @_; say_out({ id => $id, result => $result }) }
sub refuse { my ($id, $code, $why) = @_; say_out({ id => $id, error => { code => $code, message => $why } }) }

sub later { my ($key, $seconds, $what) = @_; $timers{$key} = [ time + $seconds, $what ] }

sub events_done {
    return if grep { /^event/ } keys %timers;
    $_->() for splice @waits_for_events;
}

my %requests = (
    initialize => sub {
        my ($id, $params) = @_;
        return answer($id, $manifest) if any { $_ == 1 } @{ $params->{protocol_versions} };
        refuse($id, -32602, "no common version: this plugin speaks 1");
    },
    shutdown => sub { my ($id) = @_; push @waits_for_events, sub { answer($id, undef) }; events_done() },
    "hook/pre_tool_call" => sub {
        my ($id, $params) = @_;
        my $command = $params->{arguments}{command} // "";
        answer($id, $command =~ /rm -rf/ ? { decision => "deny", reason => "no: $command" } : undef);
    },
    "tool/call" => sub {
        my ($id, $params) = @_;
        my ($text, $seconds) = @{ $params->{arguments} }{qw(text seconds)};
        return refuse($id, -32602, "there is no tool $params->{name}") if $params->{name} ne "rest";
        $seconds = 0 if ($seconds // "") !~ /^[\d.]+$/;
        later($id, $seconds, sub { answer($id, "$text") });
    },
    "command/run" => sub {
        my ($id, $params) = @_;
        return refuse($id, -32602, "there is no command $params->{name}") if $params->{name} ne "repeat";
        answer($id, { text => $params->{arguments} });
    },
);

sub cancel { my ($id) = @_; refuse($id, -32800, "request cancelled") if delete $timers{$id} }

my $events = 0;
my %notifications = (
    '$/cancelRequest'     => sub { cancel($_[0]{id}) },
    exit                  => sub { $ends = 1 },
    "event/pre_tool_call" => sub { },
    "event/turn_end"      => sub {
        later("event" . ++$events, 0.3, sub {
            say_out({ method => "host/log", params => { level => "info", message => "the turn is over" } });
        });
    },
);

sub take {
    my ($message) = @_;
    my ($method, $id) = @$message{qw(method id)};
    return if !defined $method;    # a reply
    if (!defined $id) {
        my $told = $notifications{$method};
        $told->($message->{params}) if $told;
    } elsif (my $asked = $requests{$method}) {
        $asked->($id, $message->{params});
    } else {
        refuse($id, -32601, "unknown method $method");
    }
}

my $input  = IO::Select->new(\*STDIN);
my $buffer = "";
while (!$ends) {
    my $next = min(map { $_->[0] } values %timers);
    if ($input->can_read(defined $next ? ($next > time ? $next - time : 0) : undef)) {
        sysread(STDIN, $buffer, 65536, length $buffer) or last;
        while (!$ends && $buffer =~ /\AContent-Length: (\d+)\r\n(?:[^\r\n]+\r\n)*\r\n/) {
            my ($start, $length) = ($+[0], $1);
            last if length($buffer) < $start + $length;
            my $body = substr($buffer, $start, $length);
            substr($buffer, 0, $start + $length) = "";
            # JSON::PP takes a second for the largest message, and a ping says nothing
            if ($body =~ /\A\{"jsonrpc":"2\.0","id":(\d+),"method":"ping"/) { answer($1 + 0, {}); next }
            take($json->decode($body));
        }
    }
    for my $key (grep { $timers{$_}[0] <= time } keys %timers) {
        my $due = delete $timers{$key};
        $due->[1]->();
    }
    events_done();
}
