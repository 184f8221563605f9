#!/usr/bin/env perl
# A guard in Perl, without an SDK: no `rm -rf`. It reads by headers; JSON::PP comes with Perl.
use strict;
use warnings;
use JSON::PP;

binmode $_ for \*STDIN, \*STDOUT;    # lengths count bytes
$| = 1;                              # each message is flushed
my $json = JSON::PP->new->utf8;

my $manifest = {
    protocol_version => 1, name => "guard-pl", version => "1.0.0", description => "Keeps agents from deleting trees.",
    subscriptions    => [ { event => "pre_tool_call", on_failure => "closed" } ],
};
my %answers = (
    "initialize"         => sub { (grep { $_ == 1 } @{ $_[0]{protocol_versions} }) ? $manifest : die { code => -32602, message => "no common version: this plugin speaks 1" } },
    "ping"               => sub { undef },
    "shutdown"           => sub { undef },
    "hook/pre_tool_call" => sub {
        my $command = $_[0]{arguments}{command} // "";
        return $command =~ /\brm\s+-rf\b/ ? { decision => "deny", reason => "not for agents: $command" } : undef;
    },
);

while (defined(my $header = <STDIN>)) {
    my ($length) = $header =~ /^Content-Length: (\d+)/ or next;
    while (<STDIN>) { last if /^\r?\n$/ }    # further headers, and the empty line
    read(STDIN, my $body, $length) == $length or last;
    my $message = $json->decode($body);
    last if $message->{method} eq "exit";
    defined(my $id = $message->{id}) or next;    # an event, a cancel
    my $answer = $answers{ $message->{method} };
    my %reply  = $answer ? (result => eval { $answer->($message->{params}) }) : (error => { code => -32601, message => "unknown method" });
    %reply = (error => ref $@ ? $@ : { code => -32603, message => "$@" }) if $@;
    my $text = $json->encode({ jsonrpc => "2.0", id => $id, %reply });
    print "Content-Length: " . (length($text) + 1) . "\r\n\r\n$text\n";
}
